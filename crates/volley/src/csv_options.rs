//! The options for reading CSV, shared by `read_csv` and COPY FROM.

use crate::readers::{Types, unknown_option};
use volley_connector::TableOption;
use volley_error::{Error, Result};
use volley_text::{
    Compression, CsvReadOptions, Encoding, LONG_DELIMITER, NO_DELIMITER, NewLine, TimeFormat,
};
use volley_types::{Type, Value};

/// The longest delimiter.
const DELIMITER_BYTES_MAX: usize = 4;

/// An option.
struct CsvOption {
    /// Its names, the usual one first.
    names: &'static [&'static str],
    /// Whether COPY FROM takes it, too, where the table says what the columns are.
    is_for_copy: bool,
    set: Set,
}

type Set = fn(&mut CsvReadOptions, &TableOption, Types<'_>) -> Result<()>;

const fn both(names: &'static [&'static str], set: Set) -> CsvOption {
    CsvOption { names, is_for_copy: true, set }
}

const fn reading(names: &'static [&'static str], set: Set) -> CsvOption {
    CsvOption { names, is_for_copy: false, set }
}

const OPTIONS: [CsvOption; 24] = [
    both(&["delimiter", "delim", "sep"], set_delimiter),
    both(&["header"], |options, it, _| {
        options.has_header = Some(it.boolean()?);
        Ok(())
    }),
    both(&["quote"], |options, it, _| {
        options.form.quote = it.byte()?;
        Ok(())
    }),
    both(&["escape"], |options, it, _| {
        options.form.escape = it.byte()?;
        Ok(())
    }),
    both(&["nullstr", "null"], |options, it, _| {
        options.nulls = it.texts()?;
        Ok(())
    }),
    both(&["allow_quoted_nulls"], |options, it, _| {
        options.allow_quoted_nulls = it.boolean()?;
        Ok(())
    }),
    both(&["skip"], |options, it, _| {
        options.skip_lines = it.count()?;
        Ok(())
    }),
    both(&["comment"], |options, it, _| {
        options.form.comment = it.byte()?;
        Ok(())
    }),
    both(&["new_line"], set_new_line),
    both(&["strict_mode"], |options, it, _| {
        options.form.is_strict = it.boolean()?;
        Ok(())
    }),
    both(&["null_padding"], |options, it, _| {
        options.null_padding = it.boolean()?;
        Ok(())
    }),
    both(&["max_line_size", "maximum_line_size"], |options, it, _| {
        options.form.line_bytes_max = it.count()?;
        Ok(())
    }),
    both(&["encoding"], set_encoding),
    both(&["compression"], |options, it, _| {
        options.compression = compression(it)?;
        Ok(())
    }),
    reading(&["columns"], |options, it, types| {
        options.columns = named_types(it, types)?;
        Ok(())
    }),
    reading(&["types", "column_types", "dtypes"], set_types),
    reading(&["names", "column_names"], set_names),
    reading(&["dateformat", "date_format"], |options, it, _| {
        options.formats.date = Some(time_format(it)?);
        Ok(())
    }),
    reading(&["timestampformat", "timestamp_format"], |options, it, _| {
        options.formats.timestamp = Some(time_format(it)?);
        Ok(())
    }),
    reading(&["decimal_separator"], |options, it, _| {
        options.formats.has_decimal_comma = match it.text()? {
            "." => false,
            "," => true,
            _ => return Err(it.misfit("'.' or ','")),
        };
        Ok(())
    }),
    reading(&["all_varchar"], |options, it, _| {
        options.all_varchar = it.boolean()?;
        Ok(())
    }),
    reading(&["ignore_errors"], |options, it, _| {
        options.ignore_errors = it.boolean()?;
        Ok(())
    }),
    reading(&["sample_size"], |options, it, _| {
        options.sample_rows = match it.integer() {
            Some(-1) => u64::MAX,
            _ => it
                .count()
                .ok()
                .filter(|it| *it > 0)
                .ok_or_else(|| it.misfit("a number of lines, or -1 for all"))?,
        };
        Ok(())
    }),
    reading(&["auto_detect"], |options, it, _| {
        options.auto_detect = it.boolean()?;
        Ok(())
    }),
];

