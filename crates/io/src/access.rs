//! Which files and networks may be reached.
//!
//! All files of an engine are reached through [`FileSystems`](crate::FileSystems), which asks the
//! gate about each location. Its rules can be tightened, and never widened again.

use crate::secret::Scope;
use std::{
    fmt,
    path::{Component, Path, PathBuf},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};
use volley_error::{Error, Result};

/// The gate of an engine. Clones are the same.
#[derive(Clone, Default)]
pub struct AccessGate(Arc<RwLock<Rules>>);

#[derive(Default)]
struct Rules {
    denies_external: bool,
    denies_network: bool,
    is_locked: bool,
    /// `None`: all. Otherwise these, and what is below them.
    allowed: Option<Vec<Allowed>>,
}

/// A file or folder, as the user wrote it and in parts.
struct Allowed {
    text: String,
    place: Place,
}

/// A location in parts, to compare.
enum Place {
    /// An absolute path without links and dots, as far as it exists.
    Local(PathBuf),
    Remote(Scope),
}

impl AccessGate {
    /// Whether a file may be reached; of a pattern, all that it may match.
    ///
    /// # Errors
    ///
    /// Invalid query: it may not.
    pub fn check(&self, location: &str) -> Result<()> {
        let rules = self.read();
        if rules.denies_network && is_remote(location) {
            return Err(denied(location, "the setting allow_network is off"));
        }
        let allowed = match &rules.allowed {
            Some(allowed) => allowed.as_slice(),
            None if rules.denies_external => &[],
            None => return Ok(()),
        };
        let is_within = match Place::of_pattern(location) {
            Some(place) => allowed.iter().any(|it| it.place.contains(&place)),
            None => false,
        };
        if is_within {
            return Ok(());
        }
        Err(denied(location, "it is not within allowed_paths"))
    }

    /// Whether anything outside of the process's own state is closed, apart from what
    /// `allowed_paths` lists.
    pub fn is_restricted(&self) -> bool {
        let rules = self.read();
        rules.denies_external || rules.allowed.is_some()
    }

    /// Whether settings may be changed.
    ///
    /// # Errors
    ///
    /// Invalid query: `lock_configuration` is on.
    pub fn check_unlocked(&self) -> Result<()> {
        if self.read().is_locked {
            let error = Error::invalid_query("settings are locked: lock_configuration is on");
            return Err(error.hint("a new session with other settings may differ"));
        }
        Ok(())
    }

    /// Closes all but what `allowed_paths` lists.
    pub fn deny_external(&self) {
        self.write().denies_external = true;
    }

    /// Closes what is not on this machine.
    pub fn deny_network(&self) {
        self.write().denies_network = true;
    }

    /// Keeps all settings as they are.
    pub fn lock(&self) {
        self.write().is_locked = true;
    }

    /// Closes all but these files and folders.
    ///
    /// # Errors
    ///
    /// Invalid query: one of them is closed already.
    pub fn allow_only(&self, locations: &[String]) -> Result<()> {
        let mut allowed = Vec::with_capacity(locations.len());
        for location in locations {
            let wrong = || Error::invalid_value(format!("not a path or location: {location}"));
            let place = Place::of(location).ok_or_else(wrong)?;
            allowed.push(Allowed { text: location.clone(), place });
        }
        let mut rules = self.write();
        let before = match &rules.allowed {
            Some(before) => Some(before.as_slice()),
            None if rules.denies_external => Some(&[][..]),
            None => None,
        };
        if let Some(before) = before {
            let is_new = |it: &&Allowed| !before.iter().any(|old| old.place.contains(&it.place));
            if let Some(new) = allowed.iter().find(is_new) {
                return Err(widening("allowed_paths", &new.text));
            }
        }
        rules.allowed = Some(allowed);
        Ok(())
    }

    /// Whether files outside `allowed_paths` can be reached.
    pub fn allows_external(&self) -> bool {
        !self.read().denies_external
    }

    /// Whether the network can be reached.
    pub fn allows_network(&self) -> bool {
        !self.read().denies_network
    }

    /// Whether settings can be changed.
    pub fn is_locked(&self) -> bool {
        self.read().is_locked
    }

    /// The files and folders that are left; `None`: all.
    pub fn allowed_paths(&self) -> Option<Vec<String>> {
        let rules = self.read();
        rules.allowed.as_ref().map(|it| it.iter().map(|it| it.text.clone()).collect())
    }

    fn read(&self) -> RwLockReadGuard<'_, Rules> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Rules> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for AccessGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccessGate({})", if self.is_restricted() { "restricted" } else { "open" })
    }
}

impl Place {
    fn of(location: &str) -> Option<Place> {
        if is_remote(location) {
            return Scope::split(location).filter(Scope::is_plain).map(Place::Remote);
        }
        let path = location.strip_prefix("file://").unwrap_or(location);
        resolved(Path::new(path)).map(Place::Local)
    }

