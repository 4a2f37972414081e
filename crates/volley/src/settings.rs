//! Settings: what SET changes and SHOW shows.

pub(crate) mod duration;

use crate::memory::default_limit_bytes;
use std::{collections::BTreeSet, env, num::NonZero, path::PathBuf, thread, time::Duration};
use volley_error::{Error, Result};
use volley_exec::Priority;
use volley_memory::{format_bytes, parse_bytes};
use volley_plan::expand::EXPANSIONS;
use volley_sql::{DefaultOrder, Dialect};
use volley_types::{Zone, nearest_name, text::TypeNames};

/// Rows per batch: measured on TPC-H between 1024 and 16384.
const BATCH_ROWS_DEFAULT: usize = 8192;

/// More rows than this in a batch do not fit the layouts.
const BATCH_ROWS_MAX: usize = 1 << 20;

/// More threads than this are a typing error.
const THREADS_MAX: usize = 4096;

/// What a driver of a query should have of the memory limit (decision 38),
const DRIVER_BYTES: usize = 48 << 20;

/// unless that leaves fewer drivers than this.
const DRIVERS_MIN: usize = 2;

/// More tasks than this in one process are a typing error.
const TASKS_MAX: usize = 64;

/// Decoded bytes of a page of an exchange.
const PAGE_BYTES_DEFAULT: usize = 1 << 20;

/// How rows cross from task to task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangePages {
    /// As the batches that they are.
    Batches,
    /// As bytes in the native format.
    Bytes,
    /// As bytes in the native format, with integers as narrow as their range on each page.
    Packed,
    /// As bytes in Arrow's format.
    Arrow,
    /// As bytes in the format of this name that was added to the engine.
    Added(&'static str),
}

/// The settings of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Threads that run queries; at least one.
    pub threads: usize,
    /// Most bytes that all queries and tables in memory may hold; `None` for no limit.
    pub memory_limit_bytes: Option<usize>,
    /// Where rows go that do not fit into memory, in a folder that goes with the session.
    pub spill_directory: PathBuf,
    /// Most bytes that go there; `None` for no limit.
    pub max_spill_bytes: Option<u64>,
    /// How many tasks run each fragment of a query; with one, queries are not distributed.
    pub tasks: usize,
    /// How rows cross from task to task.
    pub exchange_pages: ExchangePages,
    /// Decoded bytes of a page; at least one.
    pub exchange_page_bytes: usize,
    /// Most rows of a batch; at least one.
    pub batch_rows: usize,
    /// Whether joins, and ORDER BY with LIMIT, filter the scans below them.
    pub dynamic_filters: bool,
    /// Whether rows without ORDER BY keep the order of their source.
    pub preserves_insertion_order: bool,
    /// Whether operators that can spill do so at every step.
    pub spill_always: bool,
    /// Whether plans are bytes in between, for tests.
    pub saves_plans: bool,
    /// Whether joins on equal keys sort both sides and merge them.
    pub always_merges_joins: bool,
    /// Whether coarser grouping sets are computed from finer ones, also of few groups.
    pub always_cascades_sets: bool,
    /// Optimizer rules that are switched off.
    pub disabled_rules: BTreeSet<String>,
    /// Expansions of plan nodes into sub-operators that are switched on.
    pub expansions: BTreeSet<String>,
    /// The zone in which TIMESTAMP WITH TIME ZONE is shown, read and taken apart.
    pub time_zone: Zone,
    /// The longest that a statement may take, from its planning until its last row is read; `None`
    /// for no limit.
    pub statement_timeout: Option<Duration>,
    /// How much of the threads' time a query gets beside others.
    pub query_priority: Priority,
    /// Whose semantics statements have where systems differ.
    pub dialect: Dialect,
    /// What ORDER BY means where it does not say it.
    pub default_order: DefaultOrder,
    /// How names of types are written.
    pub type_names: TypeNames,
    /// Where the profile of each query is written as a page; `None` for none.
    pub profile_directory: Option<String>,
}

/// One setting, for people and for SET.
struct Setting {
    name: &'static str,
    description: &'static str,
    get: fn(&Settings) -> String,
    set: fn(&mut Settings, &str) -> Result<()>,
}

