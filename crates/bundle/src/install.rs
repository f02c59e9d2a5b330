//! Servers of bundles into a configuration file and out of it again: planned, applied, rolled back.
//!
//! One function decides what the file and its tracking become; it touches nothing, so a preview is the same as the
//! real thing up to the last step. The real thing holds the folder's lock, and writes both files or none.

mod plan;

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use ts_rs::TS;

use crate::archive;
use crate::duplicates::{self, Candidate, Duplicate, Owner, Standing};
use crate::error::Result;
use crate::files::commit::{Commit, PutBack, Write, recover};
use crate::files::{Disk, Lock, folder_of, real, sweep};
use crate::identity::{Definition, Identity};
use crate::manifest::{Answers, Manifest};
use crate::mcp_json::Document;
use crate::places::{CommitMode, Home, Target};
use crate::repository::{Exclude, Locked, Origin};
use crate::servers::{Scope, Tracking, iso};
use crate::shelf::{Kept, Shelf, Staged};
use crate::variables::Env;

/// What to do when a name is already taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Existing {
    #[default]
    Refuse,
    Overwrite,
    Skip,
}

/// A bundle whose files are, or are going to be, in `folder`.
pub struct Package<'a> {
    pub manifest: &'a Manifest,
    pub folder: &'a Path,
    pub origin: &'a Origin,
    pub answers: &'a Answers,
}

/// Everything a change depends on that is not in the files.
pub struct How<'a> {
    pub existing: Existing,
    pub env: Env,
    pub now: Timestamp,
    pub home: &'a Home,
    pub environment: &'a dyn Fn(&str) -> Option<String>,
}

pub enum Change<'a> {
    Install(Package<'a>),
    /// Another version in the place of the one that is there, in one write.
    Update(Package<'a>),
    Uninstall {
        bundle: &'a str,
    },
    /// Nothing but what hand edits have made necessary.
    Reconcile,
}

/// What a change does, or would do.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Outcome {
    pub file: PathBuf,
    pub installed: Vec<Installed>,
    pub removed: Vec<String>,
    pub failed: Vec<Failed>,
    /// All that the file now holds.
    pub duplicates: Vec<Duplicate>,
    /// Duplicates no longer, and running again.
    pub enabled: Vec<String>,
    pub warnings: Vec<String>,
    /// False: the files already were as they are wanted.
    pub changed: bool,
}

/// A server that was written, or will be.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Installed {
    pub name: String,
    pub server: String,
    pub identity: String,
    /// As its author wrote it: what to show before anything runs.
    pub definition: Definition,
    /// With everything but the environment put in: what the hub runs.
    #[serde(skip)]
    pub ready: Definition,
}

/// A server that cannot be installed, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
#[ts(rename = "LeftOut")]
pub struct Failed {
    pub server: String,
    pub error: String,
}

/// What a change would do. Touches nothing.
pub fn preview(disk: &Disk, target: &Target, change: &Change<'_>, how: &How<'_>) -> Result<Outcome> {
    let state = State::read(disk, target)?;
    Ok(plan::plan(&state, change, how)?.outcome)
}

/// Does it, or leaves everything as it was.
pub fn apply(disk: &Disk, target: &Target, change: &Change<'_>, how: &How<'_>) -> Result<Outcome> {
    let (outcome, written) = write(disk, target, change, how)?;
    if let Some(written) = written {
        written.done();
    }
    Ok(outcome)
}

/// As [`apply`]; until [`Written::done`] it can be, and if dropped is, taken back.
fn write(
    disk: &Disk,
    target: &Target,
    change: &Change<'_>,
    how: &How<'_>,
) -> Result<(Outcome, Option<Written>)> {
    let folder = folder_of(&target.file);
    if !folder.is_dir() && target.repository.is_none() {
        // Where there is nothing, only an install finds something to do.
        let outcome = preview(disk, target, change, how)?;
        if !outcome.changed {
            return Ok((outcome, None));
        }
    }
    let made = disk.make_folder(folder)?;
    let written = write_locked(disk, target, change, how);
    if made {
        // Goes only if nothing came into it.
        let _ = std::fs::remove_dir(folder);
    }
    let (outcome, mut written) = written?;
    if let Some(written) = &mut written {
        written.made = made.then(|| folder.to_owned());
    }
    Ok((outcome, written))
}

