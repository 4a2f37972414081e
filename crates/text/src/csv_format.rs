//! Detects the format of a CSV file from its beginning: delimiter, header, types.

use crate::{
    csv_decode::CsvShape,
    csv_options::{CsvReadOptions, SAMPLE_ROWS},
    csv_sample::{Fields, Sample},
    csv_split::{Record, Splitter},
    input::FileStream,
    reader::{CSV_BYTES_PER_VALUE, DECODER_BYTES_PER_BYTE},
    text_type::{CANDIDATES, TextFormats, TextType, is_short_integer},
    time_guess::TimeGuess,
};
use std::collections::{HashMap, HashSet};
use volley_error::{Error, Result};
use volley_memory::{Pool, Reservation, check_cancelled};
use volley_types::{Field, Schema, Type, nearest_name};

/// The delimiter of options that say nothing, where nothing is detected.
const DELIMITER: u8 = b',';

/// What was found out about a file.
pub(crate) struct Detected {
    pub shape: CsvShape,
    pub schema: Schema,
    /// For each of the first columns, how its dates or timestamps are written, if that was
    /// detected.
    pub formats: Vec<Option<TextFormats>>,
}

/// Bytes that are looked at once, which are charged before it is known where their line ends.
const PIECE_BYTES: usize = 64 << 10;

/// The text of a file whose delimiter is known.
struct Text {
    stream: FileStream,
    delimiter: u8,
    reservation: Reservation,
}

impl Text {
    /// Charges what is held: the bytes of the line so far, and where its fields end. Looks whether
    /// anybody still wants to know when more was read.
    fn charge(&mut self, held: usize, line: &Splitter) -> Result<()> {
        let fields = line.record().len().saturating_mul(CSV_BYTES_PER_VALUE);
        let bytes = held.saturating_mul(DECODER_BYTES_PER_BYTE).saturating_add(fields);
        if bytes > self.reservation.bytes() {
            check_cancelled()?;
        }
        self.reservation.resize(bytes)
    }
}

/// Finds out from the beginning of a file what the options do not say. `pool` is charged with what
/// that takes meanwhile.
///
/// # Errors
///
/// Corruption, when nothing is there to tell the columns. Invalid query: options that do not fit.
/// Out of memory, when a line is too long.
pub(crate) fn detect_format(
    open: impl Fn() -> Result<FileStream>,
    options: &CsvReadOptions,
    pool: &Pool,
) -> Result<Detected> {
    let known = || Detected {
        shape: CsvShape {
            delimiter: options.delimiter.unwrap_or(DELIMITER),
            has_header: options.has_header.unwrap_or(false),
            width: options.columns.len(),
        },
        schema: named_schema(&options.columns),
        formats: Vec::new(),
    };
    if !options.auto_detect {
        return Ok(known());
    }
    let mut reservation = pool.reservation();
    let mut stream = open()?;
    let mut sample = Sample::read(&mut stream, &mut reservation)?;
    if sample.is_blank() {
        return match options.columns.is_empty() {
            true => Err(Error::corruption("CSV file without a header")),
            false => Ok(known()),
        };
    }
    let (delimiter, lines) = sample.lines_of(&mut stream, options, &mut reservation)?;
    let rows = &lines.rows;
    let (first, rest) = rows.split_first().ok_or_else(|| Error::corruption("empty CSV file"))?;
    let longest = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = if options.null_padding { longest } else { first.len() };
    let mut guesses = vec![Guess::new(options); width];
    rest.iter().for_each(|it| learn(&mut guesses, it, &options.formats));
    let has_more = !sample.is_whole || rows.len() as u64 >= SAMPLE_ROWS;
    if has_more && options.sample_rows > rows.len() as u64 {
        let text = Text { stream: open()?, delimiter, reservation: pool.reservation() };
        learn_more(&mut guesses, text, options, rows.len())?;
    }
    let has_header = options.has_header.unwrap_or_else(|| {
        let formats =
            guesses.iter().map(|it| it.formats().unwrap_or_else(|| options.formats.clone()));
        is_header(first, &guesses, rest, &formats.collect::<Vec<_>>())
    });
    if !has_header {
        learn(&mut guesses, first, &options.formats);
    }
    if !options.columns.is_empty() {
        check_width(width, options)?;
        let width = options.columns.len();
        let shape = CsvShape { delimiter, has_header, width };
        return Ok(Detected { shape, ..known() });
    }
    let schema = schema_of(has_header.then_some(first), &guesses, options)?;
    let formats = guesses.iter().map(Guess::formats).collect();
    Ok(Detected { shape: CsvShape { delimiter, has_header, width }, schema, formats })
}

/// What a column may be.
#[derive(Clone, Debug)]
struct Guess {
    /// The candidates that hold all values so far.
    types: Vec<TextType>,
    /// How dates and timestamps may be written that are not of these types.
    times: TimeGuess,
    has_values: bool,
}