const SETTINGS: [Setting; 24] = [
    Setting {
        name: "batch_rows",
        description: "maximum rows of a batch",
        get: |it| it.batch_rows.to_string(),
        set: |it, text| {
            let _: () = it.batch_rows = number("batch_rows", text, BATCH_ROWS_MAX)?;
            Ok(())
        },
    },
    Setting {
        name: "default_null_order",
        description: "where ORDER BY puts NULL: nulls_last, nulls_first, sqlite, mysql, postgres",
        get: |it| it.default_order.nulls.to_string(),
        set: |it, text| {
            let _: () = it.default_order.nulls = text.parse()?;
            Ok(())
        },
    },
    Setting {
        name: "default_order",
        description: "the order of ORDER BY without ASC and DESC: asc or desc",
        get: |it| it.default_order.direction.to_string(),
        set: |it, text| {
            let _: () = it.default_order.direction = text.parse()?;
            Ok(())
        },
    },
    Setting {
        name: "dialect",
        description: "semantics of statements where systems differ: volley or presto",
        get: |it| it.dialect.to_string(),
        set: |it, text| {
            let _: () = it.dialect = text.parse()?;
            Ok(())
        },
    },
    Setting {
        name: "disabled_rules",
        description: "disabled optimizer rules, separated by commas",
        get: |it| it.disabled_rules.iter().cloned().collect::<Vec<_>>().join(","),
        set: |it, text| {
            let _: () = it.disabled_rules = rule_names(text)?;
            Ok(())
        },
    },
    Setting {
        name: "expansions",
        description: "expansions of plan nodes into sub-operators, separated by commas",
        get: |it| it.expansions.iter().cloned().collect::<Vec<_>>().join(","),
        set: |it, text| {
            let _: () = it.expansions = expansion_names(text)?;
            Ok(())
        },
    },
    Setting {
        name: "dynamic_filters",
        description: "whether joins and ORDER BY with LIMIT filter the scans below them",
        get: |it| it.dynamic_filters.to_string(),
        set: |it, text| {
            let _: () = it.dynamic_filters = truth("dynamic_filters", text)?;
            Ok(())
        },
    },
    Setting {
        name: "debug_merge_joins",
        description: "whether joins on equal keys sort both sides and merge them: for tests",
        get: |it| it.always_merges_joins.to_string(),
        set: |it, text| {
            let _: () = it.always_merges_joins = truth("debug_merge_joins", text)?;
            Ok(())
        },
    },
    Setting {
        name: "debug_cascade_sets",
        description: "whether coarser grouping sets are always computed from finer ones: for tests",
        get: |it| it.always_cascades_sets.to_string(),
        set: |it, text| {
            let _: () = it.always_cascades_sets = truth("debug_cascade_sets", text)?;
            Ok(())
        },
    },
    Setting {
        name: "debug_save_plans",
        description: "whether plans are serialized and read again before they run: for tests",
        get: |it| it.saves_plans.to_string(),
        set: |it, text| {
            let _: () = it.saves_plans = truth("debug_save_plans", text)?;
            Ok(())
        },
    },
    Setting {
        name: "debug_spill_always",
        description: "whether operators spill at every step: for tests",
        get: |it| it.spill_always.to_string(),
        set: |it, text| {
            let _: () = it.spill_always = truth("debug_spill_always", text)?;
            Ok(())
        },
    },
    Setting {
        name: "exchange_pages",
        description: "how rows cross between tasks: batches, or for tests bytes, packed or arrow",
        get: |it| match it.exchange_pages {
            ExchangePages::Batches => "batches".to_owned(),
            ExchangePages::Bytes => "bytes".to_owned(),
            ExchangePages::Packed => "packed".to_owned(),
            ExchangePages::Arrow => "arrow".to_owned(),
            ExchangePages::Added(name) => name.to_owned(),
        },
        set: |it, text| {
            let _: () = it.exchange_pages = exchange_pages(text)?;
            Ok(())
        },
    },
    Setting {
        name: "exchange_page_size",
        description: "size of a page between tasks, such as 1MB",
        get: |it| format_bytes(it.exchange_page_bytes),
        set: |it, text| {
            let _: () = it.exchange_page_bytes = parse_bytes(text)?.max(1);
            Ok(())
        },
    },
    Setting {
        name: "max_spill_size",
        description: "maximum bytes of spill files, such as 100GB or none",
        get: |it| limit_text(it.max_spill_bytes.map(|it| it as usize)),
        set: |it, text| {
            let _: () = it.max_spill_bytes = limit(text)?.map(|it| it as u64);
            Ok(())
        },
    },
    Setting {
        name: "memory_limit",
        description: "maximum memory of queries and in-memory tables, such as 4GB or none",
        get: |it| limit_text(it.memory_limit_bytes),
        set: |it, text| {
            let _: () = it.memory_limit_bytes = limit(text)?;
            Ok(())
        },
    },
    Setting {
        name: "preserve_insertion_order",
        description: "whether rows without ORDER BY keep the order of their source",
        get: |it| it.preserves_insertion_order.to_string(),
        set: |it, text| {
            let _: () = it.preserves_insertion_order = truth("preserve_insertion_order", text)?;
            Ok(())
        },
    },
    Setting {
        name: "profile_directory",
        description: "folder that gets a page with the profile of each query; none for no pages",
        get: |it| it.profile_directory.clone().unwrap_or_else(|| "none".to_owned()),
        set: |it, text| {
            let is_none = text.is_empty() || text.eq_ignore_ascii_case("none");
            let _: () = it.profile_directory = (!is_none).then(|| text.to_owned());
            Ok(())
        },
    },
    Setting {
        name: "query_priority",
        description: "share of the threads' time next to other queries: low, normal, high",
        get: |it| it.query_priority.to_string(),
        set: |it, text| {
            let _: () = it.query_priority = text.parse()?;
            Ok(())
        },
    },
    Setting {
        name: "spill_directory",
        description: "folder of spill files",
        get: |it| it.spill_directory.display().to_string(),
        set: |it, text| {
            let _: () = it.spill_directory = directory("spill_directory", text)?;
            Ok(())
        },
    },
    Setting {
        name: "statement_timeout",
        description: "maximum time of a statement, such as 30s or 500 (ms); 0 for no limit",
        get: |it| duration::text(it.statement_timeout),
        set: |it, text| {
            let _: () = it.statement_timeout = duration::parse("statement_timeout", text)?;
            Ok(())
        },
    },
    Setting {
        name: "tasks",
        description: "tasks per fragment of a query; with 1, queries are not distributed",
        get: |it| it.tasks.to_string(),
        set: |it, text| {
            let _: () = it.tasks = number("tasks", text, TASKS_MAX)?;
            Ok(())
        },
    },
    Setting {
        name: "threads",
        description: "threads that run queries; a query uses fewer if memory_limit is small",
        get: |it| it.threads.to_string(),
        set: |it, text| {
            let _: () = it.threads = number("threads", text, THREADS_MAX)?;
            Ok(())
        },
    },
    Setting {
        name: "type_names",
        description: "how names of types are written: sql (ARRAY(INTEGER)) or duckdb (INTEGER[])",
        get: |it| it.type_names.to_string(),
        set: |it, text| {
            let _: () = it.type_names = text.parse()?;
            Ok(())
        },
    },
    Setting {
        name: "timezone",
        description: "time zone in which TIMESTAMP WITH TIME ZONE is printed and parsed",
        get: |it| it.time_zone.name().to_owned(),
        set: |it, text| {
            let _: () = it.time_zone = zone(text)?;
            Ok(())
        },
    },
];

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            threads: thread::available_parallelism().map_or(1, NonZero::get),
            memory_limit_bytes: default_limit_bytes(),
            spill_directory: env::temp_dir(),
            max_spill_bytes: None,
            tasks: 1,
            exchange_pages: ExchangePages::Batches,
            exchange_page_bytes: PAGE_BYTES_DEFAULT,
            batch_rows: BATCH_ROWS_DEFAULT,
            dynamic_filters: true,
            preserves_insertion_order: true,
            spill_always: false,
            saves_plans: false,
            always_merges_joins: false,
            always_cascades_sets: false,
            disabled_rules: BTreeSet::new(),
            expansions: BTreeSet::new(),
            time_zone: Zone::default(),
            statement_timeout: None,
            query_priority: Priority::default(),
            dialect: Dialect::default(),
            default_order: DefaultOrder::default(),
            type_names: TypeNames::default(),
            profile_directory: None,
        }
    }
}

