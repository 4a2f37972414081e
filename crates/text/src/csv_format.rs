//! What a CSV file looks like, from its beginning: delimiter, header, types.

use crate::{
    csv_decode::CsvShape,
    csv_options::{CsvReadOptions, SAMPLE_ROWS},
    csv_split::{Record, Splitter},
    input::FileStream,
    text_type::{CANDIDATES, TextFormats, TextType},
};
use volley_error::{Error, Result};
use volley_types::{Field, Schema, Type, nearest_name};

/// What delimiter and header are found out from.
const SAMPLE_BYTES: usize = 4 << 20;

/// In the order of preference.
const DELIMITERS: [u8; 4] = [b',', b'|', b';', b'\t'];

/// The delimiter of options that say nothing, where nothing is found out.
const DELIMITER: u8 = b',';

/// The beginning of a file.
struct Sample {
    text: Vec<u8>,
    /// Whether it is all of the file.
    is_whole: bool,
}

/// Fields of a line: their text, and whether they are NULL.
type Fields = Vec<(String, bool)>;

/// Finds out from the beginning of a file what the options do not say.
///
/// # Errors
///
/// Corruption, when nothing is there to tell the columns. Invalid query: options that do not fit.
pub(crate) fn detect_format(
    open: impl Fn() -> Result<FileStream>,
    options: &CsvReadOptions,
) -> Result<(CsvShape, Schema)> {
    let known = || CsvShape {
        delimiter: options.delimiter.unwrap_or(DELIMITER),
        has_header: options.has_header.unwrap_or(false),
        width: options.columns.len(),
    };
    if !options.auto_detect {
        return Ok((known(), named_schema(&options.columns)));
    }
    let mut stream = open()?;
    let sample = Sample::read(&mut stream)?;
    if sample.text.iter().all(u8::is_ascii_whitespace) {
        return match options.columns.is_empty() {
            true => Err(Error::corruption("CSV file without a header")),
            false => Ok((known(), named_schema(&options.columns))),
        };
    }
    let (delimiter, rows) = sample.split(options)?;
    let (first, rest) = rows.split_first().ok_or_else(|| Error::corruption("empty CSV file"))?;
    let longest = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = if options.null_padding { longest } else { first.len() };
    let mut guesses = vec![Guess::default(); width];
    rest.iter().for_each(|it| learn(&mut guesses, it, &options.formats));
    let has_more = !sample.is_whole || rows.len() as u64 >= SAMPLE_ROWS;
    if has_more && options.sample_rows > rows.len() as u64 {
        learn_more(&mut guesses, open()?, delimiter, options, rows.len())?;
    }
    let has_header = options.has_header.unwrap_or_else(|| is_header(first, &guesses, rest));
    if !has_header {
        learn(&mut guesses, first, &options.formats);
    }
    if !options.columns.is_empty() {
        check_width(width, options)?;
        let width = options.columns.len();
        return Ok((CsvShape { delimiter, has_header, width }, named_schema(&options.columns)));
    }
    let schema = schema_of(has_header.then_some(first), &guesses, options)?;
    Ok((CsvShape { delimiter, has_header, width }, schema))
}

impl Sample {
    fn read(stream: &mut FileStream) -> Result<Sample> {
        let mut text = Vec::new();
        loop {
            let bytes = stream.fill()?;
            if bytes.is_empty() {
                return Ok(Sample { text, is_whole: true });
            }
            let count = bytes.len().min(SAMPLE_BYTES - text.len());
            text.extend_from_slice(bytes.get(..count).unwrap_or_default());
            stream.consume(count);
            if text.len() >= SAMPLE_BYTES {
                return Ok(Sample { text, is_whole: stream.fill()?.is_empty() });
            }
        }
    }

