//! The file systems of an engine, by the scheme of locations.

use crate::{
    AccessGate, BlockCache, CachedFileSystem, FileSystem, FileWriter, IoRuntime, LocalFileSystem,
    Pending, RandomAccessFile, Secrets, WriteMode, list, wait,
};
use std::{
    collections::{BTreeMap, VecDeque},
    fmt, slice,
    sync::Arc,
};
use volley_error::{Error, Result};

/// The scheme of locations without one.
pub const LOCAL_SCHEME: &str = "file";

/// Schemes whose file systems are in builds with the feature `cloud`.
#[cfg(not(feature = "cloud"))]
const CLOUD_SCHEMES: [&str; 13] =
    ["s3", "s3a", "s3n", "r2", "gs", "gcs", "az", "azure", "adl", "abfs", "abfss", "http", "https"];

/// Files that are opened ahead of the one that is used.
const OPENED_AHEAD: usize = 32;

/// The file systems of an engine. Cheap to clone.
///
/// ```
/// # fn main() -> volley_error::Result<()> {
/// let files = volley_io::FileSystems::default();
/// let Err(error) = files.open("tape://1/a.csv") else { unreachable!() };
/// assert_eq!(error.message(), "no file system for the scheme tape: tape://1/a.csv");
/// assert_eq!(error.hint_text(), Some("there are file systems for the schemes file"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FileSystems {
    by_scheme: Arc<BTreeMap<String, Arc<dyn FileSystem>>>,
    runtime: IoRuntime,
    secrets: Secrets,
    gate: AccessGate,
    cache: BlockCache,
}

impl Default for FileSystems {
    /// Local files, with I/O threads of their own.
    fn default() -> FileSystems {
        let runtime = IoRuntime::new();
        let local: Arc<dyn FileSystem> = Arc::new(LocalFileSystem::new(runtime.clone()));
        let by_scheme = BTreeMap::from([(LOCAL_SCHEME.to_owned(), local)]);
        FileSystems {
            by_scheme: Arc::new(by_scheme),
            cache: BlockCache::new(runtime.clone()),
            runtime,
            secrets: Secrets::default(),
            gate: AccessGate::default(),
        }
    }
}

impl FileSystems {
    /// The threads that wait for I/O, also for file systems that are added.
    pub fn runtime(&self) -> &IoRuntime {
        &self.runtime
    }

    /// The schemes, in order.
    pub fn schemes(&self) -> impl Iterator<Item = &str> {
        self.by_scheme.keys().map(String::as_str)
    }

    /// These, and another one for locations that begin with `scheme://`.
    ///
    /// # Errors
    ///
    /// Invalid value: not a scheme, or one that has a file system already.
    pub fn with(mut self, scheme: &str, file_system: Arc<dyn FileSystem>) -> Result<FileSystems> {
        let lower = scheme.to_ascii_lowercase();
        if scheme_of(&format!("{lower}://")).is_none() {
            let error = Error::invalid_value(format!("not a scheme of URLs: {scheme}"));
            return Err(error.hint("a scheme is a letter, then letters, digits, '+', '-' or '.'"));
        }
        if self.by_scheme.contains_key(&lower) {
            let message = format!("there is already a file system for the scheme {lower}");
            return Err(Error::invalid_value(message));
        }
        Arc::make_mut(&mut self.by_scheme).insert(lower, file_system);
        Ok(self)
    }

    /// These, and those of object stores and HTTP servers, which use the secrets of
    /// [`FileSystems::secrets`] or, where none is for a location, what the clouds' own tools read
    /// of `environment`. Schemes that have a file system keep it.
    #[cfg(feature = "cloud")]
    pub fn with_cloud(mut self, environment: crate::CloudEnvironment) -> FileSystems {
        let added = crate::cloud::file_systems(&self.runtime, environment, self.secrets.clone());
        let by_scheme = Arc::make_mut(&mut self.by_scheme);
        for (scheme, file_system) in added {
            by_scheme.entry(scheme.to_owned()).or_insert(file_system);
        }
        self
    }