fn write_locked(
    disk: &Disk,
    target: &Target,
    change: &Change<'_>,
    how: &How<'_>,
) -> Result<(Outcome, Option<Written>)> {
    let lock = Lock::take(&target.file)?;
    let mut state = State::read(disk, target)?;
    for file in std::mem::take(&mut state.put_back) {
        file.run(disk)?;
    }
    let mut planned = plan::plan(&state, change, how)?;
    let others = others(disk, target, change, &planned.tracking, how, &mut planned.outcome)?;
    let real = real(&target.file)?;
    for path in others.iter().map(|it| &it.path).chain([&target.file, &real]) {
        sweep(folder_of(path));
    }
    if planned.outcome.changed || state.interrupted || others.iter().any(|it| it.before != it.after) {
        let commit = Commit {
            config: Write {
                path: target.file.clone(),
                before: state.bytes,
                after: planned.text.map(String::into_bytes),
                readers: planned.readers,
            },
            tracking_path: target.tracking_file(),
            tracking_before: state.tracking,
            tracking_bytes: state.tracking_bytes,
            tracking_after: planned.tracking,
            others,
        };
        commit.run(disk)?;
        return Ok((
            planned.outcome,
            Some(Written { disk: disk.clone(), commit: Some(commit), made: None, _lock: lock }),
        ));
    }
    Ok((planned.outcome, None))
}

/// Files that were changed, while nobody else may change them.
struct Written {
    disk: Disk,
    /// None: it stays, or is taken back already.
    commit: Option<Commit>,
    /// The folder that was made for them.
    made: Option<PathBuf>,
    _lock: Lock,
}

impl Written {
    fn done(mut self) {
        self.commit = None;
    }

    fn take_back(&mut self) -> Result<()> {
        let Some(commit) = self.commit.take() else { return Ok(()) };
        commit.roll_back(&self.disk)?;
        // Goes only if nothing else came into it.
        let _ = self.made.as_ref().map(std::fs::remove_dir);
        Ok(())
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        // Whoever wants to know whether it worked has asked before.
        let _ = self.take_back();
    }
}

/// The lockfile and the exclude file of a repository.
fn others(
    disk: &Disk,
    target: &Target,
    change: &Change<'_>,
    after: &Tracking,
    how: &How<'_>,
    outcome: &mut Outcome,
) -> Result<Vec<Write>> {
    let Some(repository) = &target.repository else { return Ok(Vec::new()) };
    let mut writes = match change {
        Change::Install(package) | Change::Update(package) => vec![repository.lock(
            disk,
            &Locked {
                bundle: &package.manifest.id,
                version: &package.manifest.version,
                origin: package.origin,
                installed_at: &iso(how.now),
                files: archive::digests(package.folder)?,
            },
        )?],
        Change::Uninstall { bundle } => repository.unlock(disk, bundle)?,
        Change::Reconcile => return Ok(Vec::new()),
    };
    let stays = after.managed_servers.values().any(|it| it.scope == Scope::Repository);
    let wanted = match repository.mode {
        CommitMode::LocalOnly if stays => Some(Exclude::In),
        _ if !stays => Some(Exclude::Out),
        _ => None,
    };
    if let Some(wanted) = wanted {
        match repository.exclude(disk, wanted)? {
            Some(write) => writes.push(write),
            None if wanted == Exclude::In => {
                outcome
                    .warnings
                    .push(format!("`{}` has no `.git`: nothing is excluded", repository.root.display()));
            }
            None => {}
        }
    }
    Ok(writes)
}