    /// The likeliest delimiter, and the lines that it makes.
    fn split(&self, options: &CsvReadOptions) -> Result<(u8, Vec<Fields>)> {
        let mut candidates = DELIMITERS.to_vec();
        // What has a meaning is no delimiter.
        let form = &options.form;
        let comma = options.formats.has_decimal_comma.then_some(b',');
        let taken = [form.quote, form.escape, form.comment, comma];
        candidates.retain(|it| !taken.contains(&Some(*it)));
        if let Some(delimiter) = options.delimiter {
            candidates = vec![delimiter];
        }
        let is_lenient = options.null_padding || options.ignore_errors || !options.form.is_strict;
        let mut best: Option<(usize, u8, Vec<Fields>)> = None;
        for delimiter in candidates {
            let (rows, is_right) = self.lines(delimiter, options);
            let first = rows.first().map_or(0, Vec::len);
            let is_even = is_right && rows.iter().all(|it| it.len() == first);
            let width = if first > 1 && (is_even || is_lenient) { first } else { 0 };
            if best.as_ref().is_none_or(|it| width > it.0) {
                best = Some((width, delimiter, rows));
            }
        }
        let best = best.ok_or_else(|| Error::internal("no delimiter"))?;
        Ok((best.1, best.2))
    }

    /// The fields of its lines, and whether all lines are right; the last line is left out when
    /// it may be cut.
    fn lines(&self, delimiter: u8, options: &CsvReadOptions) -> (Vec<Fields>, bool) {
        let mut splitter = Splitter::new(&options.form, delimiter, 1);
        let (mut rows, mut is_right, mut rest) = (Vec::new(), true, self.text.as_slice());
        let rows_max = options.sample_rows.clamp(1, SAMPLE_ROWS);
        while (rows.len() as u64) < rows_max {
            let (taken, mut is_complete) = splitter.push(rest);
            rest = rest.get(taken..).unwrap_or_default();
            if !is_complete {
                is_complete = self.is_whole && splitter.finish();
            }
            if !is_complete {
                break;
            }
            let record = splitter.record();
            is_right &= record.wrong.is_none();
            if record.wrong.is_none() && !record.is_blank() {
                rows.push(fields_of(record, options));
            }
        }
        (rows, is_right)
    }
}

fn fields_of(record: &Record, options: &CsvReadOptions) -> Fields {
    let field = |(text, is_quoted): (&[u8], bool)| {
        (String::from_utf8_lossy(text).into_owned(), options.is_null(text, is_quoted))
    };
    record.fields().map(field).collect()
}

/// What a column may be.
#[derive(Clone, Debug)]
struct Guess {
    /// The candidates that hold all values so far.
    types: Vec<TextType>,
    has_values: bool,
}

impl Default for Guess {
    fn default() -> Guess {
        Guess { types: CANDIDATES.to_vec(), has_values: false }
    }
}

impl Guess {
    /// The first type that holds all; text, when nothing is there.
    fn best(&self) -> TextType {
        let first = self.types.first().copied().filter(|_| self.has_values);
        first.unwrap_or(TextType::Varchar)
    }
}

/// Learns from a line.
fn learn(guesses: &mut [Guess], row: &Fields, formats: &TextFormats) {
    for (guess, (text, is_null)) in guesses.iter_mut().zip(row) {
        if !is_null {
            guess.has_values = true;
            guess.types.retain(|it| it.accepts_as(text, formats));
        }
    }
}

/// Learns from the lines behind the first `passed` ones.
fn learn_more(
    guesses: &mut [Guess],
    mut stream: FileStream,
    delimiter: u8,
    options: &CsvReadOptions,
    passed: usize,
) -> Result<()> {
    let mut splitter = Splitter::new(&options.form, delimiter, 1);
    let mut rows = 0;
    while rows < options.sample_rows {
        let bytes = stream.fill()?;
        let is_end = bytes.is_empty();
        let (taken, mut is_complete) = splitter.push(bytes);
        stream.consume(taken);
        if is_end {
            is_complete = splitter.finish();
        }
        let record = splitter.record();
        if is_complete && record.wrong.is_none() && !record.is_blank() {
            rows += 1;
            if rows > passed as u64 {
                learn(guesses, &fields_of(record, options), &options.formats);
            }
        }
        if is_end {
            return Ok(());
        }
    }
    Ok(())
}