impl Settings {
    /// Changes the setting `name` to the value that `text` says.
    ///
    /// # Errors
    ///
    /// Invalid query: no such setting. Invalid value: not a value of it.
    pub fn set(&mut self, name: &str, text: &str) -> Result<()> {
        (setting(name)?.set)(self, text.trim())
    }

    /// Gives the setting `name` its default.
    ///
    /// # Errors
    ///
    /// Invalid query: no such setting.
    pub fn reset(&mut self, name: &str) -> Result<()> {
        let text = (setting(name)?.get)(&Settings::default());
        self.set(name, &text)
    }

    /// The value of the setting `name`, as text.
    ///
    /// # Errors
    ///
    /// Invalid query: no such setting.
    pub fn get(&self, name: &str) -> Result<String> {
        Ok((setting(name)?.get)(self))
    }

    /// All settings: name, value, description.
    pub fn list(&self) -> Vec<(&'static str, String, &'static str)> {
        SETTINGS.iter().map(|it| (it.name, (it.get)(self), it.description)).collect()
    }
}

fn setting(name: &str) -> Result<&'static Setting> {
    SETTINGS.iter().find(|it| it.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let error = Error::invalid_query(format!("no such setting: {name}"));
        match nearest_name(name, SETTINGS.iter().map(|it| it.name)) {
            Some(nearest) => error.hint(format!("did you mean {nearest}?")),
            None => error.hint("SHOW ALL lists the settings"),
        }
    })
}