/// Both files as they are, and what an interrupted change has left to do.
struct State<'a> {
    target: &'a Target,
    bytes: Option<Vec<u8>>,
    document: Document,
    entries: Vec<(String, Value)>,
    tracking: Tracking,
    tracking_bytes: Option<Vec<u8>>,
    interrupted: bool,
    put_back: Vec<PutBack>,
}

impl<'a> State<'a> {
    fn read(disk: &Disk, target: &'a Target) -> Result<Self> {
        let path = target.tracking_file();
        let tracking_bytes = disk.read(&path)?;
        let tracking = Tracking::parse(&path, tracking_bytes.as_deref())?;
        real(&target.file)?;
        let bytes = disk.read(&target.file)?;
        let document = Document::parse(&target.title(), target.form.key, bytes.as_deref())?;
        let entries = document.entries()?;
        let interrupted = tracking.pending.is_some();
        let names: Vec<_> = entries.iter().map(|(name, _)| name.clone()).collect();
        let (tracking, put_back) = recover(tracking, bytes.as_deref(), &names);
        // What an interrupted change has left behind is no state to go back to.
        let tracking_bytes = match interrupted {
            true if tracking.managed_servers.is_empty() => None,
            true => Some(tracking.to_bytes()),
            false => tracking_bytes,
        };
        Ok(Self { target, bytes, document, entries, tracking, tracking_bytes, interrupted, put_back })
    }
}

/// A server as `bundle list` shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Listed {
    pub name: String,
    pub server: String,
    pub bundle: String,
    pub version: String,
    pub scope: Scope,
    pub identity: Option<String>,
    pub state: ListedState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum ListedState {
    Active,
    /// By its author, or by hand.
    Off,
    Duplicate {
        of: String,
    },
    /// Taken out of the file by hand.
    Removed,
}

/// Every server that bundles have brought into this file, by name.
pub fn list(disk: &Disk, target: &Target) -> Result<Vec<Listed>> {
    let state = State::read(disk, target)?;
    let definitions: Vec<_> =
        state.entries.iter().map(|(name, it)| (name.as_str(), it.as_object())).collect();
    let candidates = candidates(&definitions, &state.tracking);
    let standings = duplicates::settle(&candidates);
    let listed = state.tracking.managed_servers.iter().map(|(name, it)| {
        let place = candidates.iter().position(|it| it.name == name);
        let state = match place.map(|it| standings[it]) {
            None => ListedState::Removed,
            Some(Standing::Active) => ListedState::Active,
            Some(Standing::Off) => ListedState::Off,
            Some(Standing::DuplicateOf(of)) => ListedState::Duplicate { of: candidates[of].name.to_owned() },
        };
        Listed {
            name: name.clone(),
            server: it.original_name.clone(),
            bundle: it.bundle_id.clone(),
            version: it.bundle_version.clone(),
            scope: it.scope,
            identity: place.and_then(|it| candidates[it].identity.as_ref()).map(ToString::to_string),
            state,
        }
    });
    Ok(listed.collect())
}

/// Every entry of a file, as far as it is a server, with its owner.
fn candidates<'a>(
    entries: &[(&'a str, Option<&'a Definition>)],
    tracking: &'a Tracking,
) -> Vec<Candidate<'a>> {
    entries
        .iter()
        .map(|(name, definition)| {
            let managed = tracking.managed_servers.get(*name);
            let original = managed.map(|it| &it.original_config);
            Candidate {
                name,
                // Our own entries too may have been edited by hand, or written in a client's words.
                identity: definition.and_then(Identity::of_foreign),
                owner: managed.map_or(Owner::Person, |it| Owner::Bundle(&it.bundle_id)),
                state: definition.map_or(duplicates::State::Off, |it| duplicates::state(it, original)),
            }
        })
        .collect()
}

