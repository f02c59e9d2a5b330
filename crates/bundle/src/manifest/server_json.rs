//! `server.json` of the registry, schema 2025-12-11: packages and remotes become servers, their inputs settings.
//!
//! Package names and versions become single arguments of a known runner. They are checked, so that none can be read
//! as a flag or as an address; nothing is ever put together as a line for a shell.

use serde::Serialize;
use serde_json::{Map, Value};

use super::fields::{flag, folder_name, length, object, objects, optional_text, text, wrong};
use super::{Format, Manifest, Setting, SettingKind};
use crate::error::{BundleError, Result};

/// An archive that is the bundle itself. Its digest must be that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Download {
    pub url: String,
    pub sha256: String,
}

pub(super) fn read(value: &Value) -> Result<Manifest> {
    let members = object(value, "the server")?;
    let (name, version) = (text(members, "name")?, text(members, "version")?);
    if !is_name(name) {
        return Err(wrong(format!("`{name}` is not a name such as `io.github.someone/server`")));
    }
    folder_name("version", version)?;
    let description = text(members, "description")?;
    length("description", description, 100)?;
    let key = name.rsplit('/').next().unwrap_or(name).replace('.', "-");

    let mut reader = Reader::default();
    let mut servers = Map::new();
    let packages = objects(members, "packages")?;
    let remotes = objects(members, "remotes")?;
    let mut download = None;
    let mut problems = Vec::new();
    for package in packages {
        if text(package, "registryType")? == "mcpb" {
            download = Some(mcpb(package)?);
            break;
        }
        match reader.package(package) {
            Ok(definition) => {
                servers.insert(key.clone(), definition.into());
                break;
            }
            Err(BundleError::Manifest(problem)) => problems.push(problem),
            Err(error) => return Err(error),
        }
    }
    if servers.is_empty() && download.is_none() {
        match remotes.first() {
            Some(remote) => {
                servers.insert(key, reader.remote(remote)?.into());
            }
            None if problems.is_empty() => return Err(wrong("the server has neither packages nor remotes")),
            None => return Err(wrong(problems.swap_remove(0))),
        }
    }
    Ok(Manifest {
        format: Format::ServerJson,
        id: name.replace('/', "-"),
        version: version.to_owned(),
        name: optional_text(members, "title")?.unwrap_or(name).to_owned(),
        description: description.to_owned(),
        author: None,
        items: Vec::new(),
        servers,
        settings: reader.settings,
        download,
        warnings: problems,
    })
}

/// `io.github.someone/server`
pub(crate) fn is_name(name: &str) -> bool {
    let fits = |part: &str, more: &[u8]| {
        !part.is_empty() && part.bytes().all(|it| it.is_ascii_alphanumeric() || more.contains(&it))
    };
    (3..=200).contains(&name.len())
        && name.split_once('/').is_some_and(|(space, name)| {
            fits(space, b".-")
                && fits(name, b"._-")
                && !space.starts_with(['.', '-'])
                && !name.starts_with(['.', '-'])
        })
}

fn mcpb(package: &Map<String, Value>) -> Result<Download> {
    let url = text(package, "identifier")?;
    if !url.starts_with("https://") {
        return Err(wrong(format!("`{url}` is not an https address")));
    }
    let sha256 = text(package, "fileSha256")?.to_lowercase();
    if sha256.len() != 64 || !sha256.bytes().all(|it| it.is_ascii_hexdigit()) {
        return Err(wrong("`fileSha256` is not a digest"));
    }
    Ok(Download { url: url.to_owned(), sha256 })
}

/// Turns inputs into settings while it reads.
#[derive(Default)]
struct Reader {
    settings: Vec<Setting>,
}

impl Reader {
    fn package(&mut self, package: &Map<String, Value>) -> Result<Map<String, Value>> {
        let transport = package.get("transport").and_then(|it| it.get("type")).and_then(Value::as_str);
        if !matches!(transport, None | Some("stdio")) {
            return Err(wrong(
                "a package that has to be started and then reached by address is not supported",
            ));
        }
        let runner = Runner::of(package)?;
        let (mut runtime, mut own) = (Vec::new(), Vec::new());
        for argument in objects(package, "runtimeArguments")? {
            self.argument(argument, &mut runtime)?;
        }
        runner.check(&runtime)?;
        for argument in objects(package, "packageArguments")? {
            self.argument(argument, &mut own)?;
        }
        let mut env = Map::new();
        for variable in objects(package, "environmentVariables")? {
            let name = text(variable, "name")?;
            if let Some(value) = self.input(variable, name)? {
                env.insert(name.to_owned(), value.into());
            }
        }
        let mut definition = Map::new();
        definition.insert("command".into(), runner.command.into());
        definition.insert("args".into(), runner.line(runtime, env.keys(), own).into());
        if !env.is_empty() {
            definition.insert("env".into(), env.into());
        }
        Ok(definition)
    }