/// The statement that reads CSV.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CsvReader {
    /// A function in FROM.
    Function,
    /// COPY FROM.
    Copy,
}

impl CsvReader {
    fn takes(self, option: &CsvOption) -> bool {
        option.is_for_copy || self == CsvReader::Function
    }

    /// Whether there is an option of this name.
    pub(crate) fn knows(self, name: &str) -> bool {
        OPTIONS.iter().any(|it| self.takes(it) && it.names.contains(&name))
    }

    /// The usual names of all options.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        OPTIONS.iter().filter(move |it| self.takes(it)).filter_map(|it| it.names.first().copied())
    }
}

/// Parses options; all of them must be known.
///
/// # Errors
///
/// Invalid query: an unknown option, or two that exclude each other. Invalid value.
pub(crate) fn read_csv_options<'o>(
    options: &mut CsvReadOptions,
    written: impl IntoIterator<Item = &'o TableOption>,
    reader: CsvReader,
    types: Types<'_>,
) -> Result<()> {
    let mut seen: Vec<(&str, &TableOption)> = Vec::new();
    for option in written {
        let is_it = |it: &&CsvOption| reader.takes(it) && it.names.contains(&option.name.as_str());
        let found = OPTIONS.iter().find(is_it);
        let found = found.ok_or_else(|| unknown_option(option, reader.names()))?;
        let name = found.names.first().copied().unwrap_or_default();
        if let Some((_, other)) = seen.iter().find(|it| it.0 == name) {
            let message = format!("options {} and {} are the same", other.name, option.name);
            return Err(Error::invalid_query(message).span(option.name_span));
        }
        (found.set)(options, option, types)?;
        seen.push((name, option));
    }
    let option = |name: &str| seen.iter().find(|it| it.0 == name).map(|it| it.1);
    check_together(options, &option)
}

/// Refuses options that exclude each other.
fn check_together<'o>(
    options: &CsvReadOptions,
    option: &impl Fn(&str) -> Option<&'o TableOption>,
) -> Result<()> {
    let at = |name: &str, error: Error| error.span(option(name).and_then(|it| it.name_span));
    let meanings = [
        ("delimiter", options.delimiter),
        ("quote", options.form.quote),
        ("comment", options.form.comment),
    ];
    for (index, (first, byte)) in meanings.iter().enumerate() {
        let mut others = meanings.iter().skip(index + 1);
        if let Some((second, _)) = others.find(|it| byte.is_some() && it.1 == *byte) {
            let message = format!("options {first} and {second} are the same character");
            let name = if option(second).is_some() { second } else { first };
            return Err(at(name, Error::invalid_value(message)));
        }
    }
    if !options.columns.is_empty() {
        for other in ["types", "names", "all_varchar"] {
            if let Some(option) = option(other) {
                let message = format!("options columns and {} exclude each other", option.name);
                return Err(at(other, Error::invalid_query(message)));
            }
        }
    } else if !options.auto_detect {
        let error = Error::invalid_query("auto_detect = false needs the option columns");
        return Err(at("auto_detect", error).hint("such as columns = {'a': 'INTEGER'}"));
    }
    Ok(())
}

fn set_delimiter(options: &mut CsvReadOptions, it: &TableOption, _: Types<'_>) -> Result<()> {
    let text = it.text()?;
    if text.len() > 1 && text != "\\t" {
        let is_right = text.len() <= DELIMITER_BYTES_MAX
            && !text.contains(['\n', '\r', '\0'])
            && !text.starts_with('"');
        if !is_right {
            return Err(it.misfit("one to four bytes that are no quote and do not end lines"));
        }
        options.delimiter = Some(LONG_DELIMITER);
        options.delimiter_text = Some(text.to_owned());
        return Ok(());
    }
    options.delimiter = Some(it.byte()?.unwrap_or(NO_DELIMITER));
    Ok(())
}

