//! Values of a session: variables and parameters of EXECUTE.

use volley_error::Result;
use volley_memory::{Pool, Reservation};
use volley_types::{Type, Value};
use volley_vector::Vector;

/// A stored value, with its reservation.
#[derive(Debug)]
pub(crate) struct Variable {
    value: Value,
    data_type: Type,
    _charge: Reservation,
}

impl Variable {
    /// Stores an existing value after reserving its memory.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(crate) fn new(value: Value, data_type: Type, pool: &Pool) -> Result<Variable> {
        let mut charge = pool.child("variables").reservation();
        charge.grow(value.retained_bytes())?;
        Ok(Variable { value, data_type, _charge: charge })
    }

    /// The value in a row of a column; charged before it is copied.
    ///
    /// # Errors
    ///
    /// Out of memory; what a lazy column's loader reports.
    pub(crate) fn of_cell(
        column: &Vector,
        row: usize,
        data_type: Type,
        pool: &Pool,
    ) -> Result<Variable> {
        let mut charge = pool.child("variables").reservation();
        let column = column.gather(&[row as u32])?;
        charge.grow(column.retained_bytes())?;
        let value = column.value(0)?;
        // Elements of arrays take more as values.
        charge.resize(value.retained_bytes())?;
        Ok(Variable { value, data_type, _charge: charge })
    }

    /// The value and its type, as a statement sees them: what is long is shared, not copied.
    pub(crate) fn to_pair(&self) -> (Value, Type) {
        (self.value.clone(), self.data_type.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_error::ErrorKind;

    #[test]
    fn values_are_charged_while_they_are_kept() {
        let pool = Pool::root("test", Some(1 << 20));
        let text = Value::text("x".repeat(600_000));
        let first = Variable::new(text.clone(), Type::Varchar, &pool).unwrap();
        assert!(pool.stats().bytes >= 600_000);
        assert_eq!(first.to_pair(), (text.clone(), Type::Varchar));
        let refused = Variable::new(text.clone(), Type::Varchar, &pool).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::OutOfMemory);
        drop(first);
        assert_eq!(pool.stats().bytes, 0);
        assert!(Variable::new(text, Type::Varchar, &pool).is_ok());
    }

    #[test]
    fn a_cell_is_charged_before_it_is_copied() {
        let pool = Pool::root("test", Some(1 << 20));
        let long = Value::text("x".repeat(600_000));
        let values = [Value::text("short"), long.clone()];
        let column = Vector::from_values(Type::Varchar, &values);
        let first = Variable::of_cell(&column, 1, Type::Varchar, &pool).unwrap();
        assert_eq!(first.to_pair(), (long, Type::Varchar));
        let refused = Variable::of_cell(&column, 1, Type::Varchar, &pool).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::OutOfMemory);
        drop(first);
        assert_eq!(pool.stats().bytes, 0);
    }
}
