//! `sniff_csv`: what is found out about a CSV file, as a row.

use crate::{
    csv_options::{CsvReader, read_csv_options},
    listing::listed,
    readers::found_csv_options,
};
use std::{collections::BTreeMap, sync::Arc};
use volley_connector::{Table, TableArgument, TableCall, TableFunction};
use volley_error::{Error, Result};
use volley_io::FileSystems;
use volley_memory::Pool;
use volley_sql::quoted_text;
use volley_text::{CsvFile, CsvReadOptions, NO_DELIMITER};
use volley_types::{Field, Schema, Type, Value};

/// How dates are written where a column has that type.
const DATE_FORMAT: &str = "%Y-%m-%d";

/// How timestamps are written where a column has that type.
const TIMESTAMP_FORMAT: &str = "%Y-%m-%d %H:%M:%S";

/// Adds the function to those of a session, whose names come first.
pub(crate) fn add_sniff_csv(
    functions: &mut BTreeMap<String, TableFunction>,
    files: &FileSystems,
    pool: &Pool,
) {
    let (files, pool) = (files.clone(), pool.clone());
    let sniff = move |call: &TableCall<'_>| sniff_csv(call, &files, &pool);
    functions.entry("sniff_csv".to_owned()).or_insert_with(|| Arc::new(sniff));
}

fn sniff_csv(call: &TableCall<'_>, files: &FileSystems, pool: &Pool) -> Result<Arc<dyn Table>> {
    let [TableArgument::Value(Value::Varchar(path), _)] = call.arguments else {
        return Err(Error::invalid_query("sniff_csv takes a path, and options by name"));
    };
    let mut options = found_csv_options();
    read_csv_options(&mut options, call.options, CsvReader::Function, call.types)?;
    let mut paths = files.list(path, &|it| it.to_ascii_lowercase().contains(".csv"))?.into_iter();
    let first = paths.next().ok_or_else(|| Error::internal("no file"))?;
    let file = CsvFile::open(files.open(&first)?, &options, pool)?;
    let given = |it: &volley_connector::TableOption| {
        format!("{}={}", it.name, literal(&it.value, &it.data_type))
    };
    let given: Vec<String> = call.options.iter().map(given).collect();
    let row = Found::of(&file, &options, pool)?.row(path, &given.join(", "));
    let name = format!("sniff_csv({path}, {})", given.join(", "));
    listed(name, schema(), &[row], pool)
}

fn column_type() -> Type {
    Type::row(vec![Field::new("name", Type::Varchar), Field::new("type", Type::Varchar)])
}

fn schema() -> Schema {
    let fields = [
        ("Delimiter", Type::Varchar),
        ("Quote", Type::Varchar),
        ("Escape", Type::Varchar),
        ("NewLineDelimiter", Type::Varchar),
        ("Comment", Type::Varchar),
        ("SkipRows", Type::BigInt),
        ("HasHeader", Type::Boolean),
        ("Columns", Type::array(column_type())),
        ("DateFormat", Type::Varchar),
        ("TimestampFormat", Type::Varchar),
        ("UserArguments", Type::Varchar),
        ("Prompt", Type::Varchar),
    ];
    Schema::new(fields.into_iter().map(|(name, it)| Field::new(name, it)).collect())
}

/// The format of a file, as texts.
struct Found {
    delimiter: String,
    quote: String,
    escape: String,
    new_line: &'static str,
    comment: String,
    skip: u64,
    has_header: bool,
    columns: Vec<(String, String)>,
    date_format: Option<String>,
    timestamp_format: Option<String>,
}

