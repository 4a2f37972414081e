//! The comparison keys of the rows of a vector, by which custom types compare and hash.

use crate::{Encoding, FixedArrays, Nested, Values, Vector};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_types::{Custom, PhysicalType, Type};

impl Vector {
    /// The vector with every value replaced by what it is compared by, of
    /// [`Type::key_type`]; the vector itself when it is compared as it is stored. Constants and
    /// dictionaries stay what they are.
    ///
    /// # Errors
    ///
    /// What a lazy vector's loader reports.
    pub fn comparison_keys(&self) -> Result<Vector> {
        let Some(key_type) = self.data_type().key_type() else { return Ok(self.clone()) };
        match self.encoding() {
            Encoding::Constant(base) => Ok(Vector::repeat(base.comparison_keys()?, self.len())),
            Encoding::Dictionary { codes, base } if base.len() <= self.len() => {
                let base = Arc::new(base.comparison_keys()?);
                Ok(Vector::dictionary(codes.clone(), base, self.null_buffer().cloned()))
            }
            Encoding::RunLength { ends, base } => {
                Ok(Vector::run_length(ends.clone(), Arc::new(base.comparison_keys()?)))
            }
            Encoding::Flat(values) => flat_keys(self, values, key_type),
            _ => self.loaded()?.flatten()?.comparison_keys(),
        }
    }
}

fn flat_keys(vector: &Vector, values: &Values, key_type: Type) -> Result<Vector> {
    let nulls = vector.null_buffer().cloned();
    let nested = |nested: &Nested, keyed: Vector| Nested {
        offsets: nested.offsets.clone(),
        sizes: nested.sizes.clone(),
        elements: Arc::new(keyed),
    };
    let keyed = match (vector.data_type(), values) {
        (Type::Custom(custom), _) => return custom_keys(vector, custom, key_type),
        (_, Values::Array(list)) => Values::Array(nested(list, list.elements.comparison_keys()?)),
        (_, Values::FixedArray(arrays)) => {
            let elements = Arc::new(arrays.elements.comparison_keys()?);
            Values::FixedArray(FixedArrays { elements, ..arrays.clone() })
        }
        (_, Values::Map(list)) => Values::Map(nested(list, list.elements.comparison_keys()?)),
        (_, Values::Row { children, len }) => {
            let keys = children.iter().map(Vector::comparison_keys).collect::<Result<_>>()?;
            Values::Row { children: keys, len: *len }
        }
        _ => return Err(Error::internal(format!("keys of {}", vector.data_type()))),
    };
    Ok(Vector::flat(key_type, keyed, nulls))
}

fn custom_keys(vector: &Vector, custom: &Custom, key_type: Type) -> Result<Vector> {
    let Some(key) = custom.key() else {
        return Err(Error::internal(format!("{} has no keys", custom.name())));
    };
    if let Some(Values::I64(stored)) = vector.flat_values()
        && key_type.physical() == PhysicalType::I64
    {
        let mut keys = vec![0i64; stored.len()];
        if key.integer_keys(stored, &mut keys) {
            return Ok(Vector::native::<i64>(key_type, keys, vector.null_buffer().cloned()));
        }
    }
    let mut values = vector.to_values()?;
    values.iter_mut().filter(|it| !it.is_null()).for_each(|it| *it = key.key(it));
    Ok(Vector::from_values(key_type, &values))
}
