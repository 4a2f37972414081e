//! Limits on the size of types.

use crate::{Field, Type};
use volley_error::{Error, Result};

/// The most levels of nesting: values, and types themselves, are handled by recursion.
pub const TYPE_DEPTH_MAX: usize = 500;

/// The most parts of a type, each part of a part included.
pub const TYPE_PARTS_MAX: usize = 100_000;

impl Type {
    /// Refuses a type that is nested too deeply, or has too many parts: one that names another
    /// twice, which names a third one twice, soon has more than fit in memory.
    ///
    /// # Errors
    ///
    /// Invalid query.
    pub fn check_size(&self) -> Result<()> {
        let too_large = |what: String| Err(Error::invalid_query(format!("type too large: {what}")));
        let mut parts = 0;
        let mut open = vec![(self, 1)];
        while let Some((part, depth)) = open.pop() {
            parts += 1;
            if depth > TYPE_DEPTH_MAX {
                return too_large(format!("more than {TYPE_DEPTH_MAX} levels"));
            }
            if parts > TYPE_PARTS_MAX {
                return too_large(format!("more than {TYPE_PARTS_MAX} parts"));
            }
            match part {
                Type::Array(element) => open.push((element, depth + 1)),
                Type::FixedArray(array) => open.push((&array.0, depth + 1)),
                Type::Map(entry) => open.extend([(&entry.0, depth + 1), (&entry.1, depth + 1)]),
                Type::Row(fields) => {
                    open.extend(fields.iter().map(|it: &Field| (&it.data_type, depth + 1)));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_types_are_refused() {
        let nested = |depth: usize| (1..depth).fold(Type::BigInt, |it, _| Type::array(it));
        assert!(nested(TYPE_DEPTH_MAX).check_size().is_ok());
        let error = nested(TYPE_DEPTH_MAX + 1).check_size().unwrap_err().to_string();
        assert!(error.contains("more than 500 levels"), "{error}");
        let doubled = |times: usize| {
            let pair = |it: Type| Type::row([Field::new("a", it.clone()), Field::new("b", it)]);
            (0..times).fold(Type::BigInt, |it, _| pair(it))
        };
        assert!(doubled(15).check_size().is_ok());
        let error = doubled(40).check_size().unwrap_err().to_string();
        assert!(error.contains("more than 100000 parts"), "{error}");
        let wide = Type::row((0..10_000).map(|it| Field::new(format!("f{it}"), Type::Varchar)));
        assert!(wide.check_size().is_ok());
    }
}