/// A first line is a header when a column has a type that it does not fit; when all is text, it is
/// one, too.
fn is_header(first: &Fields, guesses: &[Guess], rest: &[Fields]) -> bool {
    let mut columns = first.iter().zip(guesses.iter().map(Guess::best));
    if columns.any(|((text, _), it)| it != TextType::Varchar && !it.accepts(text)) {
        return true;
    }
    let is_text =
        |text: &str| CANDIDATES.iter().find(|it| it.accepts(text)) == Some(&TextType::Varchar);
    let all_text = guesses.iter().all(|it| it.best() == TextType::Varchar) || rest.is_empty();
    all_text && first.iter().all(|it| !it.0.is_empty() && is_text(&it.0))
}

fn named_schema(columns: &[(String, Type)]) -> Schema {
    columns.iter().map(|(name, data_type)| Field::new(name, data_type.clone())).collect()
}

/// Refuses columns that are not those of the file.
fn check_width(found: usize, options: &CsvReadOptions) -> Result<()> {
    let wanted = options.columns.len();
    let is_lenient = options.ignore_errors || options.null_padding && found <= wanted;
    if found == wanted || is_lenient {
        return Ok(());
    }
    let message = format!("file has {found} columns, and the option columns names {wanted}");
    Err(Error::invalid_query(message).hint("it names all columns of the file, in their order"))
}

/// Names from the header, or by number, and from the options; types as found out, or from there.
fn schema_of(
    header: Option<&Fields>,
    guesses: &[Guess],
    options: &CsvReadOptions,
) -> Result<Schema> {
    let width = guesses.len();
    let given = [("names", options.names.len()), ("types", options.types.len())];
    if let Some((option, count)) = given.into_iter().find(|it| it.1 > width) {
        let message = format!("option {option} has {count} elements for {width} columns");
        return Err(Error::invalid_query(message));
    }
    let header = header.map_or(&[][..], |it| it.as_slice());
    let names = distinct_names(options, header, width);
    let types = guesses.iter().enumerate().map(|(index, guess)| {
        let given = options.types.get(index).cloned();
        let found = if options.all_varchar { TextType::Varchar } else { guess.best() };
        given.unwrap_or_else(|| found.data_type())
    });
    let fields = names.into_iter().zip(types).map(|(name, it)| Field::new(name, it));
    let mut schema: Schema = fields.collect();
    for (name, data_type) in &options.types_by_name {
        let place = schema.index_of(name).ok_or_else(|| {
            let error = Error::invalid_query(format!("no such column in the file: {name}"));
            let names = schema.fields.iter().map(|it| it.name.as_str());
            match nearest_name(name, names) {
                Some(nearest) => error.hint(format!("did you mean {nearest}?")),
                None => error,
            }
        })?;
        if let Some(field) = schema.fields.get_mut(place) {
            field.data_type = data_type.clone();
        }
    }
    Ok(schema)
}

/// Names as given, from a header, or by number; repeated ones get numbers.
fn distinct_names(
    options: &CsvReadOptions,
    header: &[(String, bool)],
    width: usize,
) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(width);
    for index in 0..width {
        let given = options.names.get(index);
        let written = header.get(index).map(|it| &it.0).filter(|it| !it.is_empty());
        let name = given.or(written).cloned().unwrap_or_else(|| format!("column{index}"));
        let taken =
            |name: &str, names: &[String]| names.iter().any(|it| it.eq_ignore_ascii_case(name));
        let mut unique = name.clone();
        let mut number = 1;
        while taken(&unique, &names) {
            unique = format!("{name}_{number}");
            number += 1;
        }
        names.push(unique);
    }
    names
}
