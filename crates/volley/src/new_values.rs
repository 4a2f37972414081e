//! The values of a column that ALTER TABLE adds or gives another type.

use crate::{
    Session,
    planning::StatementContext,
    statement::{TABLE_BATCH_ROWS, start_query},
};
use volley_connector::RowUpdates;
use volley_error::{Error, Result};
use volley_memory::check_cancelled;
use volley_sql::Query;
use volley_types::Type;
use volley_vector::{Batch, Vector};

/// The rows of a query: an id, and the value of the row that it means.
///
/// # Errors
///
/// Those of the query; out of memory.
pub(crate) fn new_values(
    session: &Session,
    query: Query,
    cx: &StatementContext,
) -> Result<Vec<RowUpdates>> {
    let data_type = query.schema().types().nth(1).cloned();
    let data_type = data_type.ok_or_else(|| Error::internal("ids without values"))?;
    let mut rows = start_query(session, query, cx)?;
    let mut charge = session.pool.child("rows of a statement").reservation();
    let (mut updates, mut collected) = (Vec::new(), NewValues::default());
    while let Some(batch) = rows.next()? {
        check_cancelled()?;
        charge.grow(batch.retained_bytes())?;
        collected.push(&batch)?;
        if collected.ids.len() >= TABLE_BATCH_ROWS {
            updates.push(collected.take(&data_type)?);
        }
    }
    if !collected.ids.is_empty() {
        updates.push(collected.take(&data_type)?);
    }
    Ok(updates)
}

/// Values for some rows.
#[derive(Default)]
struct NewValues {
    ids: Vec<i64>,
    /// Of as many rows as there are ids.
    values: Vec<Vector>,
}

impl NewValues {
    /// Adds ids, the first column, and values, the second one.
    fn push(&mut self, batch: &Batch) -> Result<()> {
        let ids = batch.column(0).flatten()?;
        let ids = ids.flat_values().and_then(|it| it.native::<i64>());
        self.ids.extend_from_slice(ids.ok_or_else(|| Error::internal("ids that are no BIGINT"))?);
        self.values.push(batch.column(1).clone());
        Ok(())
    }

    /// What was added since the last call: one constant if all rows have the same one.
    fn take(&mut self, data_type: &Type) -> Result<RowUpdates> {
        let (ids, values) = (std::mem::take(&mut self.ids), std::mem::take(&mut self.values));
        let values = match Vector::one_value(&values)? {
            Some(value) => Vector::repeat(value, ids.len()),
            None => Vector::concat(data_type, &values)?,
        };
        Ok(RowUpdates { values: Batch::new(vec![values], ids.len()), ids })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_types::Value;
    use volley_vector::Encoding;

    /// The column that is taken after batches of these values, each with its number of rows.
    fn taken(data_type: &Type, batches: &[(Value, usize)], is_flat: &[bool]) -> Vector {
        let mut collected = NewValues::default();
        let mut next = 0;
        for ((value, rows), is_flat) in batches.iter().zip(is_flat) {
            let ids: Vec<i64> = (next..next + *rows as i64).collect();
            next += *rows as i64;
            let ids = Vector::native::<i64>(Type::BigInt, ids, None);
            let values = Vector::constant(data_type.clone(), value, *rows);
            let values = if *is_flat { values.flatten().unwrap() } else { values };
            collected.push(&Batch::new(vec![ids, values], *rows)).unwrap();
        }
        let update = collected.take(data_type).unwrap();
        assert_eq!(update.ids, (0..next).collect::<Vec<_>>());
        assert!(collected.ids.is_empty() && collected.values.is_empty());
        update.values.column(0).clone()
    }

    fn is_constant(vector: &Vector) -> bool {
        matches!(vector.encoding(), Encoding::Constant(_))
    }

    #[test]
    fn constants_of_one_value_stay_one() {
        for sizes in [&[1][..], &[3, 1], &[1024, 1024, 5]] {
            for value in [Value::Integer(5), Value::Null] {
                let batches: Vec<_> = sizes.iter().map(|it| (value.clone(), *it)).collect();
                let fast = taken(&Type::Integer, &batches, &[false; 3]);
                let plain = taken(&Type::Integer, &batches, &[true; 3]);
                assert!(is_constant(&fast) && !is_constant(&plain));
                assert_eq!(fast.to_values().unwrap(), plain.to_values().unwrap());
            }
        }
    }

    #[test]
    fn other_columns_are_flat() {
        let integers = |last: Value| [(Value::Integer(5), 3), (last, 2)];
        for last in [Value::Integer(6), Value::Null] {
            let batches = integers(last.clone());
            let column = taken(&Type::Integer, &batches, &[false; 2]);
            assert!(!is_constant(&column));
            let five = Value::Integer(5);
            let expected = [five.clone(), five.clone(), five, last.clone(), last];
            assert_eq!(column.to_values().unwrap(), expected);
        }
        let column = taken(&Type::Integer, &integers(Value::Integer(5)), &[false, true]);
        assert!(!is_constant(&column));
        // Zeros of both signs are equal.
        let zeros = [(Value::Double(0.0), 1), (Value::Double(-0.0), 1)];
        let column = taken(&Type::Double, &zeros, &[false; 2]);
        assert_eq!(format!("{:?}", column.to_values().unwrap()), "[Double(0.0), Double(-0.0)]");
    }
}