impl Found {
    fn of(file: &CsvFile, options: &CsvReadOptions, pool: &Pool) -> Result<Found> {
        let byte = |it: Option<u8>| it.map_or_else(String::new, |it| char::from(it).to_string());
        let delimiter = Some(file.delimiter()).filter(|it| *it != NO_DELIMITER);
        let delimiter = options.delimiter_text.clone().unwrap_or_else(|| byte(delimiter));
        let fields = &file.schema().fields;
        let has = |of: &dyn Fn(&Type) -> bool| fields.iter().any(|it| of(&it.data_type));
        let format = |given: Option<String>, is_used: bool, usual: &str| {
            given.or_else(|| is_used.then(|| usual.to_owned()))
        };
        let formats = || (0..fields.len()).map(|it| file.formats_of(it));
        let dates = formats().find_map(|it| it.date).map(|it| it.format);
        let timestamps = formats().find_map(|it| it.timestamp).map(|it| it.format);
        let is_timestamp = |it: &Type| *it.storage() == Type::Timestamp;
        Ok(Found {
            delimiter,
            quote: byte(options.form.quote),
            escape: byte(options.form.escape.or(options.form.quote)),
            new_line: file.line_end(pool)?,
            comment: byte(options.form.comment),
            skip: options.skip_lines,
            has_header: file.has_header(),
            columns: fields.iter().map(|it| (it.name.clone(), it.data_type.to_string())).collect(),
            date_format: format(dates, has(&|it| *it == Type::Date), DATE_FORMAT),
            timestamp_format: format(timestamps, has(&is_timestamp), TIMESTAMP_FORMAT),
        })
    }

    fn row(self, path: &str, given: &str) -> Vec<Value> {
        let prompt = self.prompt(path, given);
        let text = |it: &str| Value::text(if it.is_empty() { "(empty)" } else { it });
        let optional = |it: Option<String>| it.map_or(Value::Null, Value::text);
        let column =
            |(name, of): (String, String)| Value::Row([Value::text(name), Value::text(of)].into());
        vec![
            text(&self.delimiter),
            text(&self.quote),
            text(&self.escape),
            Value::text(self.new_line),
            text(&self.comment),
            Value::BigInt(i64::try_from(self.skip).unwrap_or(i64::MAX)),
            Value::Boolean(self.has_header),
            Value::Array(self.columns.into_iter().map(column).collect()),
            optional(self.date_format),
            optional(self.timestamp_format),
            Some(given).filter(|it| !it.is_empty()).map_or(Value::Null, Value::text),
            Value::text(prompt),
        ]
    }

    /// The statement that reads the file with all that was found out.
    fn prompt(&self, path: &str, given: &str) -> String {
        let columns = self.columns.iter();
        let columns: Vec<String> =
            columns.map(|it| format!("{}: {}", quoted_text(&it.0), quoted_text(&it.1))).collect();
        let mut parts = vec!["auto_detect=false".to_owned()];
        let mut add = |names: &[&str], value: String| {
            let is_given = names.iter().any(|it| given.contains(&format!("{it}=")));
            if let (false, Some(name)) = (is_given, names.first()) {
                parts.push(format!("{name}={value}"));
            }
        };
        add(&["delim", "sep", "delimiter"], quoted_text(&self.delimiter));
        add(&["quote"], quoted_text(&self.quote));
        add(&["escape"], quoted_text(&self.escape));
        add(&["new_line"], quoted_text(self.new_line));
        add(&["skip"], self.skip.to_string());
        add(&["comment"], quoted_text(&self.comment));
        add(&["header"], self.has_header.to_string());
        add(&["columns"], format!("{{{}}}", columns.join(", ")));
        if let Some(format) = &self.date_format {
            add(&["dateformat", "date_format"], quoted_text(format));
        }
        if let Some(format) = &self.timestamp_format {
            add(&["timestampformat", "timestamp_format"], quoted_text(format));
        }
        parts.extend(Some(given).filter(|it| !it.is_empty()).map(str::to_owned));
        format!("FROM read_csv({}, {});", quoted_text(path), parts.join(", "))
    }
}

/// A value as an argument of a statement.
fn literal(value: &Value, data_type: &Type) -> String {
    match value {
        Value::Varchar(text) => quoted_text(text),
        value => value.display(data_type).to_string(),
    }
}
