//! Filters of a scan as tuples of Python, for sources that can skip rows themselves.
//!
//! ```text
//! ("=" | "<>" | "<" | "<=" | ">" | ">=", column, value)
//! ("in", column, [value, ...])    ("null", column)    ("not null", column)
//! ("and" | "or", [filter, ...])
//! value: (name of its type in SQL, a bool, an int or a str)
//! ```
//!
//! The scan applies all of its filters anyway. A source may ignore these, and must keep each row
//! that satisfies them. What has no such form is left out.

use pyo3::{prelude::*, types::PyList};
use volley::{Schema, Type, Value};
use volley_expression::{Expr, ExprKind, SpecialForm};

/// The conjuncts that have a form.
pub(crate) fn filters<'py>(
    py: Python<'py>,
    conjuncts: &[Expr],
    schema: &Schema,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for conjunct in conjuncts {
        if let Some(found) = filter(py, conjunct, schema)? {
            list.append(found)?;
        }
    }
    Ok(list)
}

fn filter<'py>(
    py: Python<'py>,
    expr: &Expr,
    schema: &Schema,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let made = match &expr.kind {
        ExprKind::Call { name, args } => match (name.as_str(), args.as_slice()) {
            ("not", [Expr { kind: ExprKind::Special { form: SpecialForm::IsNull, args }, .. }]) => {
                let Some(name) = args.first().and_then(|it| column(it, schema)) else {
                    return Ok(None);
                };
                ("not null", name).into_pyobject(py)?.into_any()
            }
            (_, [left, right]) => {
                let Some((operator, name, value)) = comparison(name, left, right, schema) else {
                    return Ok(None);
                };
                (operator, name, cell(py, value)?).into_pyobject(py)?.into_any()
            }
            _ => return Ok(None),
        },
        ExprKind::Special { form, args } => return special(py, *form, args, schema),
        _ => return Ok(None),
    };
    Ok(Some(made))
}

fn special<'py>(
    py: Python<'py>,
    form: SpecialForm,
    args: &[Expr],
    schema: &Schema,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    match form {
        SpecialForm::And | SpecialForm::Or => {
            let parts = PyList::empty(py);
            for arg in args {
                match filter(py, arg, schema)? {
                    Some(it) => parts.append(it)?,
                    // A branch that is not known may keep any row.
                    None if form == SpecialForm::Or => return Ok(None),
                    None => {}
                }
            }
            let name = if form == SpecialForm::And { "and" } else { "or" };
            Ok((!parts.is_empty())
                .then(|| (name, parts).into_pyobject(py))
                .transpose()?
                .map(Bound::into_any))
        }
        SpecialForm::IsNull => {
            let name = args.first().and_then(|it| column(it, schema));
            Ok(name.map(|it| ("null", it).into_pyobject(py)).transpose()?.map(Bound::into_any))
        }
        SpecialForm::In => {
            let Some((first, items)) = args.split_first() else { return Ok(None) };
            let Some(name) = column(first, schema) else { return Ok(None) };
            let values = PyList::empty(py);
            for item in items {
                let ExprKind::Constant(value) = &item.kind else { return Ok(None) };
                if !is_exact(value, &item.data_type) || item.data_type != first.data_type {
                    return Ok(None);
                }
                values.append(cell(py, (value, &item.data_type))?)?;
            }
            Ok(Some(("in", name, values).into_pyobject(py)?.into_any()))
        }
        _ => Ok(None),
    }
}

/// A comparison of a column and a constant of the same type: operator, column, constant.
fn comparison<'a>(
    name: &str,
    left: &'a Expr,
    right: &'a Expr,
    schema: &'a Schema,
) -> Option<(&'static str, &'a str, (&'a Value, &'a Type))> {
    let (operator, swapped) = match name {
        "eq" => ("=", "="),
        "neq" => ("<>", "<>"),
        "lt" => ("<", ">"),
        "lte" => ("<=", ">="),
        "gt" => (">", "<"),
        "gte" => (">=", "<="),
        _ => return None,
    };
    if left.data_type != right.data_type {
        return None;
    }
    let (operator, name, constant) = match (column(left, schema), column(right, schema)) {
        (Some(name), None) => (operator, name, right),
        (None, Some(name)) => (swapped, name, left),
        _ => return None,
    };
    let ExprKind::Constant(value) = &constant.kind else { return None };
    is_exact(value, &constant.data_type).then_some((operator, name, (value, &constant.data_type)))
}

fn column<'a>(expr: &Expr, schema: &'a Schema) -> Option<&'a str> {
    let ExprKind::Column(index) = expr.kind else { return None };
    schema.fields.get(index).map(|it| it.name.as_str())
}

/// Whether other libraries compare values of the type as the engine does. Floats are left out: the
/// engine takes NaN as the greatest number.
fn is_exact(value: &Value, data_type: &Type) -> bool {
    !value.is_null()
        && matches!(
            data_type,
            Type::Boolean
                | Type::TinyInt
                | Type::SmallInt
                | Type::Integer
                | Type::BigInt
                | Type::Varchar
                | Type::Date
                | Type::Timestamp
        )
}

/// A constant of a type for which [`is_exact`] holds.
fn cell<'py>(py: Python<'py>, (value, data_type): (&Value, &Type)) -> PyResult<Bound<'py, PyAny>> {
    let name = data_type.to_string();
    let pair = match value {
        Value::Boolean(it) => (name, *it).into_pyobject(py)?,
        Value::TinyInt(it) => (name, *it).into_pyobject(py)?,
        Value::SmallInt(it) => (name, *it).into_pyobject(py)?,
        Value::Integer(it) | Value::Date(it) => (name, *it).into_pyobject(py)?,
        Value::BigInt(it) | Value::Timestamp(it) => (name, *it).into_pyobject(py)?,
        other => (name, other.as_str().unwrap_or_default()).into_pyobject(py)?,
    };
    Ok(pair.into_any())
}
