//! Which rows go to which folder when files are written.

use crate::partition::folder_of;
use std::{collections::HashMap, sync::Arc};
use volley_error::{Error, Result};
use volley_types::{Schema, Type, Value};
use volley_vector::Batch;

/// The columns whose values name folders.
#[derive(Debug)]
pub(crate) struct PartitionColumns {
    columns: Vec<PartitionColumn>,
    /// The columns that files have.
    stored: Vec<usize>,
}

#[derive(Debug)]
struct PartitionColumn {
    index: usize,
    name: String,
    data_type: Type,
}

/// Rows of a batch that go to one folder, as the columns of its files.
#[derive(Debug)]
pub(crate) struct FolderRows {
    /// Below the folder that is written, such as `year=2024/month=1`; empty without columns.
    pub folder: Arc<str>,
    pub batch: Batch,
}

impl PartitionColumns {
    /// The columns of these names.
    ///
    /// # Errors
    ///
    /// Invalid query: no such column, a repeated one, or files without columns.
    pub fn new(names: &[String], schema: &Schema, stored: StoredColumns) -> Result<Self> {
        let mut columns: Vec<PartitionColumn> = Vec::with_capacity(names.len());
        for name in names {
            let index = schema.index_of(name).ok_or_else(|| {
                let all: Vec<&str> = schema.fields.iter().map(|it| it.name.as_str()).collect();
                let error = Error::invalid_query(format!("PARTITION_BY: no such column: {name}"));
                error.hint(format!("there are {}", all.join(", ")))
            })?;
            if columns.iter().any(|it| it.index == index) {
                return Err(Error::invalid_query(format!("PARTITION_BY repeats column {name}")));
            }
            let Some(field) = schema.fields.get(index) else { continue };
            let (name, data_type) = (field.name.clone(), field.data_type.clone());
            columns.push(PartitionColumn { index, name, data_type });
        }
        let is_partition = |index: &usize| columns.iter().any(|it| it.index == *index);
        let all = 0..schema.len();
        let stored: Vec<usize> = match stored {
            StoredColumns::All => all.collect(),
            StoredColumns::Others => all.filter(|it| !is_partition(it)).collect(),
        };
        if stored.is_empty() {
            let error =
                Error::invalid_query("PARTITION_BY has all columns, and files would have none");
            return Err(error.hint("WRITE_PARTITION_COLUMNS writes the columns to the files, too"));
        }
        Ok(PartitionColumns { columns, stored })
    }

    /// Whether there are no such columns: all rows go to one folder.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The columns of the files.
    pub fn file_schema(&self, schema: &Schema) -> Schema {
        self.stored.iter().filter_map(|it| schema.fields.get(*it).cloned()).collect()
    }

    /// The rows of each folder; within a folder they keep their order.
    ///
    /// # Errors
    ///
    /// What a lazy column's loader reports.
    pub fn split(&self, batch: &Batch) -> Result<Vec<FolderRows>> {
        let stored = batch.project(&self.stored);
        let rows = batch.rows();
        let is_single = self.columns.iter().all(|it| batch.column(it.index).is_constant());
        if rows == 0 {
            return Ok(Vec::new());
        }
        if is_single {
            let folder = self.folder(&self.values(batch, 0)?);
            return Ok(vec![FolderRows { folder, batch: stored }]);
        }
        let mut folders: Vec<(Arc<str>, Vec<u32>)> = Vec::new();
        let mut by_name: HashMap<Arc<str>, usize> = HashMap::new();
        let mut last: Option<(Vec<Value>, usize)> = None;
        for row in 0..rows {
            let values = self.values(batch, row)?;
            let place = match &last {
                Some((same, place)) if all_identical(same, &values) => *place,
                _ => {
                    let folder = self.folder(&values);
                    let place = *by_name.entry(Arc::clone(&folder)).or_insert(folders.len());
                    if place == folders.len() {
                        folders.push((folder, Vec::new()));
                    }
                    last = Some((values, place));
                    place
                }
            };
            if let Some((_, rows)) = folders.get_mut(place) {
                rows.push(row as u32);
            }
        }
        let of_folder = |(folder, rows): (Arc<str>, Vec<u32>)| {
            Ok(FolderRows { folder, batch: stored.gather(&rows)? })
        };
        folders.into_iter().map(of_folder).collect()
    }

    fn values(&self, batch: &Batch, row: usize) -> Result<Vec<Value>> {
        self.columns.iter().map(|it| batch.column(it.index).value(row)).collect()
    }

