//! Options for reading CSV.

use crate::{
    csv_delimiter::with_delimiters,
    encoding::Encoding,
    input::Compression,
    rejects::Rejects,
    text_type::{TextFormats, TypeOrigin},
    time_guess::ReadTime,
};
use std::{borrow::Cow, sync::Arc};
use volley_types::Type;

/// The delimiter of lines of one field: a byte that no text has, which is UTF-8.
pub const NO_DELIMITER: u8 = 0xff;

/// How a CSV file is read. What is `None` or empty is detected from its beginning.
#[derive(Clone, Debug)]
pub struct CsvReadOptions {
    /// What stands between fields, quotes and the like.
    pub form: CsvForm,
    /// What stands between fields, or [`NO_DELIMITER`]; `None`: the likeliest of `,`, `|`, `;` and
    /// tabulators.
    pub delimiter: Option<u8>,
    /// A delimiter of several bytes; `delimiter` is [`LONG_DELIMITER`](crate::LONG_DELIMITER) then.
    pub delimiter_text: Option<String>,
    /// Whether the first line has the names of the columns.
    pub has_header: Option<bool>,
    /// How many lines at the beginning are no part of it.
    pub skip_lines: u64,
    /// Fields that are NULL.
    pub nulls: Vec<String>,
    /// Whether such fields are NULL in quotes, too.
    pub allow_quoted_nulls: bool,
    /// Names and types of all columns; nothing is detected about them then.
    pub columns: Vec<(String, Type)>,
    /// Types of the first columns.
    pub types: Vec<Type>,
    /// Types of columns by name.
    pub types_by_name: Vec<(String, Type)>,
    /// Names of the first columns, in the place of those in the file.
    pub names: Vec<String>,
    /// How dates, times and numbers are written.
    pub formats: TextFormats,
    /// What reads dates and timestamps in formats that are detected; `None`: none are.
    pub read_time: Option<ReadTime>,
    /// Whether types are not detected: columns are texts.
    pub all_varchar: bool,
    /// Whether lines that do not fit are left out.
    pub ignore_errors: bool,
    /// What collects them.
    pub rejects: Option<Arc<Rejects>>,
    /// Whether fields that a line lacks at its end are NULL.
    pub null_padding: bool,
    /// How many lines are looked at.
    pub sample_rows: u64,
    /// Whether something is detected: otherwise, what is not given is as by default.
    pub auto_detect: bool,
    /// How the file is compressed; `None`: as its name's ending tells.
    pub compression: Option<Compression>,
    /// How its characters are written.
    pub encoding: Encoding,
}

/// How lines are split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvForm {
    /// What stands around fields that contain delimiters; `None`: nothing does.
    pub quote: Option<u8>,
    /// What stands before a quote within quotes; `None`: another quote.
    pub escape: Option<u8>,
    /// What begins a comment, to the end of its line.
    pub comment: Option<u8>,
    /// What ends lines.
    pub new_line: NewLine,
    /// Whether text behind a closing quote, a quote that is not closed and lines that are too long
    /// are errors.
    pub is_strict: bool,
    /// The most bytes of a line.
    pub line_bytes_max: u64,
}

/// What ends lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewLine {
    /// Any of the others.
    Any,
    /// `\n`.
    Lf,
    /// `\r`.
    Cr,
    /// `\r\n`.
    CrLf,
}

/// Lines that are looked at, unless an option says it.
pub(crate) const SAMPLE_ROWS: u64 = 20_480;

impl Default for CsvReadOptions {
    fn default() -> CsvReadOptions {
        CsvReadOptions {
            form: CsvForm::default(),
            delimiter: None,
            delimiter_text: None,
            has_header: None,
            skip_lines: 0,
            nulls: vec![String::new()],
            allow_quoted_nulls: true,
            columns: Vec::new(),
            types: Vec::new(),
            types_by_name: Vec::new(),
            names: Vec::new(),
            formats: TextFormats::default(),
            read_time: None,
            all_varchar: false,
            ignore_errors: false,
            rejects: None,
            null_padding: false,
            sample_rows: SAMPLE_ROWS,
            auto_detect: true,
            compression: None,
            encoding: Encoding::Utf8,
        }
    }
}

impl Default for CsvForm {
    fn default() -> CsvForm {
        CsvForm {
            quote: Some(b'"'),
            escape: None,
            comment: None,
            new_line: NewLine::Any,
            is_strict: true,
            line_bytes_max: u64::MAX,
        }
    }
}

impl CsvReadOptions {
    /// The value of a field; `None`: NULL.
    pub(crate) fn value<'f>(&self, field: Option<(&'f [u8], bool)>) -> Option<Cow<'f, [u8]>> {
        let field = field.filter(|it| !self.is_null(it.0, it.1));
        field.map(|it| with_delimiters(it.0, self.delimiter_text.as_deref()))
    }

    /// Where the type of a column comes from.
    pub(crate) fn type_origin(&self, index: usize, name: &str) -> TypeOrigin {
        let is_named = |it: &(String, Type)| it.0.eq_ignore_ascii_case(name);
        let is_declared = !self.columns.is_empty()
            || index < self.types.len()
            || self.types_by_name.iter().any(is_named);
        if is_declared { TypeOrigin::Declared } else { TypeOrigin::Found }
    }

    /// Whether a field is NULL.
    pub(crate) fn is_null(&self, field: &[u8], is_quoted: bool) -> bool {
        (!is_quoted || self.allow_quoted_nulls)
            && self.nulls.iter().any(|it| it.as_bytes() == field)
    }
}
