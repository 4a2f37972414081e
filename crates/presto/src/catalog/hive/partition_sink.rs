//! Rows of a partitioned table: each partition has files of its own.

use super::sink::{HiveFile, HiveSinks};
use std::collections::{BTreeMap, HashMap};
use volley_connector::RowSink;
use volley_error::{Error, Result};
use volley_types::{Schema, Type, Value};
use volley_vector::{Batch, Vector};

/// The partitions whose files one driver writes at the same time, as in Presto.
const PARTITIONS_MAX: usize = 100;

/// What a null or empty key is in the name of a partition.
const NULL_KEY: &str = "__HIVE_DEFAULT_PARTITION__";

/// The rows of one driver.
pub(super) struct PartitionedRows {
    sinks: HiveSinks,
    /// The columns of files: those that are no keys.
    columns: Schema,
    key_types: Vec<Type>,
    /// By the names of partitions.
    files: BTreeMap<String, HiveFile>,
}

impl PartitionedRows {
    /// Rows of these columns, the last of which are the partition keys.
    ///
    /// # Errors
    ///
    /// Unsupported: a key of another type than VARCHAR, BOOLEAN, DATE, DECIMAL and integers, a
    /// table without other columns.
    pub(super) fn new(sinks: HiveSinks, columns: &Schema) -> Result<PartitionedRows> {
        let regular = columns.len().checked_sub(sinks.keys.len()).filter(|it| *it > 0);
        let regular = regular.ok_or_else(|| {
            Error::unsupported("writing a table that has partition keys but no other columns")
        })?;
        let (columns, keys) = columns.fields.split_at(regular);
        let key_types: Vec<Type> = keys.iter().map(|it| it.data_type.clone()).collect();
        for (name, data_type) in sinks.keys.iter().zip(&key_types) {
            let is_written = data_type.is_integer()
                || matches!(data_type, Type::Decimal { .. })
                || [Type::Varchar, Type::Boolean, Type::Date].contains(data_type);
            if !is_written {
                let message = format!("writing a partition key of type {data_type}");
                return Err(Error::unsupported(message).at("column", name));
            }
        }
        let columns = Schema::new(columns.to_vec());
        Ok(PartitionedRows { sinks, columns, key_types, files: BTreeMap::new() })
    }

    /// The rows of each partition of a batch, by the partition's name.
    fn partitions(&self, keys: &[Vector]) -> Result<Vec<(String, Vec<u32>)>> {
        let values = keys.iter().map(|it| it.to_values()).collect::<Result<Vec<Vec<Value>>>>()?;
        let rows = values.first().map_or(0, Vec::len);
        let mut found: Vec<(String, Vec<u32>)> = Vec::new();
        let mut positions: HashMap<String, usize> = HashMap::new();
        for row in 0..rows {
            let name = self.name_of(&values, row);
            let position = *positions.entry(name).or_insert_with_key(|name| {
                found.push((name.clone(), Vec::new()));
                found.len() - 1
            });
            found[position].1.push(row as u32);
        }
        Ok(found)
    }

    fn name_of(&self, values: &[Vec<Value>], row: usize) -> String {
        let mut name = String::new();
        let keys = self.sinks.keys.iter().zip(&self.key_types).zip(values);
        for ((key, data_type), values) in keys {
            if !name.is_empty() {
                name.push('/');
            }
            push_escaped(&mut name, key);
            name.push('=');
            match &values[row] {
                Value::Null => name.push_str(NULL_KEY),
                value => match value.display(data_type).to_string() {
                    text if text.is_empty() => name.push_str(NULL_KEY),
                    text => push_escaped(&mut name, &text),
                },
            }
        }
        name
    }
}

impl RowSink for PartitionedRows {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let (columns, keys) = batch.columns().split_at(self.columns.len());
        for (name, rows) in self.partitions(keys)? {
            if !self.files.contains_key(&name) {
                if self.files.len() >= PARTITIONS_MAX {
                    let message =
                        format!("exceeded limit of {PARTITIONS_MAX} open writers for partitions");
                    return Err(Error::invalid_query(message));
                }
                let file = HiveFile::new(self.sinks.clone(), self.columns.clone(), name.clone())?;
                self.files.insert(name.clone(), file);
            }
            let Some(file) = self.files.get_mut(&name) else { continue };
            let columns = match rows.len() == batch.rows() {
                true => columns.to_vec(),
                false => columns.iter().map(|it| it.select(&rows)).collect(),
            };
            file.write(&Batch::new(columns, rows.len()))?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.files.values_mut().try_for_each(|it| it.finish())
    }

    fn held_bytes(&self) -> usize {
        self.files.values().map(|it| it.held_bytes()).sum()
    }

    fn write_bytes(&self, flat_bytes: usize) -> usize {
        // Rows may be of any of the partitions.
        self.files.values().map(|it| it.write_bytes(flat_bytes)).max().unwrap_or(0)
    }

    fn reclaim(&mut self) -> Result<()> {
        self.files.values_mut().try_for_each(|it| it.reclaim())
    }
}

/// Appends a text as Hive has it in names of folders.
fn push_escaped(out: &mut String, text: &str) {
    for character in text.chars() {
        let is_special = character.is_ascii_control() || "\"#%'*/:=?\\{[]^".contains(character);
        match is_special {
            true => out.push_str(&format!("%{:02X}", u32::from(character))),
            false => out.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_folders_are_escaped_as_in_hive() {
        for (text, expected) in [
            ("a b-ü", "a b-ü"),
            ("1/2:3=4", "1%2F2%3A3%3D4"),
            ("100%\n", "100%25%0A"),
            ("[x]{y}^\\", "%5Bx%5D%7By}%5E%5C"),
        ] {
            let mut out = String::new();
            push_escaped(&mut out, text);
            assert_eq!(out, expected, "{text}");
        }
    }
}