/// Where bundles go: their files on the shelf, their servers into a file. Without a file the hub alone runs them.
pub struct Site<'a> {
    pub disk: &'a Disk,
    pub shelf: &'a Shelf,
    pub target: Option<&'a Target>,
}

/// A bundle that is to be installed.
pub struct Arrival<'a> {
    pub staged: Staged,
    pub origin: &'a Origin,
    pub answers: &'a Answers,
}

impl Site<'_> {
    /// What an install or an update would do: what will run or be reached, before anything is written.
    pub fn preview(&self, arrival: &Arrival<'_>, verb: Verb, how: &How<'_>) -> Result<Outcome> {
        let Arrival { staged, origin, answers } = arrival;
        let manifest = &staged.manifest;
        let folder = &self.shelf.folder(&manifest.id, &manifest.version);
        let change = verb.change(Package { manifest, folder, origin, answers });
        match self.target {
            Some(target) => preview(self.disk, target, &change, how),
            None => plan::without_target(&change, how),
        }
    }

    /// Puts the bundle on the shelf and its servers into the file, or does neither.
    pub fn install(&self, arrival: Arrival<'_>, how: &How<'_>) -> Result<Placed> {
        self.put(arrival, how, Verb::Install)
    }

    /// Another version in the place of `old`, or the old one stays as it is.
    pub fn update(&self, arrival: Arrival<'_>, old: &str, how: &How<'_>) -> Result<Placed> {
        let placed = self.put(arrival, how, Verb::Update)?;
        Ok(Placed { replaced: Some((self.shelf.clone(), old.to_owned())), ..placed })
    }

    /// Takes the bundle's servers out of the file, then its folder off the shelf.
    pub fn uninstall(&self, bundle: &str, version: &str, how: &How<'_>) -> Result<Outcome> {
        let outcome = match self.target {
            Some(target) => apply(self.disk, target, &Change::Uninstall { bundle }, how)?,
            None => Outcome::default(),
        };
        self.shelf.remove(bundle, version)?;
        Ok(outcome)
    }

    fn put(&self, arrival: Arrival<'_>, how: &How<'_>, verb: Verb) -> Result<Placed> {
        let Arrival { staged, origin, answers } = arrival;
        let manifest = staged.manifest.clone();
        let kept = self.shelf.keep(staged)?;
        let change = verb.change(Package { manifest: &manifest, folder: kept.folder(), origin, answers });
        let (outcome, written) = match self.target {
            Some(target) => write(self.disk, target, &change, how)?,
            None => (plan::without_target(&change, how)?, None),
        };
        Ok(Placed { outcome, written, kept, manifest, replaced: None })
    }
}

/// A bundle on the shelf and in the file. Until [`Placed::done`] it can be, and if dropped is, taken back.
#[must_use]
pub struct Placed {
    pub outcome: Outcome,
    manifest: Manifest,
    written: Option<Written>,
    kept: Kept,
    /// The version it takes the place of, which stands beside it until all is done.
    replaced: Option<(Shelf, String)>,
}

impl Placed {
    pub fn done(self) -> Outcome {
        let Self { mut outcome, manifest, written, kept, replaced } = self;
        kept.done();
        if let Some(written) = written {
            written.done();
        }
        if let Some((shelf, old)) = replaced.filter(|(_, old)| *old != manifest.version)
            && let Err(error) = shelf.remove(&manifest.id, &old)
        {
            outcome.warnings.push(format!("version {old} is still on the disk: {error}"));
        }
        outcome
    }

    pub fn take_back(mut self) -> Result<()> {
        self.written.as_mut().map_or(Ok(()), Written::take_back)
    }
}

/// How a bundle arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Install,
    Update,
}

impl Verb {
    fn change(self, package: Package<'_>) -> Change<'_> {
        match self {
            Self::Install => Change::Install(package),
            Self::Update => Change::Update(package),
        }
    }
}
