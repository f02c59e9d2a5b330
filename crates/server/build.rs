//! Lets cargo notice that the UI was built anew. Nothing is built here.

fn main() {
    // A debug build reads the folder while it runs; only a release has it inside.
    let is_release = std::env::var("PROFILE").is_ok_and(|it| it == "release");
    let watched = if is_release { "../../ui/dist" } else { "build.rs" };
    println!("cargo::rerun-if-changed={watched}");
    // What is not there when this is compiled would not be found when it is built later.
    if !is_release {
        let _ = std::fs::create_dir_all("../../ui/dist");
    }
}