    fn remote(&mut self, remote: &Map<String, Value>) -> Result<Map<String, Value>> {
        let kind = match text(remote, "type")? {
            "streamable-http" | "http" => "http",
            "sse" => "sse",
            other => return Err(wrong(format!("remote type `{other}` is not supported"))),
        };
        let url = self.curly(text(remote, "url")?, remote)?;
        let mut headers = Map::new();
        for header in objects(remote, "headers")? {
            let name = text(header, "name")?;
            if let Some(value) = self.input(header, name)? {
                headers.insert(name.to_owned(), value.into());
            }
        }
        let mut definition = Map::new();
        definition.insert("type".into(), kind.into());
        definition.insert("url".into(), url.into());
        if !headers.is_empty() {
            definition.insert("headers".into(), headers.into());
        }
        Ok(definition)
    }

    fn argument(&mut self, argument: &Map<String, Value>, args: &mut Vec<String>) -> Result<()> {
        match text(argument, "type")? {
            "positional" => {
                let hint = optional_text(argument, "valueHint")?.unwrap_or("argument").to_owned();
                args.extend(self.input(argument, &hint)?);
            }
            "named" => {
                let name = text(argument, "name")?;
                if !name.starts_with('-') {
                    return Err(wrong(format!("argument `{name}` is not a flag")));
                }
                let value = self.input(argument, name.trim_start_matches('-'))?;
                let says_value = argument.contains_key("value") || argument.contains_key("default");
                // A flag without any value is just the flag; one whose value is asked for goes in as `--flag=value`,
                // so that it is one argument, or none when nobody answers.
                match value {
                    Some(value) if value.contains("${user_config.") => args.push(format!("{name}={value}")),
                    Some(value) => args.extend([name.to_owned(), value]),
                    None if !says_value => args.push(name.to_owned()),
                    None => {}
                }
            }
            other => return Err(wrong(format!("argument type `{other}` is not known"))),
        }
        Ok(())
    }

    /// The text of an input: fixed, or a question. None when there is nothing to say.
    fn input(&mut self, input: &Map<String, Value>, key: &str) -> Result<Option<String>> {
        if let Some(value) = optional_text(input, "value")? {
            return self.curly(value, input).map(Some);
        }
        let asks = flag(input, "isRequired")?
            || ["default", "description", "placeholder", "choices", "valueHint", "isSecret", "format"]
                .iter()
                .any(|it| input.contains_key(*it));
        if !asks {
            return Ok(None);
        }
        self.ask(input, key).map(Some)
    }

    /// `{name}` stands for one of the input's variables, each of which is a question.
    fn curly(&mut self, text: &str, input: &Map<String, Value>) -> Result<String> {
        let Some(variables) = input.get("variables").filter(|it| !it.is_null()) else {
            return Ok(text.to_owned());
        };
        let mut filled = text.to_owned();
        for (name, variable) in object(variables, "`variables`")? {
            let place = format!("{{{name}}}");
            if filled.contains(&place) {
                let variable = object(variable, &format!("variable `{name}`"))?;
                let value = match optional_text(variable, "value")? {
                    Some(value) => value.to_owned(),
                    None => self.ask(variable, name)?,
                };
                filled = filled.replace(&place, &value);
            }
        }
        Ok(filled)
    }

