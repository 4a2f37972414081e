//! What a statement of the point path does to a table: names as positions.

use super::converted;
use crate::{Session, planning::StatementContext, prepared::PreparedStatement, statement};
use std::{collections::BTreeMap, sync::Arc};
use volley_connector::{CatalogSnapshot, KeyLookup, TableEntry, TableId};
use volley_error::Result;
use volley_sql::{
    Parameters, PointAction, PointConflict, PointSource, PointStatement, PointValue, Statement,
};
use volley_types::{Schema, Type, Value};
use volley_vector::{Batch, Vector};

/// The values of parameters, with their types, by lower-case name.
pub(crate) type Values = BTreeMap<String, (Value, Type)>;

/// A statement for one state of the catalog.
pub(crate) struct PointPlan {
    /// The names that it was made with.
    pub(super) catalog: Arc<CatalogSnapshot>,
    pub(super) database: String,
    pub(super) table: TableId,
    pub(super) entry: Arc<TableEntry>,
    pub(super) steps: Steps,
    /// Of the result.
    pub(super) schema: Schema,
}

/// What to do. Columns are positions in the table.
pub(super) enum Steps {
    Select {
        columns: Vec<usize>,
        key: Key,
    },
    Insert {
        row: Vec<PointValue>,
        upsert: Option<Upsert>,
    },
    Update {
        columns: Vec<usize>,
        sources: Vec<PointValue>,
        key: Key,
    },
    Delete {
        key: Key,
    },
    /// The statement runs by its plan.
    Impossible,
}

/// A whole key of the table, in the order of its definition.
pub(super) struct Key {
    columns: Vec<usize>,
    values: Vec<PointValue>,
}

/// How a row that is there changes.
pub(super) struct Upsert {
    pub(super) key: Vec<usize>,
    pub(super) columns: Vec<usize>,
    sources: Vec<UpsertSource>,
}

enum UpsertSource {
    Value(PointValue),
    /// A column of the row to be added.
    Excluded(usize),
}

impl PointPlan {
    /// The plan of a statement that changes or reads the table of `entry`.
    pub(super) fn new(
        session: &Session,
        statement: &PreparedStatement,
        (point, entry): (&PointStatement, &Arc<TableEntry>),
        (database, catalog): (&str, &Arc<CatalogSnapshot>),
    ) -> PointPlan {
        let is_read = matches!(point.action, PointAction::Select { .. });
        let schema = if is_read { schema_of(session, statement) } else { Some(Schema::default()) };
        let steps = schema.as_ref().and_then(|_| steps_of(entry, &point.action));
        PointPlan {
            catalog: Arc::clone(catalog),
            database: database.to_owned(),
            table: entry.id,
            entry: Arc::clone(entry),
            steps: steps.unwrap_or(Steps::Impossible),
            schema: schema.unwrap_or_default(),
        }
    }

    /// Whether it was made for this state of the catalog of a database, and this table.
    pub(super) fn is_of(
        &self,
        database: &str,
        catalog: &Arc<CatalogSnapshot>,
        table: TableId,
    ) -> bool {
        Arc::ptr_eq(&self.catalog, catalog) && self.table == table && self.database == database
    }

    pub(super) fn is_possible(&self) -> bool {
        !matches!(self.steps, Steps::Impossible)
    }

    /// A key to look up; `None` if a value is null or needs a conversion.
    pub(super) fn keys(&self, key: &Key, values: &Values) -> Option<KeyLookup> {
        let vectors = self.values_of(&key.columns, &key.values, values)?;
        if vectors.iter().any(|it| it.null_buffer().is_some()) {
            return None;
        }
        Some(KeyLookup { columns: key.columns.clone(), keys: Batch::new(vectors, 1) })
    }

    /// The key of a row to be added; `None` if a part is null.
    pub(super) fn keys_of_row(&self, key: &[usize], row: &[Vector]) -> Result<Option<KeyLookup>> {
        let vectors: Vec<Vector> = key.iter().filter_map(|it| row.get(*it)).cloned().collect();
        if vectors.iter().any(|it| it.null_buffer().is_some()) {
            return Ok(None);
        }
        Ok(Some(KeyLookup { columns: key.to_vec(), keys: Batch::new(vectors, 1) }))
    }

    /// A row of the table.
    pub(super) fn row(&self, row: &[PointValue], values: &Values) -> Option<Vec<Vector>> {
        (0..row.len()).zip(row).map(|(column, it)| self.vector(column, it, values)).collect()
    }

    /// A value for each of some columns.
    pub(super) fn values_of(
        &self,
        columns: &[usize],
        sources: &[PointValue],
        values: &Values,
    ) -> Option<Vec<Vector>> {
        columns.iter().zip(sources).map(|(column, it)| self.vector(*column, it, values)).collect()
    }

    /// The new values of the row that is there.
    pub(super) fn upserted_values(
        &self,
        upsert: &Upsert,
        row: &[Vector],
        values: &Values,
    ) -> Option<Vec<Vector>> {
        let value = |(column, source): (&usize, &UpsertSource)| match source {
            UpsertSource::Value(value) => self.vector(*column, value, values),
            UpsertSource::Excluded(from) => row.get(*from).cloned(),
        };
        upsert.columns.iter().zip(&upsert.sources).map(value).collect()
    }

    fn vector(&self, column: usize, value: &PointValue, values: &Values) -> Option<Vector> {
        let to = &self.entry.columns.fields.get(column)?.data_type;
        let value = match value {
            PointValue::Null => Value::Null,
            PointValue::Literal(value, from) => converted(value, from, to)?,
            PointValue::Parameter(name) => {
                let (value, from) = values.get(name)?;
                converted(value, from, to)?
            }
        };
        Some(Vector::from_values(to.clone(), &[value]))
    }
}