    fn folder(&self, values: &[Value]) -> Arc<str> {
        let names = self.columns.iter().zip(values);
        let names = names.map(|(column, it)| folder_of(&column.name, it, &column.data_type));
        names.collect::<Vec<_>>().join("/").into()
    }
}

/// Which columns files have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoredColumns {
    /// All.
    All,
    /// Those that do not name folders.
    Others,
}

fn all_identical(left: &[Value], right: &[Value]) -> bool {
    left.iter().zip(right).all(|(left, right)| left.is_identical(right))
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_types::Field;
    use volley_vector::Vector;

    fn batch() -> (Schema, Batch) {
        let fields = [("k", Type::BigInt), ("s", Type::Varchar), ("v", Type::Integer)];
        let schema = fields.iter().map(|(name, it)| Field::new(*name, it.clone())).collect();
        let keys = [Value::BigInt(1), Value::BigInt(2), Value::BigInt(1), Value::Null];
        let texts = ["a/b", "ä", "a/b", ""].map(Value::text);
        let values = [10, 20, 30, 40].map(Value::Integer);
        let columns = vec![
            Vector::from_values(Type::BigInt, &keys),
            Vector::from_values(Type::Varchar, &texts),
            Vector::from_values(Type::Integer, &values),
        ];
        (schema, Batch::new(columns, 4))
    }

    fn columns(names: &[&str], stored: StoredColumns) -> Result<PartitionColumns> {
        let names: Vec<String> = names.iter().map(|it| (*it).to_owned()).collect();
        PartitionColumns::new(&names, &batch().0, stored)
    }

    #[track_caller]
    fn check(names: &[&str], batch: &Batch, expected: &[(&str, &[i32])]) {
        let found = columns(names, StoredColumns::Others).unwrap().split(batch).unwrap();
        let found: Vec<(&str, Vec<i32>)> = found
            .iter()
            .map(|it| {
                let values = it.batch.columns().last().unwrap();
                let value = |row| match values.value(row).unwrap() {
                    Value::Integer(value) => value,
                    other => unreachable!("{other:?}"),
                };
                (&*it.folder, (0..it.batch.rows()).map(value).collect())
            })
            .collect();
        let expected: Vec<(&str, Vec<i32>)> =
            expected.iter().map(|(folder, values)| (*folder, values.to_vec())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn rows_go_to_the_folders_of_their_values() {
        let (_, batch) = batch();
        check(
            &["K"],
            &batch,
            &[("k=1", &[10, 30]), ("k=2", &[20]), ("k=__HIVE_DEFAULT_PARTITION__", &[40])],
        );
        check(
            &["s", "k"],
            &batch,
            &[
                ("s=a%2Fb/k=1", &[10, 30]),
                ("s=%C3%A4/k=2", &[20]),
                ("s=/k=__HIVE_DEFAULT_PARTITION__", &[40]),
            ],
        );
        check(&[], &batch, &[("", &[10, 20, 30, 40])]);
        check(&["k"], &batch.slice(0, 0), &[]);
        check(&["k"], &batch.slice(1, 1), &[("k=2", &[20])]);
    }

    #[test]
    fn encodings_of_the_columns_make_no_difference() {
        let (_, batch) = batch();
        let constant = Vector::constant(Type::BigInt, &Value::BigInt(7), 4);
        let others = batch.columns().iter().skip(1).cloned();
        let constant = Batch::new([constant].into_iter().chain(others).collect(), 4);
        check(&["k"], &constant, &[("k=7", &[10, 20, 30, 40])]);
        let codes = vec![3, 0, 0, 1].into();
        let null = "k=__HIVE_DEFAULT_PARTITION__";
        check(&["k"], &batch.wrap(&codes), &[(null, &[40]), ("k=1", &[10, 10]), ("k=2", &[20])]);
    }

    #[test]
    fn columns_that_do_not_fit_are_errors() {
        let message = |names: &[&str]| {
            columns(names, StoredColumns::Others).map(drop).unwrap_err().to_string()
        };
        assert_eq!(message(&["x"]), "PARTITION_BY: no such column: x");
        assert_eq!(message(&["k", "K"]), "PARTITION_BY repeats column K");
        let all = ["k", "s", "v"];
        assert_eq!(message(&all), "PARTITION_BY has all columns, and files would have none");
        let schema = columns(&all, StoredColumns::All).unwrap().file_schema(&batch().0);
        assert_eq!(schema.len(), 3);
    }
}
