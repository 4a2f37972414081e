//! Columns that folders called `key=value` give the files in them.

use crate::config::FileOptions;
use volley_error::{Error, Result};
use volley_text::TextType;
use volley_types::{Field, Type, Value, text};

/// What a folder is called whose rows have no value.
const NULL_FOLDER: &str = "__HIVE_DEFAULT_PARTITION__";

/// The columns that folders give.
#[derive(Debug, Default)]
pub(crate) struct Partitions {
    /// In the order of the folders.
    pub fields: Vec<Field>,
    /// For each file, a value per column.
    pub values: Vec<Vec<Value>>,
}

impl Partitions {
    /// The columns of files.
    ///
    /// # Errors
    ///
    /// Invalid query: files in folders of different keys. Invalid value: one that is not of the
    /// type that was asked for.
    pub fn of(paths: &[String], options: &FileOptions) -> Result<Partitions> {
        let none = Partitions { fields: Vec::new(), values: vec![Vec::new(); paths.len()] };
        if options.hive_partitioning == Some(false) {
            return Ok(none);
        }
        let found: Vec<_> = paths.iter().map(|it| pairs_of(it)).collect();
        let first = found.first().map_or(&[][..], |it| it.as_slice());
        for (path, pairs) in paths.iter().zip(&found) {
            let Some(key) = misfit(first, pairs) else { continue };
            if options.hive_partitioning.is_none() {
                return Ok(none);
            }
            let message = format!("no folder {key}=... above {path}, unlike other files");
            let error = Error::invalid_query(message);
            return Err(error.hint("hive_partitioning = false ignores the names of folders"));
        }
        let mut partitions = none;
        for (index, (key, _)) in first.iter().enumerate() {
            let texts = found.iter().filter_map(|it| it.get(index)?.1.as_deref());
            let data_type = type_of(key, texts, options);
            for (values, pairs) in partitions.values.iter_mut().zip(&found) {
                let text = pairs.get(index).and_then(|it| it.1.as_deref());
                values.push(value_of(key, text, &data_type)?);
            }
            partitions.fields.push(Field::new(key, data_type));
        }
        Ok(partitions)
    }

    /// Whether there is a column of this name.
    pub fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|it| it.name.eq_ignore_ascii_case(name))
    }
}

/// What the folder of a value is called: `key=value`, with `%20` and its like for all characters
/// but letters, digits and `-_.~`.
pub(crate) fn folder_of(key: &str, value: &Value, data_type: &Type) -> String {
    match value.is_null() {
        true => format!("{}={NULL_FOLDER}", encoded(key)),
        false => format!("{}={}", encoded(key), encoded(&value.display(data_type).to_string())),
    }
}

fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// Keys and values of the folders above a file; a value is `None` for no value.
fn pairs_of(path: &str) -> Vec<(String, Option<String>)> {
    let Some((folders, _)) = path.rsplit_once('/') else { return Vec::new() };
    let pair = |it: &str| {
        let (key, value) = it.split_once('=').filter(|it| !it.0.is_empty())?;
        let value = (value != NULL_FOLDER).then(|| decoded(value));
        Some((decoded(key), value))
    };
    folders.split('/').filter_map(pair).collect()
}

/// A key that only one of two files has.
fn misfit<'k>(
    first: &'k [(String, Option<String>)],
    other: &'k [(String, Option<String>)],
) -> Option<&'k str> {
    let lacks = |all: &[(String, Option<String>)], key: &str| all.iter().all(|it| it.0 != key);
    let missing = first.iter().find(|it| lacks(other, &it.0));
    let missing = missing.or_else(|| other.iter().find(|it| lacks(first, &it.0)));
    let moved = first.iter().zip(other).find(|(a, b)| a.0 != b.0).map(|it| it.0);
    missing
        .or(moved)
        .or_else(|| (first.len() != other.len()).then(|| first.last())?)
        .map(|it| it.0.as_str())
}

