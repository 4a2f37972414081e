//! `json_group_array` and `json_group_object`: all rows as one JSON value.

use super::{bound_collecting, collected, string_agg::TextColumn, typed::unexpected_layout};
use crate::{
    documentation::doc,
    json::{CoreJson, name},
};
use std::sync::Arc;
use volley_error::Result;
use volley_function::{
    BoundAggregate, CollectingFunction, Expanded, Registry, simple::CancelCheck,
};
use volley_types::{Field, Type, custom::Json};
use volley_vector::{Cells, Rows, Vector, push_json_string};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let array = doc(
        "json_group_array(x) -> json",
        "The values of all rows, nulls included, as a JSON array; null without rows.",
        "aggregate",
        &[("json_group_array(x ORDER BY x) FROM (VALUES (2), (1)) v(x)", "[1,2]")],
    );
    registry.add_aggregate("json_group_array", array, Arc::new(bind_array));
    let object = doc(
        "json_group_object(name, x) -> json",
        "The members with the names and values of all rows as a JSON object; null without rows. \
         Names become text, and must not be null.",
        "aggregate",
        &[("json_group_object(k, x) FROM (VALUES ('a', 1)) v(k, x)", "{\"a\":1}")],
    );
    registry.add_aggregate("json_group_object", object, Arc::new(bind_object));
}

fn bind_array(args: &[Type]) -> Option<BoundAggregate> {
    if args.len() == 1 { Some(bound(args)) } else { None }
}

fn bind_object(args: &[Type]) -> Option<BoundAggregate> {
    let [_, value] = args else { return None };
    Some(bound(&[Type::Varchar, value.clone()]))
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
    /// Appends the element or the member of a row, of all columns.
    fn push(
        &self,
        text: &mut String,
        columns: &[Cells],
        row: usize,
        cancel: &mut CancelCheck,
    ) -> Result<()> {
        cancel.check(1)?;
        let values = match columns {
            [values] => values,
            [names, values] => {
                push_json_string(text, name(names, row)?);
                text.push(':');
                values
            }
            _ => return Err(unexpected_layout()),
        };
        // Of the text, nothing is taken away.
        values.push_json(row, &CoreJson, text, &mut |_: &mut String| cancel.check(1))
    }

    /// What an array or an object is written between.
    fn brackets(&self) -> [char; 2] {
        if self.types.len() == 1 { ['[', ']'] } else { ['{', '}'] }
    }
}

impl CollectingFunction for JsonGroup {
    fn results(&self, args: &[Vector], ends: &[u32]) -> Result<Vector> {
        let columns = args.iter().zip(&self.types).map(|(it, of)| Cells::new(it, of));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let [open, close] = self.brackets();
        let mut texts = TextColumn::with_capacity("json_group", ends.len());
        let (mut cancel, mut start) = (CancelCheck::default(), 0);
        for end in ends.iter().map(|it| *it as usize) {
            if start == end {
                texts.push_null();
                continue;
            }
            let mut text = String::from(open);
            for row in start..end {
                text.push_str(if row == start { "" } else { "," });
                self.push(&mut text, &columns, row, &mut cancel)?;
            }
            text.push(close);
            texts.push(&mut text)?;
            start = end;
        }
        Ok(texts.finish(Json::data_type()))
    }

    fn intermediate(&self, args: &[Vector], ends: &[u32]) -> Result<Vector> {
        collected::cut_rows(&self.row, args, ends)
    }

    fn expand(&self, intermediate: &Vector, rows: &Rows) -> Result<Expanded> {
        collected::expand_rows(intermediate, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_function::AggregateKind;
    use volley_types::Value;

    fn texts(bound: &BoundAggregate, args: &[Vector], ends: &[u32]) -> Vec<Value> {
        let AggregateKind::Collecting(function) = &bound.function else { panic!() };
        function.results(args, ends).unwrap().to_values().unwrap()
    }

    #[test]
    fn groups_are_arrays_or_objects() {
        let numbers: Vec<Value> = (0..11).map(Value::BigInt).collect();
        let numbers = Vector::from_values(Type::BigInt, &numbers);
        let names: Vec<Value> = (0..11).map(|it| Value::text(format!("n{it}"))).collect();
        let names = Vector::from_values(Type::Varchar, &names);
        let ends = [1, 1, 9, 11];
        let found =
            texts(&bind_array(&[Type::BigInt]).unwrap(), std::slice::from_ref(&numbers), &ends);
        let expected = [Some("[0]"), None, Some("[1,2,3,4,5,6,7,8]"), Some("[9,10]")];
        assert_eq!(found, expected.map(|it| it.map_or(Value::Null, Value::text)));
        let object = bind_object(&[Type::Varchar, Type::BigInt]).unwrap();
        let found = texts(&object, &[names, numbers], &[4, 11]);
        assert_eq!(found[0], Value::text(r#"{"n0":0,"n1":1,"n2":2,"n3":3}"#));
        let rest = r#"{"n4":4,"n5":5,"n6":6,"n7":7,"n8":8,"n9":9,"n10":10}"#;
        assert_eq!(found[1], Value::text(rest));
    }
}