    fn ask(&mut self, input: &Map<String, Value>, name: &str) -> Result<String> {
        let key: String =
            name.chars().map(|it| if it.is_ascii_alphanumeric() || it == '-' { it } else { '_' }).collect();
        let kind = match optional_text(input, "format")? {
            Some("number") => SettingKind::Number,
            Some("boolean") => SettingKind::Boolean,
            Some("filepath") => SettingKind::File,
            _ => SettingKind::String,
        };
        let choices = input.get("choices").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let setting = Setting {
            title: name.to_owned(),
            description: optional_text(input, "description")?.unwrap_or_default().to_owned(),
            required: flag(input, "isRequired")?,
            sensitive: flag(input, "isSecret")?,
            multiple: flag(input, "isRepeated")?,
            default: input.get("default").filter(|it| !it.is_null()).cloned(),
            choices: choices.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            ..Setting::new(&key, kind)
        };
        if self.settings.iter().all(|it| it.key != key) {
            self.settings.push(setting);
        }
        Ok(format!("${{user_config.{key}}}"))
    }
}

/// A program that fetches a package and starts it.
struct Runner {
    command: &'static str,
    /// The package and its version, as this program takes them.
    package: String,
}

impl Runner {
    fn of(package: &Map<String, Value>) -> Result<Self> {
        let registry = text(package, "registryType")?;
        let name = text(package, "identifier")?;
        let version = optional_text(package, "version")?;
        let more: &[u8] = match registry {
            "npm" => b"@/._-~",
            "oci" => b"/._-:@",
            _ => b"._-",
        };
        let fits = |text: &str, more: &[u8]| {
            !text.starts_with(['-', '.', '/'])
                && !text.is_empty()
                && text.bytes().all(|it| it.is_ascii_alphanumeric() || more.contains(&it))
        };
        let unscoped = name.strip_prefix('@').and_then(|it| it.split_once('/')).map_or(name, |(_, it)| it);
        if !fits(name, more) || (registry == "npm" && unscoped.contains(['/', '@'])) {
            return Err(wrong(format!("`{name}` is not the name of a package of `{registry}`")));
        }
        if version.is_some_and(|it| !fits(it, b"._-+")) {
            return Err(wrong(format!("`{}` is not a version", version.unwrap_or_default())));
        }
        let at = |sign: &str| version.map_or_else(|| name.to_owned(), |it| format!("{name}{sign}{it}"));
        let tagged = name.contains('@') || name.rsplit('/').next().is_some_and(|it| it.contains(':'));
        let (command, package_text) = match registry {
            "npm" => ("npx", at("@")),
            "pypi" => ("uvx", at("@")),
            "oci" if tagged => ("docker", name.to_owned()),
            "oci" => ("docker", at(":")),
            "nuget" => ("dnx", at("@")),
            other => return Err(wrong(format!("packages of `{other}` cannot be started"))),
        };
        match optional_text(package, "runtimeHint")? {
            Some(hint) if hint != command => Err(wrong(format!(
                "packages of `{registry}` are started with `{command}`, not with `{hint}`"
            ))),
            _ => Ok(Self { command, package: package_text }),
        }
    }

    /// Every argument, in the order this program wants.
    fn line<'a>(
        &self,
        runtime: Vec<String>,
        env: impl Iterator<Item = &'a String>,
        own: Vec<String>,
    ) -> Vec<String> {
        let mut line: Vec<String> = Vec::new();
        match self.command {
            "npx" if !runtime.iter().any(|it| it == "-y" || it == "--yes") => line.push("-y".into()),
            "docker" => line.extend(["run", "-i", "--rm"].map(str::to_owned)),
            _ => {}
        }
        line.extend(runtime);
        if self.command == "docker" {
            // A container sees only the variables it is told to see.
            line.extend(env.flat_map(|it| ["-e".to_owned(), it.clone()]));
        }
        line.push(self.package.clone());
        if self.command == "dnx" {
            line.push("--yes".into());
            line.extend((!own.is_empty()).then(|| "--".to_owned()));
        }
        line.extend(own);
        line
    }

    /// A runner must run the package and nothing else.
    fn check(&self, args: &[String]) -> Result<()> {
        let forbidden: &[&str] = match self.command {
            "npx" => &["-c", "--call", "-p", "--package"],
            "uvx" => &["--from", "--with", "--index", "--index-url", "--default-index", "--extra-index-url"],
            _ => &[],
        };
        match args
            .iter()
            .find(|it| forbidden.iter().any(|flag| it == flag || it.starts_with(&format!("{flag}="))))
        {
            Some(flag) => Err(wrong(format!("`{}` may not be given `{flag}`", self.command))),
            None => Ok(()),
        }
    }
}