    /// The folder that has all that a pattern may match.
    fn of_pattern(location: &str) -> Option<Place> {
        let Some(wildcard) = location.find(['*', '?', '[']) else { return Place::of(location) };
        // What follows `?` in a URL is no pattern, and nothing to compare.
        if is_remote(location) && location.to_ascii_lowercase().starts_with("http") {
            return Place::of(location);
        }
        if location.get(wildcard..)?.split('/').any(|it| it == "..") {
            return None;
        }
        let folder = location.get(..wildcard)?.rsplit_once('/').map_or(".", |it| it.0);
        Place::of(if folder.is_empty() { "/" } else { folder })
    }

    fn contains(&self, other: &Place) -> bool {
        match (self, other) {
            (Place::Local(folder), Place::Local(path)) => path.starts_with(folder),
            (Place::Remote(scope), Place::Remote(location)) => scope.contains(location),
            _ => false,
        }
    }
}

fn is_remote(location: &str) -> bool {
    match location.split_once("://") {
        Some((scheme, _)) => !scheme.eq_ignore_ascii_case("file") && !scheme.contains('/'),
        None => false,
    }
}

/// An absolute path without links, as far as it exists, and without dots; `None` if a part that
/// does not exist goes up.
fn resolved(path: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(path).ok()?;
    let mut missing = Vec::new();
    let mut existing = absolute.as_path();
    loop {
        if let Ok(found) = existing.canonicalize() {
            return Some(missing.iter().rev().fold(found, |path, name| path.join(name)));
        }
        match existing.components().next_back()? {
            Component::Normal(name) => missing.push(name.to_owned()),
            _ => return None,
        }
        existing = existing.parent()?;
    }
}

fn denied(location: &str, why: &str) -> Error {
    let location = match location.split_once('?') {
        Some((path, _)) if is_remote(location) => path,
        _ => location,
    };
    Error::invalid_query(format!("access is denied to {location}: {why}"))
        .hint("such settings hold until the end of the session")
}

/// The error of a setting that would open something again.
pub fn widening(setting: &str, what: &str) -> Error {
    Error::invalid_query(format!("{setting} can only be tightened, not opened to {what}"))
        .hint("name all paths in the first statement, or make a new session")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(allowed: &[&str]) -> AccessGate {
        let gate = AccessGate::default();
        let allowed: Vec<String> = allowed.iter().map(|it| (*it).to_owned()).collect();
        gate.allow_only(&allowed).unwrap();
        gate
    }

    #[test]
    fn what_is_below_allowed_paths_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_str().unwrap();
        std::fs::create_dir_all(folder.path().join("in/sub")).unwrap();
        std::fs::create_dir(folder.path().join("inner")).unwrap();
        std::fs::write(folder.path().join("secret"), "x").unwrap();
        let gate = gate(&[&format!("{root}/in"), "s3://bucket/data", "https://host:443/a"]);
        let check = |location: &str, is_open: bool| {
            assert_eq!(gate.check(location).is_ok(), is_open, "{location}");
        };
        for open in ["in", "in/new/file", "in/sub/../x", "in/*.csv", "in/**/x[1].csv"] {
            check(&format!("{root}/{open}"), true);
        }
        check(&format!("file://{root}/in/a"), true);
        let closed =
            ["", "inner/a", "in/../secret", "in/*/../../secret", "*", "in*", "in/no/../../x"];
        for closed in closed {
            check(&format!("{root}/{closed}"), false);
        }
        check("/etc/passwd", false);
        check("relative", false);
        check("s3://bucket/data/x?.csv", true);
        check("S3://BUCKET/data", true);
        check("s3://bucket/data/../x", false);
        check("s3://bucket/*", false);
        check("s3://bucket/data*/x", false);
        check("gs://bucket/data/x", false);
        check("https://host/a/b?c=[d]", true);
        check("https://host/ab", false);
        check("s3a://bucket/data", false);
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(folder.path(), folder.path().join("in/link")).unwrap();
            check(&format!("{root}/in/link/secret"), false);
        }
    }

    #[test]
    fn rules_are_only_tightened() {
        let gate = gate(&["s3://bucket/data"]);
        let only = |it: &str| gate.allow_only(&[it.to_owned()]);
        assert!(only("s3://bucket").is_err() && only("s3://bucket/database").is_err());
        only("s3://bucket/data/x").unwrap();
        assert!(only("s3://bucket/data").is_err());
        assert!(gate.check("s3://bucket/data/y").is_err());
        gate.deny_network();
        let error = gate.check("s3://bucket/data/x/a?sig=1").unwrap_err();
        assert!(error.message().contains("allow_network") && !error.message().contains("sig"));
        let all = AccessGate::default();
        assert!(all.check("anything").is_ok() && !all.is_restricted());
        all.deny_external();
        assert!(all.check("anything").is_err() && all.check("s3://a/b").is_err());
        assert!(all.allow_only(&["anything".to_owned()]).is_err());
        all.check_unlocked().unwrap();
        all.lock();
        assert!(all.check_unlocked().is_err());
    }
}