    /// These; blocks of remote files, those of file systems without folders, are looked for in
    /// [`FileSystems::cache`].
    pub fn with_cache(mut self) -> FileSystems {
        for file_system in Arc::make_mut(&mut self.by_scheme).values_mut() {
            if !file_system.capabilities().has_folders {
                let inner = Arc::clone(file_system);
                *file_system = Arc::new(CachedFileSystem::new(inner, &self.cache));
            }
        }
        self
    }

    /// The cache of remote files, which clones of this share.
    pub fn cache(&self) -> &BlockCache {
        &self.cache
    }

    /// Which files may be reached; clones of this share it.
    pub fn gate(&self) -> &AccessGate {
        &self.gate
    }

    /// The secrets of the engine, which clones of this share.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// These, with another one for local files, such as one whose operations fail in a test.
    pub fn with_local(mut self, file_system: Arc<dyn FileSystem>) -> FileSystems {
        Arc::make_mut(&mut self.by_scheme).insert(LOCAL_SCHEME.to_owned(), file_system);
        self
    }

    /// The file system of a location: by its scheme, or that of local files without one.
    ///
    /// # Errors
    ///
    /// Invalid query: there is none for the scheme, or the gate is closed for the location.
    pub fn of(&self, location: &str) -> Result<&Arc<dyn FileSystem>> {
        self.gate.check(location)?;
        let scheme = scheme_of(location).unwrap_or(LOCAL_SCHEME).to_ascii_lowercase();
        self.by_scheme.get(&scheme).ok_or_else(|| {
            #[cfg(not(feature = "cloud"))]
            if CLOUD_SCHEMES.contains(&scheme.as_str()) {
                return without_cloud(&scheme, location);
            }
            let message = format!("no file system for the scheme {scheme}: {location}");
            let known: Vec<&str> = self.schemes().collect();
            let hint = format!("there are file systems for the schemes {}", known.join(", "));
            Error::invalid_query(message).hint(hint)
        })
    }

    /// Opens a file for reading; blocks until it is open.
    ///
    /// # Errors
    ///
    /// No file system; I/O: no such file, a folder, no permission.
    pub fn open(&self, location: &str) -> Result<Arc<dyn RandomAccessFile>> {
        wait(self.of(location)?.open(location))
    }

    /// Opens files one after the other, and some of the next ones at the same time. An error is the
    /// result of its file.
    pub fn open_each<'f>(&'f self, locations: &'f [String]) -> OpenEach<'f> {
        OpenEach { files: self, locations: locations.iter(), opening: VecDeque::new() }
    }

    /// Asks for remote files at the same time that will be opened next one after the other; blocks
    /// until all have answered. Globs and folders are not asked for, and errors are left to those
    /// that open the file.
    pub fn look_ahead<'n>(&self, locations: impl Iterator<Item = &'n str>) {
        let is_remote = |it: &&str| {
            scheme_of(it).is_some_and(|it| !it.eq_ignore_ascii_case(LOCAL_SCHEME))
                && !list::is_glob(it)
                && !it.ends_with('/')
        };
        let found = locations.filter(is_remote).filter_map(|it| Some((self.of(it).ok()?, it)));
        let found: Vec<_> = found.collect();
        if found.len() > 1 {
            let asked: Vec<_> =
                found.into_iter().map(|(it, location)| it.entry(location)).collect();
            asked.into_iter().for_each(|it| drop(wait(it)));
        }
    }

    /// Begins a file that appears when it is committed, and then replaces one of its name; blocks
    /// until bytes can be written.
    ///
    /// # Errors
    ///
    /// No file system; I/O: no such folder, a folder is there, no permission.
    pub fn create(&self, location: &str) -> Result<Box<dyn FileWriter>> {
        wait(self.of(location)?.create(location, WriteMode::Replace))
    }

    /// All files below a folder, hidden ones too, in any order; none if nothing is there.
    ///
    /// # Errors
    ///
    /// No file system; I/O: the location is that of a file.
    pub fn list_tree(&self, folder: &str) -> Result<Vec<String>> {
        list::list_tree(&**self.of(folder)?, folder)
    }

    /// The files that `location` names, in order of their names: itself when it is a file; what
    /// matches when it is a glob; when it is a folder, the files in it and below whose names
    /// `accept` takes. Names that begin with a dot or an underscore are left out of folders.
    ///
    /// # Errors
    ///
    /// No file system; I/O: nothing is there.
    pub fn list(&self, location: &str, accept: &dyn Fn(&str) -> bool) -> Result<Vec<String>> {
        list::list_files(&**self.of(location)?, location, accept)
    }
}

