//! The functions in FROM that read files: `read_csv`, `read_parquet`, `read_orc`, `read_json` and
//! their other names, and those that list what the footers of Parquet files say.

use crate::{
    csv_options::{CsvReader, compression, named_types, read_csv_options},
    listing::listed,
    session_state::SessionState,
};
use std::{collections::BTreeMap, sync::Arc};
use volley_connector::{
    FormatRegistry, Table, TableArgument, TableCall, TableFunction, TableOption,
};
use volley_connector_hive::{FileFormat, FileOptions, FileTable, Listing, list_footers};
use volley_error::{Error, Result};
use volley_io::FileSystems;
use volley_memory::Pool;
use volley_text::{CsvReadOptions, JsonFormat, JsonReadOptions, Rejects};
use volley_types::{Type, Value, nearest_name};

/// Says which type a text names.
pub(crate) type Types<'a> = &'a dyn Fn(&str) -> Result<Type>;

const READERS: [(&str, FileFormat); 9] = [
    ("read_parquet", FileFormat::Parquet),
    ("parquet_scan", FileFormat::Parquet),
    ("read_orc", FileFormat::Orc),
    ("orc_scan", FileFormat::Orc),
    ("read_csv", FileFormat::Csv),
    ("read_csv_auto", FileFormat::Csv),
    ("read_json", FileFormat::Json),
    ("read_json_auto", FileFormat::Json),
    ("read_ndjson", FileFormat::Json),
];

/// What lists the footers of Parquet files.
const LISTINGS: [(&str, Listing); 4] = [
    ("parquet_schema", Listing::Schema),
    ("parquet_metadata", Listing::Chunks),
    ("parquet_file_metadata", Listing::File),
    ("parquet_kv_metadata", Listing::KeyValues),
];

/// Options of all readers.
const FILE_OPTIONS: [&str; 5] =
    ["filename", "union_by_name", "hive_partitioning", "hive_types", "hive_types_autocast"];

/// What is done with lines of CSV that do not fit.
const REJECT_OPTIONS: [&str; 2] = ["store_rejects", "rejects_limit"];

/// Those of files that are in `files` and charged to `pool`.
pub(crate) fn file_options(
    files: &FileSystems,
    formats: &FormatRegistry,
    pool: &Pool,
) -> FileOptions {
    let (files, formats, pool) = (files.clone(), formats.clone(), pool.clone());
    FileOptions { csv: found_csv_options(), files, formats, pool, ..FileOptions::default() }
}

/// Those of CSV files about which nothing is said.
pub(crate) fn found_csv_options() -> CsvReadOptions {
    CsvReadOptions { read_time: Some(volley_functions::read_timestamp), ..Default::default() }
}

/// Adds the readers to functions of a session's own, whose names come first. Files are charged to
/// `pool`.
pub(crate) fn add_readers(
    functions: &mut BTreeMap<String, TableFunction>,
    files: &FileSystems,
    formats: &FormatRegistry,
    pool: &Pool,
    state: &Arc<SessionState>,
) {
    let own = READERS.iter().map(|(name, format)| (name.to_string(), *format));
    let added = formats.names().map(|it| (format!("read_{it}"), FileFormat::Added(it)));
    for (name, format) in own.chain(added) {
        let options = FileOptions { format: Some(format), ..file_options(files, formats, pool) };
        let state = Arc::clone(state);
        let read = move |call: &TableCall<'_>| read_files(call, format, options.clone(), &state);
        functions.entry(name).or_insert_with(|| Arc::new(read));
    }
    for (name, listing) in LISTINGS {
        let (files, pool) = (files.clone(), pool.clone());
        let list = move |call: &TableCall<'_>| {
            call.expect_arguments(1)?;
            let paths = paths_of(call)?;
            let mut charge = pool.reservation();
            let rows = list_footers(&files, &paths, listing, &mut charge)?;
            listed(written(call, &paths), listing.schema(), &rows, &pool)
        };
        functions.entry(name.to_owned()).or_insert_with(|| Arc::new(list));
    }
}

fn read_files(
    call: &TableCall<'_>,
    format: FileFormat,
    mut options: FileOptions,
    state: &SessionState,
) -> Result<Arc<dyn Table>> {
    let paths = paths_of(call)?;
    let mut of_format = Vec::new();
    for option in call.options {
        if !set_file_option(&mut options, option, call.types)? {
            of_format.push(option);
        }
    }
    match format {
        FileFormat::Csv => {
            let names = CsvReader::Function.names();
            // Its own error would not name the options of all readers.
            let of_rejects = of_format.extract_if(.., |it| REJECT_OPTIONS.contains(&&*it.name));
            let of_rejects: Vec<&TableOption> = of_rejects.collect();
            for option in &of_format {
                if !CsvReader::Function.knows(&option.name) {
                    let names = names.chain(REJECT_OPTIONS).chain(FILE_OPTIONS);
                    return Err(unknown_option(option, names));
                }
            }
            options.csv.rejects = rejects(&of_rejects, &options.pool)?;
            options.csv.ignore_errors = options.csv.rejects.is_some();
            read_csv_options(&mut options.csv, of_format, CsvReader::Function, call.types)?;
        }
        FileFormat::Parquet => {
            for option in of_format {
                set_parquet_option(&mut options, option)?;
            }
        }
        FileFormat::Added(_) => {
            if let Some(option) = of_format.first() {
                return Err(unknown_option(option, FILE_OPTIONS.into_iter()));
            }
        }
        FileFormat::Orc => {
            for option in of_format {
                set_orc_option(&mut options, option)?;
            }
        }
        FileFormat::Json => {
            if call.name.eq_ignore_ascii_case("read_ndjson") {
                options.json.format = JsonFormat::Lines;
            }
            for option in of_format {
                set_json_option(&mut options.json, option, call.types)?;
            }
        }
    }
    let table = Arc::new(FileTable::open_all(&written(call, &paths), &paths, &options)?);
    if let Some(rejects) = options.csv.rejects {
        state.reject_scans().add(rejects, table.schema(), &paths, &given(call));
    }
    Ok(table)
}