fn number(name: &str, text: &str, max: usize) -> Result<usize> {
    text.parse().ok().filter(|it| (1..=max).contains(it)).ok_or_else(|| {
        Error::invalid_value(format!("{name} must be a number from 1 to {max}: '{text}'"))
    })
}

fn truth(name: &str, text: &str) -> Result<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(Error::invalid_value(format!("{name} must be true or false: '{text}'"))),
    }
}

fn exchange_pages(text: &str) -> Result<ExchangePages> {
    match text.to_ascii_lowercase().as_str() {
        "batches" => Ok(ExchangePages::Batches),
        "bytes" => Ok(ExchangePages::Bytes),
        "packed" => Ok(ExchangePages::Packed),
        "arrow" => Ok(ExchangePages::Arrow),
        _ => {
            let message =
                format!("exchange_pages must be batches, bytes, packed or arrow: '{text}'");
            Err(Error::invalid_value(message))
        }
    }
}

fn limit(text: &str) -> Result<Option<usize>> {
    if text.eq_ignore_ascii_case("none") { Ok(None) } else { parse_bytes(text).map(Some) }
}

fn limit_text(bytes: Option<usize>) -> String {
    bytes.map_or_else(|| "none".into(), format_bytes)
}

fn directory(name: &str, text: &str) -> Result<PathBuf> {
    match text {
        "" => Err(Error::invalid_value(format!("{name} must not be empty"))
            .hint(format!("RESET {name} goes back to the system's temporary folder"))),
        text => Ok(PathBuf::from(text)),
    }
}

fn zone(text: &str) -> Result<Zone> {
    Zone::find(text).ok_or_else(|| {
        Error::invalid_value(format!("no such time zone: '{text}'"))
            .hint("zones are named as in the IANA database, such as Europe/Berlin or UTC")
    })
}

fn rule_names(text: &str) -> Result<BTreeSet<String>> {
    let rules = volley_optimizer::rules();
    names_among(text, &rules.iter().map(|it| it.name).collect::<Vec<_>>(), "optimizer rule")
}

fn expansion_names(text: &str) -> Result<BTreeSet<String>> {
    names_among(text, &EXPANSIONS.iter().map(|it| it.name).collect::<Vec<_>>(), "expansion")
}

