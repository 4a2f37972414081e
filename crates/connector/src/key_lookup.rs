//! Rows by key: the keys that the conditions of a scan name.

use crate::ScanRequest;
use std::collections::BTreeMap;
use volley_expression::{Expr, ExprKind, SpecialForm, filter::ColumnFilter};
use volley_types::{Schema, Type, Value};
use volley_vector::{Batch, Vector};

/// The most keys that are looked up; with more, the table is scanned.
const KEYS_MAX: usize = 1024;

/// The most keys of a join that are looked up.
const JOIN_KEYS_MAX: usize = 64;

/// Keys to look up.
#[derive(Clone, Debug)]
pub struct KeyLookup {
    /// The columns of the key, by position in the table.
    pub columns: Vec<usize>,
    /// A flat column of the table's type for each, a row for each key. No key comes twice, and none
    /// has a null.
    pub keys: Batch,
}

/// The values that conditions allow for columns.
type Allowed = BTreeMap<usize, Vec<Value>>;

impl KeyLookup {
    /// Keys of the first of `keys` (columns each) whose columns the conditions of `request` all
    /// bind to constants. A row that satisfies the conditions has one of these keys.
    pub fn of<'k>(
        request: &ScanRequest,
        schema: &Schema,
        keys: impl IntoIterator<Item = &'k [usize]>,
    ) -> Option<KeyLookup> {
        let mut keys = keys.into_iter().filter(|it| !it.is_empty()).peekable();
        keys.peek()?;
        let allowed = allowed_values(request, schema);
        keys.find_map(|columns| KeyLookup::of_values(columns, schema, &allowed))
    }

    /// All combinations of values of the columns.
    fn of_values(columns: &[usize], schema: &Schema, allowed: &Allowed) -> Option<KeyLookup> {
        let values: Vec<&[Value]> =
            columns.iter().map(|it| allowed.get(it).map(Vec::as_slice)).collect::<Option<_>>()?;
        let rows = values.iter().try_fold(1usize, |rows, it| rows.checked_mul(it.len()))?;
        if rows > KEYS_MAX {
            return None;
        }
        let mut repeated = rows;
        let mut vectors = Vec::with_capacity(columns.len());
        for (column, values) in columns.iter().zip(values) {
            repeated /= values.len().max(1);
            let picked = (0..rows).filter_map(|row| values.get(row / repeated % values.len()));
            let picked: Vec<Value> = picked.cloned().collect();
            let data_type = schema.fields.get(*column)?.data_type.clone();
            vectors.push(Vector::from_values(data_type, &picked).flatten().ok()?);
        }
        Some(KeyLookup { columns: columns.to_vec(), keys: Batch::new(vectors, rows) })
    }
}

fn allowed_values(request: &ScanRequest, schema: &Schema) -> Allowed {
    let mut allowed = Allowed::new();
    request.filters.iter().for_each(|it| add_filter(it, &mut allowed));
    for filter in &request.dynamic_filters {
        let Some(field) = schema.fields.get(filter.column) else { continue };
        if let Some(values) = values_of_join(filter, &field.data_type) {
            keep_fewer(filter.column, values, &mut allowed);
        }
    }
    allowed
}

/// Adds what a filter allows.
fn add_filter(filter: &Expr, allowed: &mut Allowed) {
    let (column, constants) = match &filter.kind {
        ExprKind::Special { form: SpecialForm::And, args } => {
            return args.iter().for_each(|it| add_filter(it, allowed));
        }
        ExprKind::Special { form: SpecialForm::In, args } => match args.split_first() {
            Some((column, list)) => (column, list),
            None => return,
        },
        ExprKind::Call { name, args } if name == "eq" => match args.as_slice() {
            [Expr { kind: ExprKind::Constant(_), .. }, column] => (column, &args[..1]),
            [column, _] => (column, &args[1..]),
            _ => return,
        },
        _ => return,
    };
    let ExprKind::Column(position) = column.kind else { return };
    let mut values = Vec::with_capacity(constants.len());
    for constant in constants {
        match &constant.kind {
            // NULL equals nothing.
            ExprKind::Constant(value) if value.is_null() => {}
            ExprKind::Constant(value) if constant.data_type == column.data_type => {
                if !values.iter().any(|it: &Value| it.is_identical(value)) {
                    values.push(value.clone());
                }
            }
            _ => return,
        }
        if values.len() > KEYS_MAX {
            return;
        }
    }
    keep_fewer(position, values, allowed);
}

fn keep_fewer(column: usize, values: Vec<Value>, allowed: &mut Allowed) {
    let known = allowed.get(&column).map_or(usize::MAX, Vec::len);
    if values.len() < known {
        allowed.insert(column, values);
    }
}

/// The keys of a join, if they are known and few.
fn values_of_join(filter: &ColumnFilter, data_type: &Type) -> Option<Vec<Value>> {
    let keys = filter.filter.get()?.few_values(JOIN_KEYS_MAX)?;
    keys.into_iter().map(|it| integer_value(it, data_type)).collect()
}

fn integer_value(key: i64, data_type: &Type) -> Option<Value> {
    let stored = if data_type.unsigned().is_some() { data_type.storage() } else { data_type };
    Some(match stored {
        Type::TinyInt => Value::TinyInt(key.try_into().ok()?),
        Type::SmallInt => Value::SmallInt(key.try_into().ok()?),
        Type::Integer => Value::Integer(key.try_into().ok()?),
        Type::BigInt => Value::BigInt(key),
        Type::Date => Value::Date(key.try_into().ok()?),
        Type::Timestamp => Value::Timestamp(key),
        _ => return None,
    })
}