impl fmt::Debug for FileSystems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.schemes()).finish()
    }
}

/// Files that are opened in the order of their locations.
pub struct OpenEach<'f> {
    files: &'f FileSystems,
    locations: slice::Iter<'f, String>,
    opening: VecDeque<Pending<Arc<dyn RandomAccessFile>>>,
}

impl Iterator for OpenEach<'_> {
    type Item = Result<Arc<dyn RandomAccessFile>>;

    fn next(&mut self) -> Option<Result<Arc<dyn RandomAccessFile>>> {
        while self.opening.len() < OPENED_AHEAD
            && let Some(location) = self.locations.next()
        {
            self.opening.push_back(match self.files.of(location) {
                Ok(file_system) => file_system.open(location),
                Err(error) => crate::ready(Err(error)),
            });
        }
        self.opening.pop_front().map(wait)
    }
}

#[cfg(not(feature = "cloud"))]
fn without_cloud(scheme: &str, location: &str) -> Error {
    let message =
        format!("{scheme}:// needs the feature cloud, which this build lacks: {location}");
    Error::unsupported(message).hint("build Volley with --features cloud")
}

/// What stands before `://`, if it is a scheme (RFC 3986, section 3.1).
fn scheme_of(location: &str) -> Option<&str> {
    let (scheme, _) = location.split_once("://")?;
    let mut chars = scheme.chars();
    let is_scheme = chars.next().is_some_and(|it| it.is_ascii_alphabetic())
        && chars.all(|it| it.is_ascii_alphanumeric() || matches!(it, '+' | '-' | '.'));
    is_scheme.then_some(scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_find_their_file_system_by_scheme() {
        assert_eq!(scheme_of("s3://bucket/a"), Some("s3"));
        assert_eq!(scheme_of("a/b.csv"), None);
        assert_eq!(scheme_of("data/s3://a"), None);
        assert_eq!(scheme_of("1a://b"), None);
        assert_eq!(scheme_of("://b"), None);
        let files = FileSystems::default();
        assert!(files.of("a/b.csv").is_ok() && files.of("FILE:///a").is_ok());
        let local = Arc::new(LocalFileSystem::default());
        let files = files.with("Copy", local.clone()).unwrap();
        assert!(files.of("copy://a").is_ok());
        assert!(files.clone().with("copy", local.clone()).is_err());
        assert!(files.clone().with("not a scheme", local).is_err());
        let error = files.of("x-y://a").unwrap_err();
        assert_eq!(error.hint_text(), Some("there are file systems for the schemes copy, file"));
    }

    #[test]
    fn urls_of_files_are_paths() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a b.csv"), "x").unwrap();
        let url = format!("file://{}", folder.path().display());
        let files = FileSystems::default();
        let found = files.list(&format!("{url}/*.csv"), &|_| true).unwrap();
        assert_eq!(found, [format!("{url}/a b.csv")]);
        assert_eq!(files.open(&found[0]).unwrap().read(0..1).unwrap(), "x");
        assert_eq!(files.list(&url, &|_| true).unwrap(), found);
    }
}