impl Guess {
    fn new(options: &CsvReadOptions) -> Guess {
        let is_given = options.formats.date.is_some() || options.formats.timestamp.is_some();
        let times = TimeGuess::new(options.read_time.filter(|_| !is_given));
        Guess { types: CANDIDATES.to_vec(), times, has_values: false }
    }

    /// Learns from a value.
    fn learn(&mut self, text: &str, formats: &TextFormats) {
        self.has_values = true;
        let is_integer = is_short_integer(text);
        self.types.retain(|it| match it {
            TextType::BigInt | TextType::HugeInt | TextType::Double if is_integer => true,
            _ => it.accepts_as(text, formats),
        });
        self.times.learn(text);
    }

    /// The first type that holds all; text, when nothing is there.
    fn best(&self) -> TextType {
        match self.formats() {
            Some(formats) if formats.date.is_some() => TextType::Date,
            Some(_) => TextType::Timestamp,
            None => self.plain(),
        }
    }

    fn plain(&self) -> TextType {
        let first = self.types.first().copied().filter(|_| self.has_values);
        first.unwrap_or(TextType::Varchar)
    }

    /// How dates or timestamps are written, where the values are of no other type but text.
    fn formats(&self) -> Option<TextFormats> {
        if !self.has_values || self.plain() != TextType::Varchar {
            return None;
        }
        self.times.dates().or_else(|| self.times.timestamps())
    }
}

/// Learns from a line.
fn learn(guesses: &mut [Guess], row: &Fields, formats: &TextFormats) {
    for (guess, (text, is_null)) in guesses.iter_mut().zip(row) {
        if !is_null {
            guess.learn(text, formats);
        }
    }
}

/// As [`learn`], without keeping the fields.
fn learn_record(guesses: &mut [Guess], record: &Record, options: &CsvReadOptions) {
    for (guess, (text, is_quoted)) in guesses.iter_mut().zip(record.fields()) {
        if !options.is_null(text, is_quoted) {
            guess.learn(&String::from_utf8_lossy(text), &options.formats);
        }
    }
}

/// Learns from the lines behind the first `passed` ones.
fn learn_more(
    guesses: &mut [Guess],
    mut text: Text,
    options: &CsvReadOptions,
    passed: usize,
) -> Result<()> {
    let mut splitter = Splitter::new(&options.form, text.delimiter, 1);
    // Bytes of the line so far.
    let (mut rows, mut held) = (0, 0_usize);
    while rows < options.sample_rows {
        let there = text.stream.fill()?.len().min(PIECE_BYTES);
        held = held.saturating_add(there);
        text.charge(held, &splitter)?;
        let bytes = text.stream.bytes().get(..there).unwrap_or_default();
        let is_end = bytes.is_empty();
        let (taken, mut is_complete) = splitter.push(bytes);
        held -= bytes.len() - taken;
        text.stream.consume(taken);
        if is_end {
            is_complete = splitter.finish();
        }
        held = if is_complete { 0 } else { held };
        let record = splitter.record();
        if is_complete && record.wrong.is_none() && !record.is_blank() {
            rows += 1;
            if rows > passed as u64 {
                learn_record(guesses, record, options);
            }
        }
        if is_end {
            return Ok(());
        }
    }
    Ok(())
}

/// A first line is a header when a column has a type that it does not fit; when all is text, it is
/// one, too. A NULL fits every type, but a line of NULLs alone is a header without names.
fn is_header(first: &Fields, guesses: &[Guess], rest: &[Fields], formats: &[TextFormats]) -> bool {
    let has_names = first.iter().any(|(_, is_null)| !is_null);
    let fits = |text: &str, is_null: bool, (column, formats): (TextType, &TextFormats)| match column
    {
        TextType::Varchar => true,
        _ if is_null => has_names,
        column => column.accepts_as(text, formats),
    };
    let mut columns = first.iter().zip(guesses.iter().map(Guess::best).zip(formats));
    if columns.any(|((text, is_null), column)| !fits(text, *is_null, column)) {
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

/// Names from the header, or by number, and from the options; types as detected, or from there.
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
    // As they are compared.
    let mut taken = HashSet::with_capacity(width);
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for index in 0..width {
        let given = options.names.get(index);
        let written = header.get(index).map(|it| &it.0).filter(|it| !it.is_empty());
        let name = given.or(written).cloned().unwrap_or_else(|| format!("column{index}"));
        let mut unique = name.clone();
        let number = numbers.entry(name.to_ascii_lowercase()).or_insert(0);
        while !taken.insert(unique.to_ascii_lowercase()) {
            *number += 1;
            unique = format!("{name}_{number}");
        }
        names.push(unique);
    }
    names
}
