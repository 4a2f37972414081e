//! A deep check of all invariants of the layouts, for tests and debug builds.

#[cfg(test)]
mod tests;

use crate::{
    Batch, Encoding, FixedArrays, INLINE_BYTES, Nested, Objects, StringValues, StringView, Values,
    Vector,
};
use volley_error::{Error, Result};
use volley_types::Type;

impl Vector {
    /// Checks all rows, bases and elements: lengths, codes, run ends, views, UTF-8, offsets and
    /// sizes, and that every part has the type that the whole says. A lazy vector that is not
    /// loaded is valid.
    ///
    /// Takes time in proportion to the bytes kept alive, and must only be needed to find a bug: no
    /// constructor makes an invalid vector from valid parts.
    ///
    /// # Errors
    ///
    /// Internal, naming the first broken promise.
    pub fn validate(&self) -> Result<()> {
        if let Some(nulls) = self.null_buffer() {
            check(nulls.len() == self.len(), self, "null bitmap of another length")?;
        }
        match self.encoding() {
            Encoding::Flat(values) => self.validate_values(values),
            Encoding::Constant(base) => {
                check(base.len() == 1, self, "constant over more or less than one row")?;
                self.validate_base(base)
            }
            Encoding::Dictionary { codes, base } => {
                check(codes.len() == self.len(), self, "codes of another length")?;
                let fits = codes.iter().all(|it| (*it as usize) < base.len());
                check(fits, self, "code beyond the dictionary")?;
                self.validate_base(base)
            }
            Encoding::RunLength { ends, base } => {
                check(ends.is_sorted(), self, "run ends out of order")?;
                check(ends.len() == base.len(), self, "not one end per run")?;
                let last = ends.last().map_or(0, |it| *it as usize);
                check(last == self.len(), self, "last run ends elsewhere")?;
                self.validate_base(base)
            }
            Encoding::Bias { base, deltas } => {
                check(deltas.len() == self.len(), self, "deltas of another length")?;
                let within = crate::bias::fits(self.data_type().physical(), *base, deltas.max());
                check(within, self, "sum beyond the layout")
            }
            Encoding::Lazy(lazy) => match lazy.get() {
                Some(loaded) => {
                    check(loaded.len() == self.len(), self, "loaded to another length")?;
                    loaded.validate()
                }
                None => Ok(()),
            },
        }
    }

    fn validate_base(&self, base: &Vector) -> Result<()> {
        check(base.data_type() == self.data_type(), self, "base of another type")?;
        check(!base.is_lazy(), self, "lazy base")?;
        base.validate()
    }

    fn validate_values(&self, values: &Values) -> Result<()> {
        check(values.len() == self.len(), self, "values of another length")?;
        let layout = self.data_type().physical();
        check(values.physical() == layout, self, "values of another layout")?;
        match values {
            Values::View(strings) => self.validate_strings(strings),
            Values::Array(nested) => match self.data_type() {
                Type::Array(element) => self.validate_nested(nested, element),
                _ => check(false, self, "list storage of another type"),
            },
            Values::Map(nested) => self.validate_nested(nested, &self.data_type().entry_type()),
            Values::FixedArray(arrays) => self.validate_fixed_arrays(arrays),
            Values::Object(objects) => self.validate_objects(objects),
            Values::Row { children, len } => self.validate_row(children, *len),
            _ => Ok(()),
        }
    }

    fn validate_row(&self, children: &[Vector], len: usize) -> Result<()> {
        let Type::Row(fields) = self.data_type() else {
            return check(false, self, "row storage of another type");
        };
        check(children.len() == fields.len(), self, "not one child per field")?;
        for (child, field) in children.iter().zip(fields.iter()) {
            check(child.len() == len, self, "child of another length")?;
            check(*child.data_type() == field.data_type, self, "child of another type")?;
            child.validate()?;
        }
        Ok(())
    }

    fn validate_fixed_arrays(&self, arrays: &FixedArrays) -> Result<()> {
        let Type::FixedArray(array) = self.data_type() else {
            return check(false, self, "storage of a fixed size of another type");
        };
        check(arrays.size == array.1 as usize, self, "arrays of another size")?;
        let count = arrays.len.checked_mul(arrays.size);
        check(count == Some(arrays.elements.len()), self, "not `size` elements per row")?;
        check(*arrays.elements.data_type() == array.0, self, "elements of another type")?;
        check(!arrays.elements.is_lazy(), self, "lazy elements")?;
        arrays.elements.validate()
    }

    fn validate_objects(&self, objects: &Objects) -> Result<()> {
        for (row, object) in objects.as_slice().iter().enumerate() {
            let is_null = self.null_buffer().is_some_and(|it| it.is_null(row));
            let fits = match object {
                Some(object) => object.data_type() == *self.data_type(),
                None => is_null,
            };
            check(fits, self, "object missing or of another type")?;
        }
        Ok(())
    }

    fn validate_strings(&self, strings: &StringValues) -> Result<()> {
        let is_text = *self.data_type() == Type::Varchar;
        for (row, view) in strings.views.iter().enumerate() {
            let (index, offset) = StringView::position(*view);
            if StringView::len_of(*view) > INLINE_BYTES {
                let buffer = strings.buffers.get(index as usize);
                let end = offset as usize + StringView::len_of(*view);
                let within = buffer.is_some_and(|it| end <= it.len());
                check(within, self, "view beyond its buffer")?;
            }
            let bytes = strings.bytes(row);
            let canonical = StringView::new(bytes, index, offset);
            check(*view == canonical, self, "view with another prefix or padding")?;
            let fits = !is_text || std::str::from_utf8(bytes).is_ok();
            check(fits, self, "text that is not UTF-8")?;
        }
        Ok(())
    }

    fn validate_nested(&self, nested: &Nested, element: &Type) -> Result<()> {
        check(nested.sizes.len() == self.len(), self, "sizes of another length")?;
        check(nested.elements.data_type() == element, self, "elements of another type")?;
        for (offset, size) in nested.offsets.iter().zip(nested.sizes.iter()) {
            let end = offset.checked_add(*size);
            let within = *offset >= 0
                && *size >= 0
                && end.is_some_and(|it| it as usize <= nested.elements.len());
            check(within, self, "row beyond its elements")?;
        }
        nested.elements.validate()
    }
}

impl Batch {
    /// Checks all columns; see [`Vector::validate`].
    ///
    /// # Errors
    ///
    /// As [`Vector::validate`].
    pub fn validate(&self) -> Result<()> {
        for column in self.columns() {
            check(column.len() == self.rows(), column, "column of another length")?;
            column.validate()?;
        }
        Ok(())
    }
}

fn check(holds: bool, vector: &Vector, promise: &str) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(Error::internal(format!("invalid vector: {promise}")).at("vector", vector.summary()))
}
