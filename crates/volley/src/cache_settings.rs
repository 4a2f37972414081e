//! The settings of the cache of remote files, which all sessions of an engine share.

use crate::{Session, settings::duration};
use std::{path::Path, time::Duration};
use volley_error::{Error, Result};
use volley_io::{BlockCache, CachedFileStats};
use volley_memory::{Pool, format_bytes, parse_bytes};

/// The part of the memory limit that the cache may take unless it is set, and the most of it.
const MEMORY_SHARE: usize = 4;
const MEMORY_MAX: usize = 16 << 30;

/// The interval of validations that stands for none: 100 years.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// A setting of the cache: its names, and what it is for. The first name is shown.
const SETTINGS: [(CacheSetting, &[&str], &str); 6] = [
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
    (
        CacheSetting::ValidationInterval,
        &["cache_validation_interval"],
        "how long cached remote files and lists are taken as current without asking; 0: never",
    ),
    (
        CacheSetting::IsMetadataCached,
        &["enable_http_metadata_cache"],
        "whether cached remote files and lists are taken as current for all time",
    ),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CacheSetting {
    Directory,
    DiskSize,
    MemorySize,
    IsEnabled,
    ValidationInterval,
    IsMetadataCached,
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
        CacheSetting::IsEnabled => match is_on("enable_external_file_cache", text)? {
            true => cache.set_memory_bytes(default_memory(pool)),
            false => cache.set_memory_bytes(0),
        },
        CacheSetting::ValidationInterval => {
            let interval = duration::parse("cache_validation_interval", text)?;
            cache.set_validation_interval(interval.unwrap_or_default());
        }
        CacheSetting::IsMetadataCached => {
            let is_cached = is_on("enable_http_metadata_cache", text)?;
            cache.set_validation_interval(if is_cached { FOREVER } else { Duration::ZERO });
        }
    }
    Ok(())
}

fn is_on(name: &str, text: &str) -> Result<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(Error::invalid_value(format!("{name} must be true or false: '{text}'"))),
    }
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
        CacheSetting::ValidationInterval | CacheSetting::IsMetadataCached => {
            cache.set_validation_interval(Duration::ZERO);
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
        CacheSetting::ValidationInterval => {
            duration::text(Some(cache.validation_interval()).filter(|it| !it.is_zero()))
        }
        CacheSetting::IsMetadataCached => (cache.validation_interval() >= FOREVER).to_string(),
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
