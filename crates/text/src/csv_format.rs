//! What a CSV file looks like, from its beginning: delimiter, header, types.

use crate::text_type::{CANDIDATES, TextType};
use volley_error::{Error, Result};
use volley_types::{Field, Schema};

/// Lines that are looked at.
const SAMPLE_ROWS: usize = 20_480;

/// In the order of preference.
const DELIMITERS: [u8; 4] = [b',', b'|', b';', b'\t'];

/// What a file looks like.
#[derive(Clone, Debug)]
pub(crate) struct CsvFormat {
    pub delimiter: u8,
    pub has_header: bool,
    pub schema: Schema,
}

/// Finds out from the first bytes of a file; `is_whole`: there are no more.
pub(crate) fn detect_format(sample: &[u8], is_whole: bool) -> Result<CsvFormat> {
    if sample.iter().all(u8::is_ascii_whitespace) {
        return Err(Error::corruption("CSV file without a header"));
    }
    let candidates = DELIMITERS.map(|it| (it, split_sample(sample, is_whole, it)));
    let width = |rows: &Vec<Vec<String>>| {
        let first = rows.first().map_or(0, Vec::len);
        let is_even = rows.iter().all(|it| it.len() == first);
        if is_even && first > 1 { first } else { 0 }
    };
    let best = candidates.iter().map(|(_, rows)| width(rows)).max().unwrap_or_default();
    let chosen = candidates.into_iter().find(|(_, rows)| width(rows) == best);
    let (delimiter, rows) = chosen.ok_or_else(|| Error::internal("no delimiter"))?;
    let (first, rest) = rows.split_first().ok_or_else(|| Error::corruption("empty CSV file"))?;
    let types: Vec<TextType> = (0..first.len()).map(|column| type_of(rest, column)).collect();
    let has_header = is_header(first, &types, rest);
    let types = if has_header {
        types
    } else {
        (0..first.len()).map(|column| type_of(&rows, column)).collect()
    };
    let names = if has_header { header_names(first) } else { default_names(first.len()) };
    let fields = names.into_iter().zip(&types);
    let schema = fields.map(|(name, it)| Field::new(name, it.data_type())).collect();
    Ok(CsvFormat { delimiter, has_header, schema })
}

/// A first line is a header when a column has a type that it does not fit; when all is text, it is
/// one, too.
fn is_header(first: &[String], types: &[TextType], rest: &[Vec<String>]) -> bool {
    let mut columns = first.iter().zip(types);
    if columns.any(|(text, it)| *it != TextType::Varchar && !it.accepts(text)) {
        return true;
    }
    let is_text =
        |text: &String| CANDIDATES.iter().find(|it| it.accepts(text)) == Some(&TextType::Varchar);
    let all_text = types.iter().all(|it| *it == TextType::Varchar) || rest.is_empty();
    all_text && first.iter().all(|it| !it.is_empty() && is_text(it))
}

/// Names from a header; empty and repeated ones get numbers.
fn header_names(first: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(first.len());
    for (index, text) in first.iter().enumerate() {
        let name = if text.is_empty() { format!("column{index}") } else { text.clone() };
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

fn default_names(columns: usize) -> Vec<String> {
    (0..columns).map(|it| format!("column{it}")).collect()
}

/// The first type that holds all of a column; text, when nothing is there.
fn type_of(rows: &[Vec<String>], column: usize) -> TextType {
    let texts = || rows.iter().filter_map(|it| it.get(column)).filter(|it| !it.is_empty());
    if texts().next().is_none() {
        return TextType::Varchar;
    }
    let fits = |it: &TextType| texts().all(|text| it.accepts(text));
    CANDIDATES.into_iter().find(fits).unwrap_or(TextType::Varchar)
}

/// The fields of the sample's lines; the last line is left out when it may be cut.
fn split_sample(sample: &[u8], is_whole: bool, delimiter: u8) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), Vec::new());
    let (mut quoted, mut any) = (false, false);
    let mut bytes = sample.iter().copied().peekable();
    let text = |field: &mut Vec<u8>| String::from_utf8_lossy(&std::mem::take(field)).into_owned();
    while let Some(byte) = bytes.next() {
        any = true;
        match byte {
            b'"' if quoted && bytes.peek() == Some(&b'"') => {
                bytes.next();
                field.push(b'"');
            }
            b'"' if quoted || field.is_empty() => quoted = !quoted,
            _ if quoted => field.push(byte),
            b'\n' | b'\r' => {
                if byte == b'\r' && bytes.peek() == Some(&b'\n') {
                    bytes.next();
                }
                let is_blank = row.is_empty() && field.is_empty();
                row.push(text(&mut field));
                if !is_blank {
                    rows.push(std::mem::take(&mut row));
                }
                row.clear();
                any = false;
                if rows.len() == SAMPLE_ROWS {
                    return rows;
                }
            }
            _ if byte == delimiter => row.push(text(&mut field)),
            _ => field.push(byte),
        }
    }
    if any && is_whole {
        row.push(text(&mut field));
        rows.push(row);
    }
    rows
}
