//! `json_group_array` and `json_group_object`: all rows as one JSON value.

use super::{bound_collecting, collected, form::unexpected_layout};
use crate::{
    documentation::doc,
    json::{push_list, push_object},
};
use std::sync::Arc;
use volley_error::Result;
use volley_function::{BoundAggregate, CollectingFunction, Expanded, Registry};
use volley_types::{Field, Type, Value, custom::Json};
use volley_vector::{Rows, Vector};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let array = doc(
        "json_group_array(x) -> json",
        "The values of all rows, nulls included, as a JSON array; null when there is no row.",
        "aggregate",
        &[("json_group_array(x ORDER BY x) FROM (VALUES (2), (1)) v(x)", "[1,2]")],
    );
    registry.add_aggregate("json_group_array", array, Arc::new(bind_array));
    let object = doc(
        "json_group_object(name, x) -> json",
        "The members with the names and values of all rows as a JSON object; null when there is no \
         row. Names must not be null.",
        "aggregate",
        &[("json_group_object(k, x) FROM (VALUES ('a', 1)) v(k, x)", "{\"a\":1}")],
    );
    registry.add_aggregate("json_group_object", object, Arc::new(bind_object));
}

fn bind_array(args: &[Type]) -> Option<BoundAggregate> {
    if args.len() == 1 { Some(bound(args)) } else { None }
}

fn bind_object(args: &[Type]) -> Option<BoundAggregate> {
    let [Type::Varchar, _] = args else { return None };
    Some(bound(args))
}

fn bound(args: &[Type]) -> BoundAggregate {
    let row = Type::row(args.iter().map(|it| Field::new("", it.clone())));
    let function = JsonGroup { row: row.clone(), types: args.to_vec() };
    bound_collecting(args.to_vec(), Type::array(row), Json::data_type(), function)
}

/// An array of one value of each row, or an object of two.
struct JsonGroup {
    row: Type,
    types: Vec<Type>,
}

impl JsonGroup {
    /// The text of a group: its rows of all columns.
    fn text(&self, columns: &[&[Value]]) -> Result<Value> {
        let mut text = String::new();
        match (columns, self.types.as_slice()) {
            ([values], [data_type]) => {
                push_list(&mut text, values.iter().map(|it| (it, data_type)))
            }
            ([names, values], [_, data_type]) => {
                let values = values.iter().map(|it| (it, data_type));
                push_object(&mut text, names.iter().zip(values))?;
            }
            _ => return Err(unexpected_layout()),
        }
        Ok(Value::text(text))
    }
}

impl CollectingFunction for JsonGroup {
    fn results(&self, args: &[Vector], ends: &[u32]) -> Result<Vector> {
        let columns = args.iter().map(Vector::to_values).collect::<Result<Vec<_>>>()?;
        let mut start = 0;
        let mut texts = Vec::with_capacity(ends.len());
        for end in ends.iter().map(|it| *it as usize) {
            let of_group: Option<Vec<&[Value]>> =
                columns.iter().map(|it| it.get(start..end)).collect();
            texts.push(match start == end {
                true => Value::Null,
                false => self.text(&of_group.ok_or_else(unexpected_layout)?)?,
            });
            start = end;
        }
        Ok(Vector::from_values(Json::data_type(), &texts))
    }

    fn intermediate(&self, args: &[Vector], ends: &[u32]) -> Result<Vector> {
        collected::cut_rows(&self.row, args, ends)
    }

    fn expand(&self, intermediate: &Vector, rows: &Rows) -> Result<Expanded> {
        collected::expand_rows(intermediate, rows)
    }
}
