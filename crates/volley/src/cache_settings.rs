//! The settings of the cache of remote files, which all sessions of an engine share.

use crate::Session;
use std::path::Path;
use volley_error::{Error, Result};
use volley_io::{BlockCache, CachedFileStats};
use volley_memory::{Pool, format_bytes, parse_bytes};

/// The part of the memory limit that the cache may take unless it is set, and the most of it.
const MEMORY_SHARE: usize = 4;
const MEMORY_MAX: usize = 16 << 30;

/// A setting of the cache: its names, and what it is for. The first name is shown.
const SETTINGS: [(CacheSetting, &[&str], &str); 4] = [
    (
        CacheSetting::Directory,
        &["cache_directory"],
        "folder that keeps blocks of remote files, also after the end of the process; '' for none",
    ),
    (CacheSetting::DiskSize, &["cache_disk_size"], "maximum bytes of the files in cache_directory"),
    (
        CacheSetting::MemorySize,
        &["cache_memory_size"],
        "maximum bytes of memory for blocks of remote files; queries take them when they need them",
    ),
    (
        CacheSetting::IsEnabled,
        &["enable_external_file_cache"],
        "whether blocks of remote files are kept in memory",
    ),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CacheSetting {
    Directory,
    DiskSize,
    MemorySize,
    IsEnabled,
}

/// Gives the cache memory of an engine's pool.
pub(crate) fn begin(cache: &BlockCache, pool: &Pool) {
    cache.use_memory(pool, default_memory(pool));
}

fn default_memory(pool: &Pool) -> u64 {
    (pool.limit_bytes() / MEMORY_SHARE).min(MEMORY_MAX) as u64
}

fn find(name: &str) -> Option<CacheSetting> {
    let has_name = |names: &[&str]| names.iter().any(|it| it.eq_ignore_ascii_case(name));
    SETTINGS.iter().find(|it| has_name(it.1)).map(|it| it.0)
}

/// Changes a setting of the cache; `None` if it is another setting.
pub(crate) fn set(session: &Session, name: &str, text: &str) -> Option<Result<()>> {
    Some(change(session, find(name)?, text.trim()))
}

fn change(session: &Session, setting: CacheSetting, text: &str) -> Result<()> {
    let (files, pool) = (&session.files, &session.pool);
    let cache = files.cache();
    match setting {
        CacheSetting::Directory if text.is_empty() => return cache.set_directory(None),
        CacheSetting::Directory => {
            files.gate().check(text)?;
            return cache.set_directory(Some(Path::new(text)));
        }
        CacheSetting::DiskSize => cache.set_disk_bytes(parse_bytes(text)? as u64),
        CacheSetting::MemorySize => cache.set_memory_bytes(parse_bytes(text)? as u64),
        CacheSetting::IsEnabled => match text.to_ascii_lowercase().as_str() {
            "true" | "on" | "1" => cache.set_memory_bytes(default_memory(pool)),
            "false" | "off" | "0" => cache.set_memory_bytes(0),
            _ => {
                let message = format!("enable_external_file_cache must be true or false: '{text}'");
                return Err(Error::invalid_value(message));
            }
        },
    }
    Ok(())
}

/// Gives a setting of the cache its default; `None` if it is another setting.
pub(crate) fn reset(session: &Session, name: &str) -> Option<Result<()>> {
    let setting = find(name)?;
    let cache = session.files.cache();
    Some(match setting {
        CacheSetting::Directory => cache.set_directory(None),
        CacheSetting::DiskSize => {
            cache.set_disk_bytes(volley_io::CACHE_DISK_BYTES_DEFAULT);
            Ok(())
        }
        CacheSetting::MemorySize | CacheSetting::IsEnabled => {
            cache.set_memory_bytes(default_memory(&session.pool));
            Ok(())
        }
    })
}

/// The value of a setting of the cache; `None` if it is another setting.
pub(crate) fn get(cache: &BlockCache, name: &str) -> Option<String> {
    find(name).map(|it| value(cache, it))
}

/// All settings of the cache: name, value, description.
pub(crate) fn settings(
    cache: &BlockCache,
) -> impl Iterator<Item = (&'static str, String, &'static str)> + '_ {
    SETTINGS.iter().filter_map(move |(setting, names, description)| {
        Some((*names.first()?, value(cache, *setting), *description))
    })
}

fn value(cache: &BlockCache, setting: CacheSetting) -> String {
    match setting {
        CacheSetting::Directory => {
            cache.directory().map(|it| it.display().to_string()).unwrap_or_default()
        }
        CacheSetting::DiskSize => format_bytes(cache.disk_bytes_max() as usize),
        CacheSetting::MemorySize => format_bytes(cache.memory_bytes_max() as usize),
        CacheSetting::IsEnabled => (cache.memory_bytes_max() > 0).to_string(),
    }
}

/// The columns of SHOW CACHE.
pub(crate) const CACHE_COLUMNS: [&str; 4] = ["file", "version", "memory", "disk"];

/// The rows of SHOW CACHE: what the cache has of each file. What follows `?` in a location may be a
/// signature, and is left out.
pub(crate) fn cache_rows(cache: &BlockCache) -> Vec<Vec<String>> {
    let row = |it: CachedFileStats| {
        let location = it.location.split_once('?').map_or(it.location.as_str(), |it| it.0);
        let [memory, disk] = [it.memory_bytes, it.disk_bytes].map(|it| format_bytes(it as usize));
        vec![location.to_owned(), it.version, memory, disk]
    };
    cache.files().into_iter().map(row).collect()
}
