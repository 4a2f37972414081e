//! `json_group_array` and `json_group_object`: all rows as one JSON value.

use super::{bound_collecting, collected, form::unexpected_layout, string_agg::TextColumn};
use crate::{
    documentation::doc,
    json::{push_list, push_object},
};
use std::{ops::Range, sync::Arc};
use volley_error::{Result, check_wanted};
use volley_function::{BoundAggregate, CollectingFunction, Expanded, Registry};
use volley_types::{Field, Type, Value, custom::Json};
use volley_vector::{Rows, StringView, Values, Vector};

/// So many rows are made scalars at once,
const PIECE_ROWS: usize = if cfg!(test) { 3 } else { 1 << 10 };

/// or those whose texts take so many bytes.
const PIECE_BYTES: usize = 1 << 20;

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

/// Some rows of the arguments, as scalars.
#[derive(Default)]
struct Piece {
    rows: Range<usize>,
    /// One for each argument.
    columns: Vec<Vec<Value>>,
}

impl Piece {
    /// The rows from `start` on.
    fn new(args: &[Vector], start: usize) -> Result<Piece> {
        let len = args.first().map_or(0, Vector::len);
        let mut end = start;
        let mut bytes = 0;
        while end < len.min(start + PIECE_ROWS) && bytes < PIECE_BYTES {
            bytes += args.iter().map(|it| text_len(it, end)).sum::<usize>();
            end += 1;
        }
        let columns = args.iter().map(|it| it.slice(start, end - start).to_values());
        Ok(Piece { rows: start..end, columns: columns.collect::<Result<_>>()? })
    }

    /// Rows of each column.
    fn columns(&self, rows: Range<usize>) -> Result<Vec<&[Value]>> {
        let rows = rows.start - self.rows.start..rows.end - self.rows.start;
        let columns = self.columns.iter().map(|it| it.get(rows.clone()));
        columns.collect::<Option<_>>().ok_or_else(unexpected_layout)
    }
}

/// The bytes of the text in a row of a flat column.
fn text_len(column: &Vector, row: usize) -> usize {
    match column.flat_values() {
        Some(Values::View(texts)) => texts.views.get(row).map_or(0, |it| StringView::len_of(*it)),
        _ => 0,
    }
}

impl JsonGroup {
    /// Appends rows of a group, of all columns, to what there is of its text.
    fn push(&self, text: &mut String, columns: &[&[Value]]) -> Result<()> {
        let start = text.len();
        match (columns, self.types.as_slice()) {
            ([values], [data_type]) => push_list(text, values.iter().map(|it| (it, data_type))),
            ([names, values], [_, data_type]) => {
                let values = values.iter().map(|it| (it, data_type));
                push_object(text, names.iter().zip(values))?;
            }
            _ => return Err(unexpected_layout()),
        }
        if start > 0 {
            // The end of the rows before and the beginning of these: they go on.
            text.replace_range(start - 1..=start, ",");
        }
        Ok(())
    }
}

impl CollectingFunction for JsonGroup {
    fn results(&self, args: &[Vector], ends: &[u32]) -> Result<Vector> {
        let mut piece = Piece::default();
        let mut texts = TextColumn::with_capacity("json_group", ends.len());
        let mut start = 0;
        for end in ends.iter().map(|it| *it as usize) {
            if start == end {
                texts.push_null();
                continue;
            }
            let mut text = String::new();
            while start < end {
                if start >= piece.rows.end {
                    check_wanted()?;
                    piece = Piece::new(args, start)?;
                    if piece.rows.is_empty() {
                        return Err(unexpected_layout());
                    }
                }
                let rows = start..end.min(piece.rows.end);
                start = rows.end;
                self.push(&mut text, &piece.columns(rows)?)?;
            }
            texts.push(&mut text)?;
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

    fn texts(bound: &BoundAggregate, args: &[Vector], ends: &[u32]) -> Vec<Value> {
        let AggregateKind::Collecting(function) = &bound.function else { panic!() };
        function.results(args, ends).unwrap().to_values().unwrap()
    }

    #[test]
    fn groups_are_written_piece_by_piece() {
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