/// The call as text: tables of equal calls are the same.
fn written(call: &TableCall<'_>, paths: &[String]) -> String {
    let mut text = format!("{}({}", call.name, paths.join(", "));
    for option in call.options {
        let value = option.value.display(&option.data_type);
        text.push_str(&format!(", {} = {value}", option.name));
    }
    text.push(')');
    text
}

/// The options of a call as text.
fn given(call: &TableCall<'_>) -> String {
    let option = |it: &TableOption| format!("{}={}", it.name, it.value.display(&it.data_type));
    call.options.iter().map(option).collect::<Vec<_>>().join(", ")
}

/// What collects lines of CSV that do not fit, if `store_rejects` says so.
fn rejects(options: &[&TableOption], pool: &Pool) -> Result<Option<Arc<Rejects>>> {
    let named = |name: &str| options.iter().find(|it| it.name == name);
    let is_stored = named("store_rejects").map_or(Ok(false), |it| it.boolean())?;
    let limit = named("rejects_limit").map(|it| it.count()).transpose()?;
    if limit.is_some() && !is_stored {
        let message = "option rejects_limit needs store_rejects = true";
        let place = named("rejects_limit").and_then(|it| it.name_span);
        return Err(Error::invalid_query(message).span(place));
    }
    Ok(is_stored.then(|| Arc::new(Rejects::new(limit.filter(|it| *it > 0), pool))))
}

/// The only argument: a path, or a list of paths.
fn paths_of(call: &TableCall<'_>) -> Result<Vec<String>> {
    let wanted = || {
        let message = format!("{} takes a path, or a list of paths", call.name);
        let error = Error::invalid_query(message);
        error.hint("options have names: read_csv('file.csv', header = true)")
    };
    let [TableArgument::Value(value, _)] = call.arguments else { return Err(wanted()) };
    match value {
        Value::Varchar(path) => Ok(vec![path.as_ref().to_owned()]),
        Value::Array(paths) if !paths.is_empty() => {
            let path = |it: &Value| it.as_str().map(str::to_owned).ok_or_else(wanted);
            paths.iter().map(path).collect()
        }
        _ => Err(wanted()),
    }
}

/// Sets an option of all readers; `false` when it is none.
fn set_file_option(
    options: &mut FileOptions,
    option: &TableOption,
    types: Types<'_>,
) -> Result<bool> {
    match option.name.as_str() {
        "filename" => {
            // A name for the column, or whether there is one.
            options.filename = match (option.boolean(), option.value.as_str()) {
                (Ok(wanted), _) => wanted.then(|| "filename".to_owned()),
                (Err(_), Some(name)) => Some(name.to_owned()),
                (Err(error), None) => return Err(error),
            };
        }
        "union_by_name" => options.union_by_name = option.boolean()?,
        "hive_partitioning" => options.hive_partitioning = Some(option.boolean()?),
        "hive_types_autocast" => options.hive_types_autocast = option.boolean()?,
        "hive_types" => options.hive_types = named_types(option, types)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn set_parquet_option(options: &mut FileOptions, option: &TableOption) -> Result<()> {
    match option.name.as_str() {
        "file_row_number" => {
            options.file_row_number = option.boolean()?.then(|| "file_row_number".to_owned());
        }
        "binary_as_string" => options.parquet.binary_as_string = option.boolean()?,
        _ => {
            let names = ["file_row_number", "binary_as_string"];
            return Err(unknown_option(option, names.into_iter().chain(FILE_OPTIONS)));
        }
    }
    Ok(())
}

fn set_orc_option(options: &mut FileOptions, option: &TableOption) -> Result<()> {
    if option.name != "file_row_number" {
        let names = std::iter::once("file_row_number").chain(FILE_OPTIONS);
        return Err(unknown_option(option, names));
    }
    options.file_row_number = option.boolean()?.then(|| "file_row_number".to_owned());
    Ok(())
}

fn set_json_option(
    options: &mut JsonReadOptions,
    option: &TableOption,
    types: Types<'_>,
) -> Result<()> {
    match option.name.as_str() {
        "format" => {
            options.format = match option.text()?.to_ascii_lowercase().as_str() {
                "auto" => JsonFormat::Auto,
                "array" => JsonFormat::Array,
                "newline_delimited" | "nd" | "unstructured" => JsonFormat::Lines,
                _ => return Err(option.misfit("auto, array, newline_delimited or unstructured")),
            };
        }
        "columns" => options.columns = named_types(option, types)?,
        "compression" => options.compression = compression(option)?,
        _ => {
            let names = ["format", "columns", "compression"];
            return Err(unknown_option(option, names.into_iter().chain(FILE_OPTIONS)));
        }
    }
    Ok(())
}

/// The error that there is no such option, with the names of those that there are.
pub(crate) fn unknown_option(
    option: &TableOption,
    names: impl IntoIterator<Item = &'static str>,
) -> Error {
    let names: Vec<&str> = names.into_iter().collect();
    let nearest = nearest_name(&option.name, names.iter().copied());
    let hint = match nearest {
        Some(nearest) => format!("did you mean {nearest}? There are {}", names.join(", ")),
        None => format!("there are {}", names.join(", ")),
    };
    let error = Error::invalid_query(format!("unknown option: {}", option.name));
    error.span(option.name_span).hint(hint)
}