/// The columns of the result of a query.
fn schema_of(session: &Session, statement: &PreparedStatement) -> Option<Schema> {
    let parsed = &statement.parsed;
    let cx = StatementContext::begin(session, session.begin(), None, parsed.text());
    match statement::bind(session, parsed, &cx, (Parameters::Unknown, None)) {
        Ok(Statement::Query(query)) => Some(query.schema()),
        _ => None,
    }
}

fn steps_of(entry: &TableEntry, action: &PointAction) -> Option<Steps> {
    match action {
        PointAction::Select { columns, key } => {
            let columns = match columns.is_empty() {
                true => (0..entry.columns.len()).collect(),
                false => positions(entry, columns.iter())?,
            };
            Some(Steps::Select { columns, key: key_of(entry, key)? })
        }
        PointAction::Delete { key } => {
            is_simple(entry).then_some(())?;
            Some(Steps::Delete { key: key_of(entry, key)? })
        }
        PointAction::Update { set, key } => {
            is_simple(entry).then_some(())?;
            let columns = positions(entry, set.iter().map(|it| &it.0))?;
            has_no_key(entry, &columns).then_some(())?;
            let sources = set.iter().map(|it| it.1.clone()).collect();
            Some(Steps::Update { columns, sources, key: key_of(entry, key)? })
        }
        PointAction::Insert { columns, values, conflict } => {
            is_simple(entry).then_some(())?;
            let columns = match columns.is_empty() {
                true => (0..entry.columns.len()).collect(),
                false => positions(entry, columns.iter())?,
            };
            let row = row_of(entry, &columns, values)?;
            let upsert = match conflict {
                PointConflict::Refused => None,
                PointConflict::Update { key, set } => Some(upsert_of(entry, key, set)?),
            };
            Some(Steps::Insert { row, upsert })
        }
    }
}

/// Whether writing a row needs nothing but its values: no CHECK, no generated columns.
fn is_simple(entry: &TableEntry) -> bool {
    let definition = &entry.definition;
    definition.checks.is_empty() && definition.columns.iter().all(|it| it.generated.is_none())
}

/// Whether none of these columns is part of a key.
fn has_no_key(entry: &TableEntry, columns: &[usize]) -> bool {
    let mut keys = entry.definition.key_columns().flatten();
    keys.all(|it| !columns.contains(it))
}

/// The positions of columns; `None` if a column is missing or occurs twice.
fn positions<'n>(
    entry: &TableEntry,
    names: impl Iterator<Item = &'n String>,
) -> Option<Vec<usize>> {
    let mut positions = Vec::new();
    for name in names {
        let position = entry.columns.index_of(name)?;
        if positions.contains(&position) {
            return None;
        }
        positions.push(position);
    }
    Some(positions)
}

/// A value for each column of the table: those that are not given have no DEFAULT.
fn row_of(entry: &TableEntry, columns: &[usize], values: &[PointValue]) -> Option<Vec<PointValue>> {
    if columns.len() != values.len() {
        return None;
    }
    let value = |column: usize| match columns.iter().position(|it| *it == column) {
        Some(at) => values.get(at).cloned(),
        None => {
            let definition = entry.definition.columns.get(column);
            definition.is_none_or(|it| it.default.is_none()).then_some(PointValue::Null)
        }
    };
    (0..entry.columns.len()).map(value).collect()
}

/// The key of exactly these columns.
fn key_of(entry: &TableEntry, key: &[(String, PointValue)]) -> Option<Key> {
    let given = positions(entry, key.iter().map(|it| &it.0))?;
    let columns = key_columns(entry, &given)?;
    let value = |column: &usize| {
        let at = given.iter().position(|it| it == column)?;
        key.get(at).map(|it| it.1.clone())
    };
    let values = columns.iter().map(value).collect::<Option<_>>()?;
    Some(Key { columns, values })
}

/// The columns of the key that has exactly these, in its order. Floats are not compared by their
/// bits.
fn key_columns(entry: &TableEntry, given: &[usize]) -> Option<Vec<usize>> {
    let is_given =
        |it: &&[usize]| it.len() == given.len() && it.iter().all(|column| given.contains(column));
    let columns = entry.definition.key_columns().find(is_given)?;
    let is_float = |it: &usize| {
        let field = entry.columns.fields.get(*it);
        field.is_none_or(|it| matches!(it.data_type, Type::Real | Type::Double))
    };
    (!columns.iter().any(is_float)).then(|| columns.to_vec())
}

fn upsert_of(entry: &TableEntry, key: &[String], set: &[(String, PointSource)]) -> Option<Upsert> {
    let key = key_columns(entry, &positions(entry, key.iter())?)?;
    let columns = positions(entry, set.iter().map(|it| &it.0))?;
    has_no_key(entry, &columns).then_some(())?;
    let source = |(column, source): (&usize, &PointSource)| {
        Some(match source {
            PointSource::Value(value) => UpsertSource::Value(value.clone()),
            PointSource::Excluded(name) => {
                let from = entry.columns.index_of(name)?;
                let type_of = |it: usize| entry.columns.fields.get(it).map(|it| &it.data_type);
                (type_of(from) == type_of(*column)).then_some(())?;
                UpsertSource::Excluded(from)
            }
        })
    };
    let sources = columns.iter().zip(set.iter().map(|it| &it.1)).map(source);
    Some(Upsert { key, sources: sources.collect::<Option<_>>()?, columns: columns.clone() })
}