/// The names that `text` lists, with commas between; each is one of `known`.
fn names_among(text: &str, known: &[&str], what: &str) -> Result<BTreeSet<String>> {
    let names = text.split(',').map(str::trim).filter(|it| !it.is_empty());
    let check = |name: &str| {
        if known.contains(&name) {
            return Ok(name.to_owned());
        }
        let error = Error::invalid_value(format!("no such {what}: '{name}'"));
        Err(match nearest_name(name, known.iter().copied()) {
            Some(nearest) => error.hint(format!("did you mean {nearest}?")),
            None => error,
        })
    };
    names.map(check).collect()
}

impl Settings {
    /// How many drivers a query has for each of its pipelines: one per thread, or fewer where the
    /// memory limit is small.
    pub fn drivers(&self) -> usize {
        let by_memory = self.memory_limit_bytes.map_or(usize::MAX, |it| it / DRIVER_BYTES);
        self.threads.min(by_memory.max(DRIVERS_MIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_limits_take_drivers() {
        let drivers = |threads: &str, limit: &str| {
            let mut settings = Settings::default();
            settings.set("threads", threads).unwrap();
            settings.set("memory_limit", limit).unwrap();
            settings.drivers()
        };
        assert_eq!(drivers("64", "none"), 64);
        assert_eq!(drivers("64", "4GiB"), 64);
        assert_eq!(drivers("64", "1GiB"), 21);
        assert_eq!(drivers("8", "128MB"), 2);
        assert_eq!(drivers("8", "1MB"), 2);
        assert_eq!(drivers("1", "1MB"), 1);
    }

    #[test]
    fn values_are_checked_and_shown_as_they_are_set() {
        let mut settings = Settings::default();
        settings.set("THREADS", "3").unwrap();
        assert_eq!(settings.get("threads").unwrap(), "3");
        settings.set("memory_limit", "1GiB").unwrap();
        assert_eq!(settings.memory_limit_bytes, Some(1 << 30));
        settings.set("memory_limit", "none").unwrap();
        assert_eq!(settings.get("memory_limit").unwrap(), "none");
        settings.set("max_spill_size", "10GiB").unwrap();
        assert_eq!(settings.max_spill_bytes, Some(10 << 30));
        assert_eq!(settings.get("max_spill_size").unwrap(), "10.0 GiB");
        settings.set("spill_directory", " /some/where ").unwrap();
        assert_eq!(settings.get("spill_directory").unwrap(), "/some/where");
        assert!(settings.set("spill_directory", "").is_err());
        settings.set("statement_timeout", "30s").unwrap();
        assert_eq!(settings.statement_timeout, Some(Duration::from_secs(30)));
        settings.set("query_priority", "HIGH").unwrap();
        assert_eq!(settings.get("query_priority").unwrap(), "high");
        assert!(settings.set("query_priority", "highest").is_err());
        settings.set("dialect", "Presto").unwrap();
        assert_eq!(settings.get("dialect").unwrap(), "presto");
        assert!(settings.set("dialect", "oracle").is_err());
        settings.set("tasks", "4").unwrap();
        assert_eq!(settings.get("tasks").unwrap(), "4");
        assert!(settings.set("tasks", "0").is_err());
        assert!(settings.set("tasks", "65").is_err());
        settings.set("exchange_pages", "BYTES").unwrap();
        assert_eq!(settings.get("exchange_pages").unwrap(), "bytes");
        assert!(settings.set("exchange_pages", "stones").is_err());
        settings.set("exchange_page_size", "64KiB").unwrap();
        assert_eq!(settings.get("exchange_page_size").unwrap(), "64.0 KiB");
        assert!(settings.set("threads", "0").is_err());
        assert!(settings.set("batch_rows", "many").is_err());
    }

    #[test]
    fn an_unknown_setting_names_the_nearest_one() {
        let error = Settings::default().get("thread").unwrap_err();
        assert_eq!(error.hint_text(), Some("did you mean threads?"));
    }

    #[test]
    fn reset_restores_every_default() {
        let mut settings = Settings::default();
        for (name, _, _) in Settings::default().list() {
            settings.reset(name).unwrap();
        }
        assert_eq!(settings.threads, Settings::default().threads);
        assert_eq!(settings.batch_rows, Settings::default().batch_rows);
    }
}
