//! Archives that try to do more than be unpacked.

use std::io::Cursor;

use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

struct Made {
    folder: TempDir,
}

impl Made {
    fn new(fill: impl FnOnce(&mut ZipWriter<Cursor<Vec<u8>>>)) -> Self {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        fill(&mut zip);
        Self::of_bytes(&zip.finish().unwrap().into_inner())
    }

    fn of_bytes(bytes: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.zip"), bytes).unwrap();
        fs::create_dir(folder.path().join("out")).unwrap();
        Self { folder }
    }

    fn unpack(&self, limits: Limits) -> Result<()> {
        unpack(&self.folder.path().join("a.zip"), &self.folder.path().join("out"), limits)
    }

    #[track_caller]
    fn check_refused(&self, limits: Limits, why: &str) {
        let error = self.unpack(limits).unwrap_err();
        assert_eq!(
            (error.code(), error.to_string()),
            ("bundle.archive", format!("the archive is refused: {why}"))
        );
        let outside: Vec<_> =
            fs::read_dir(self.folder.path()).unwrap().flatten().map(|it| it.file_name()).collect();
        assert_eq!(outside.len(), 2, "nothing outside: {outside:?}");
    }
}

fn options() -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated)
}

fn with(name: &str) -> Made {
    Made::new(|zip| {
        zip.start_file(name, options()).unwrap();
        zip.write_all(b"x").unwrap();
    })
}

#[test]
fn a_path_that_leaves_the_folder_is_refused() {
    for name in ["../x", "a/../../x", "/etc/x", "..", "a\\..\\..\\x", "C:x", "a/../b", "a\u{0}b", "./../x"] {
        let why = format!("`{}` leaves the folder", name.escape_debug());
        with(name).check_refused(Limits::default(), &why);
    }
    with("a/b.txt").unpack(Limits::default()).unwrap();
}

#[test]
fn links_are_refused() {
    let made = Made::new(|zip| zip.add_symlink("l", "/etc/passwd", options()).unwrap());
    made.check_refused(Limits::default(), "`l` is a link");
    let made = Made::new(|zip| {
        zip.add_symlink("d", "/tmp", options()).unwrap();
        zip.start_file("d/x", options()).unwrap();
    });
    made.check_refused(Limits::default(), "`d` is a link");
}

#[test]
fn two_names_for_one_file_are_refused() {
    let made = Made::new(|zip| {
        zip.start_file("Read.me", options()).unwrap();
        zip.start_file("read.ME", options()).unwrap();
    });
    made.check_refused(Limits::default(), "`read.ME` is there twice");
}

#[test]
fn a_bomb_is_stopped_while_it_unpacks() {
    let made = Made::new(|zip| {
        zip.start_file("zeros", options()).unwrap();
        zip.write_all(&vec![0; 2 << 20]).unwrap();
    });
    assert!(fs::metadata(made.folder.path().join("a.zip")).unwrap().len() < 20_000);
    made.check_refused(Limits { files: 10, bytes: 1 << 20 }, "it holds more than 1 MiB");
    let written = fs::metadata(made.folder.path().join("out/zeros")).unwrap().len();
    assert!(written <= (1 << 20) + 1, "{written} bytes were written");
}

#[test]
fn too_many_files_are_refused() {
    let made = Made::new(|zip| {
        for it in 0..=100 {
            zip.start_file(it.to_string(), SimpleFileOptions::default()).unwrap();
        }
    });
    made.check_refused(Limits { files: 100, bytes: 10 }, "it holds more than 100 files");
    let Limits { files, bytes } = Limits::default();
    assert_eq!((files, bytes >> 20), (10_000, 512));
}

#[test]
fn what_is_no_archive_is_refused() {
    for bytes in [&b""[..], b"hello", b"PK\x03\x04 and nothing more"] {
        assert_eq!(Made::of_bytes(bytes).unpack(Limits::default()).unwrap_err().code(), "bundle.archive");
    }
    let good = with("a.txt");
    let mut bytes = fs::read(good.folder.path().join("a.zip")).unwrap();
    let at = bytes.windows(5).position(|it| it == b"a.txt").unwrap() + 5;
    bytes[at] ^= 0xff;
    assert_eq!(
        Made::of_bytes(&bytes).unpack(Limits::default()).unwrap_err().code(),
        "bundle.archive",
        "damaged"
    );
}

#[test]
fn a_signature_behind_an_archive_is_not_in_the_way() {
    let good = with("manifest.json");
    let mut bytes = fs::read(good.folder.path().join("a.zip")).unwrap();
    bytes.extend(b"MCPB_SIG_V1\x00\x01\x02signature MCPB_SIG_END");
    let signed = Made::of_bytes(&bytes);
    signed.unpack(Limits::default()).unwrap();
    assert_eq!(fs::read(signed.folder.path().join("out/manifest.json")).unwrap(), b"x");
}

#[cfg(unix)]
#[test]
fn programs_can_be_run_and_nothing_runs_as_somebody_else() {
    use std::os::unix::fs::PermissionsExt;
    let made = Made::new(|zip| {
        zip.start_file("run", options().unix_permissions(0o4755)).unwrap();
        zip.start_file("read", options().unix_permissions(0o666)).unwrap();
    });
    made.unpack(Limits::default()).unwrap();
    let mode = |name: &str| {
        fs::metadata(made.folder.path().join("out").join(name)).unwrap().permissions().mode() & 0o7777
    };
    assert_eq!((mode("run") & 0o7100, mode("read") & 0o7111), (0o100, 0));
}

#[test]
fn a_digest_must_be_the_expected_one() {
    let made = with("a");
    let path = made.folder.path().join("a.zip");
    let right = sha256_of(&path).unwrap();
    check_digest(&path, &right.to_uppercase()).unwrap();
    let error = check_digest(&path, &"0".repeat(64)).unwrap_err();
    assert_eq!(error.code(), "bundle.digest");
}

#[cfg(unix)]
#[test]
fn a_copied_folder_keeps_only_links_that_stay_inside() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let (from, into) = (folder.path().join("from"), folder.path().join("into"));
    fs::create_dir_all(from.join("bin")).unwrap();
    fs::create_dir_all(from.join(".git")).unwrap();
    fs::write(from.join("tool.js"), "t").unwrap();
    fs::write(from.join(".git/config"), "c").unwrap();
    symlink("../tool.js", from.join("bin/tool")).unwrap();
    fs::create_dir(&into).unwrap();
    copy(&from, &into, Limits::default()).unwrap();
    assert_eq!(fs::read(into.join("bin/tool")).unwrap(), b"t");
    assert!(!into.join(".git").exists());
    let files: Vec<_> = digests(&into).unwrap().into_iter().map(|it| it.path).collect();
    assert_eq!(files, ["tool.js"]);

    fs::write(folder.path().join("secret"), "s").unwrap();
    for target in ["../../secret", "/etc/passwd", "../nowhere"] {
        fs::remove_file(from.join("bin/tool")).unwrap();
        symlink(target, from.join("bin/tool")).unwrap();
        let into = folder.path().join(format!("into{}", target.len()));
        fs::create_dir(&into).unwrap();
        let error = copy(&from, &into, Limits::default()).unwrap_err();
        assert!(error.to_string().ends_with("bin/tool` leaves the folder"), "{error}");
    }
    let few = Limits { files: 1, bytes: 10 };
    assert_eq!(copy(&from, &folder.path().join("x"), few).unwrap_err().code(), "bundle.archive");
}