/// `%20` and its like as what they stand for.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|it| str::from_utf8(it).ok());
        let code = digits.filter(|it| it.bytes().all(|it| it.is_ascii_hexdigit()));
        match code.and_then(|it| u8::from_str_radix(it, 16).ok()).filter(|_| *byte == b'%') {
            Some(code) => {
                bytes.push(code);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*byte);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The type of a column: what was asked for, or the first one that holds all values.
fn type_of<'t>(
    key: &str,
    texts: impl Iterator<Item = &'t str> + Clone,
    options: &FileOptions,
) -> Type {
    if let Some((_, wanted)) = options.hive_types.iter().find(|it| it.0.eq_ignore_ascii_case(key)) {
        return wanted.clone();
    }
    let candidates = [TextType::BigInt, TextType::Date, TextType::Timestamp];
    let fits = |it: &TextType| texts.clone().all(|text| it.accepts(text));
    let found = candidates.into_iter().find(|it| options.hive_types_autocast && fits(it));
    let found = found.filter(|_| texts.clone().next().is_some());
    found.unwrap_or(TextType::Varchar).data_type()
}

fn value_of(key: &str, text: Option<&str>, data_type: &Type) -> Result<Value> {
    let Some(text) = text else { return Ok(Value::Null) };
    let value = match data_type {
        Type::Varchar => Some(Value::text(text)),
        Type::Boolean => text::parse_boolean(text).map(Value::Boolean),
        Type::Integer => text.parse().ok().map(Value::Integer),
        Type::BigInt => text.trim().parse().ok().map(Value::BigInt),
        Type::Double => text::parse_f64(text).map(Value::Double),
        Type::Date => text::parse_date(text).map(Value::Date),
        Type::Timestamp => text::parse_timestamp(text).map(Value::Timestamp),
        other => {
            let message = format!("a folder's column of type {other}: {key}");
            let error = Error::unsupported(message);
            return Err(error.hint(
                "such columns are VARCHAR, BOOLEAN, INTEGER, BIGINT, DOUBLE, DATE or TIMESTAMP",
            ));
        }
    };
    value.ok_or_else(|| {
        Error::invalid_value(format!("not a {data_type}: '{text}'")).at("folder", key)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partitions(paths: &[&str], hive: Option<bool>) -> Result<Partitions> {
        let paths: Vec<String> = paths.iter().map(|it| (*it).to_owned()).collect();
        Partitions::of(&paths, &FileOptions { hive_partitioning: hive, ..FileOptions::default() })
    }

    #[test]
    fn folders_give_columns() {
        let found =
            partitions(&["t/k=1/s=a%20b/f.csv", "t/k=2/s=__HIVE_DEFAULT_PARTITION__/f"], None);
        let found = found.unwrap();
        let fields = [Field::new("k", Type::BigInt), Field::new("s", Type::Varchar)];
        assert_eq!(found.fields, fields);
        assert_eq!(found.values[0], [Value::BigInt(1), Value::text("a b")]);
        assert_eq!(found.values[1], [Value::BigInt(2), Value::Null]);
    }

    #[test]
    fn folders_of_values_are_read_back() {
        for text in ["a b/c", "x=1&y", "%41", "ä", "", "..", "NULL"] {
            let folder = folder_of("k=", &Value::text(text), &Type::Varchar);
            assert!(!folder.contains(['/', ' ']), "{folder}");
            let pairs = pairs_of(&format!("t/{folder}/f.csv"));
            assert_eq!(pairs, [("k=".to_owned(), Some(text.to_owned()))]);
        }
        let null = folder_of("k", &Value::Null, &Type::Date);
        assert_eq!(pairs_of(&format!("{null}/f")), [("k".to_owned(), None)]);
        assert_eq!(folder_of("d", &Value::Date(0), &Type::Date), "d=1970-01-01");
    }

    #[test]
    fn folders_of_some_files_alone_give_none() {
        for paths in
            [["k=1/f", "f"], ["f", "k=1/f"], ["k=1/l=1/f", "l=1/k=1/f"], ["k=1/f", "k=1/k=1/f"]]
        {
            assert!(partitions(&paths, None).unwrap().fields.is_empty(), "{paths:?}");
            assert!(partitions(&paths, Some(true)).is_err(), "{paths:?}");
        }
    }
}