fn set_new_line(options: &mut CsvReadOptions, it: &TableOption, _: Types<'_>) -> Result<()> {
    options.form.new_line = match it.text()? {
        "\\n" | "\n" => NewLine::Lf,
        "\\r" | "\r" => NewLine::Cr,
        "\\r\\n" | "\r\n" => NewLine::CrLf,
        _ => return Err(it.misfit("'\\n', '\\r' or '\\r\\n'")),
    };
    Ok(())
}

fn set_encoding(options: &mut CsvReadOptions, it: &TableOption, _: Types<'_>) -> Result<()> {
    options.encoding = match it.text()?.to_ascii_lowercase().as_str() {
        "utf-8" | "utf8" => Encoding::Utf8,
        "utf-16" | "utf16" => Encoding::Utf16,
        "latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" => Encoding::Latin1,
        other => {
            let error = Error::unsupported(format!("unsupported encoding: {other}"));
            return Err(error.span(it.span).hint("there are utf-8, utf-16 and latin-1"));
        }
    };
    Ok(())
}

/// How a text file is compressed; `None`: as its name says.
pub(crate) fn compression(option: &TableOption) -> Result<Option<Compression>> {
    Ok(Some(match option.text()?.to_ascii_lowercase().as_str() {
        "auto" | "auto_detect" => return Ok(None),
        "none" | "uncompressed" => Compression::None,
        "gzip" => Compression::Gzip,
        "zstd" => Compression::Zstd,
        other => {
            let error = Error::unsupported(format!("unsupported compression: {other}"));
            return Err(error.span(option.span).hint("write auto, none, gzip or zstd"));
        }
    }))
}

/// `{'name': 'TYPE', ...}`.
pub(crate) fn named_types(option: &TableOption, types: Types<'_>) -> Result<Vec<(String, Type)>> {
    let mut named: Vec<(String, Type)> = Vec::new();
    for (field, value) in option.fields()? {
        if named.iter().any(|it| it.0.eq_ignore_ascii_case(&field.name)) {
            let message = format!("option {} names {} twice", option.name, field.name);
            return Err(Error::invalid_value(message).span(option.span));
        }
        named.push((field.name.clone(), type_of(option, value, types)?));
    }
    Ok(named)
}

fn type_of(option: &TableOption, value: &Value, types: Types<'_>) -> Result<Type> {
    let text = value.as_str();
    let text = text.ok_or_else(|| option.misfit("names of types, such as 'INTEGER'"))?;
    types(text).map_err(|it| it.span(option.span))
}

fn set_types(options: &mut CsvReadOptions, it: &TableOption, types: Types<'_>) -> Result<()> {
    match &it.value {
        Value::Array(values) => {
            let all = values.iter().map(|value| type_of(it, value, types));
            options.types = all.collect::<Result<_>>()?;
        }
        Value::Row(_) => options.types_by_name = named_types(it, types)?,
        _ => return Err(it.misfit("a list of types, or a row such as {'name': 'TYPE'}")),
    }
    Ok(())
}

fn set_names(options: &mut CsvReadOptions, it: &TableOption, _: Types<'_>) -> Result<()> {
    let names = it.texts()?;
    for (index, name) in names.iter().enumerate() {
        if names.iter().take(index).any(|it| it.eq_ignore_ascii_case(name)) {
            let message = format!("option {} has {name} twice", it.name);
            return Err(Error::invalid_value(message).span(it.span));
        }
    }
    options.names = names;
    Ok(())
}

fn time_format(option: &TableOption) -> Result<TimeFormat> {
    let format = option.text()?;
    volley_functions::check_time_format(format).map_err(|it| it.span(option.span))?;
    Ok(TimeFormat { format: format.to_owned(), read: volley_functions::read_timestamp })
}
