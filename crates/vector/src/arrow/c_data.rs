//! The Arrow C data interface: arrays for other libraries in the same process, without copying.

#[cfg(test)]
mod tests;

use super::{ArrowLayout, from_arrow, to_arrow, to_arrow_encoded, type_from_arrow};
use crate::Vector;
use arrow_array::{
    Array, ArrayRef,
    ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi},
    make_array,
};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use volley_error::{Error, Result};

/// An array and its type as the structures of the Arrow C data interface
/// (<https://arrow.apache.org/docs/format/CDataInterface.html>). The receiver calls `release` of
/// both, or drops this; buffers live until then.
#[derive(Debug)]
pub struct CArray {
    /// Buffers and children.
    pub array: FFI_ArrowArray,
    /// The type.
    pub schema: FFI_ArrowSchema,
}

impl CArray {
    /// The vector in the type of its logical type; see [`to_arrow`].
    ///
    /// # Errors
    ///
    /// As [`to_arrow`].
    pub fn new(vector: &Vector, layout: ArrowLayout) -> Result<CArray> {
        CArray::of_arrow(&to_arrow(vector, layout)?)
    }

    /// The vector in its own encoding; see [`to_arrow_encoded`].
    ///
    /// # Errors
    ///
    /// As [`to_arrow_encoded`].
    pub fn encoded(vector: &Vector, layout: ArrowLayout) -> Result<CArray> {
        CArray::of_arrow(&to_arrow_encoded(vector, layout)?)
    }

    fn of_arrow(array: &ArrayRef) -> Result<CArray> {
        let (array, schema) = to_ffi(&array.to_data()).map_err(foreign)?;
        Ok(CArray { array, schema })
    }

    /// The array as a vector, which shares its buffers and releases them when it goes. Offsets,
    /// codes and UTF-8 are checked.
    ///
    /// # Errors
    ///
    /// A type without a counterpart; contents that are not what the type says.
    ///
    /// # Safety
    ///
    /// The structures must be as the interface demands: their producer says so. Pointers, lengths
    /// of buffers, and the counts of nulls of children cannot be checked.
    pub unsafe fn into_vector(mut self) -> Result<Vector> {
        let data_type = DataType::try_from(&self.schema).map_err(foreign)?;
        type_from_arrow(&data_type)?;
        check_parts(&self.array, &data_type)?;
        // SAFETY: -1 means that the nulls are not counted, which is valid for any bitmap.
        unsafe { self.array.set_null_count(-1) };
        // SAFETY: the caller vouches for the structures.
        let data = unsafe { from_ffi(self.array, &self.schema) }.map_err(foreign)?;
        let data = without_offsets_of_nothing(data);
        data.validate_full().map_err(foreign)?;
        from_arrow(make_array(data).as_ref())
    }
}

/// The same array, with empty children replaced by new ones: empty string arrays may have any first
/// offset, and an unknown number of bytes.
fn without_offsets_of_nothing(data: ArrayData) -> ArrayData {
    if data.is_empty() {
        return ArrayData::new_empty(data.data_type());
    }
    if data.child_data().is_empty() {
        return data;
    }
    let children = data.child_data().iter().cloned().map(without_offsets_of_nothing).collect();
    // SAFETY: as valid as it was before; the caller validates it.
    unsafe { data.into_builder().child_data(children).build_unchecked() }
}

/// Whether the structures have the children and buffers of the type, which reading assumes.
fn check_parts(array: &FFI_ArrowArray, data_type: &DataType) -> Result<()> {
    let fits = |holds: bool, what: &str| match holds {
        true => Ok(()),
        false => Err(Error::invalid_value(format!("no valid Arrow array: {what}: {data_type}"))),
    };
    fits(!array.is_released(), "released")?;
    let end = array.len().checked_add(array.offset());
    fits(end.is_some_and(|it| u32::try_from(it).is_ok()), "more than 2^32 rows")?;
    let layout = arrow_data::layout(data_type);
    let lengths = usize::from(layout.variadic);
    let buffers = usize::from(layout.can_contain_null_mask) + layout.buffers.len() + lengths;
    let found = array.num_buffers();
    let has_buffers = found == buffers || layout.variadic && found >= buffers;
    fits(has_buffers || *data_type == DataType::Null, "another number of buffers")?;
    let children: Vec<&DataType> = match data_type {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => vec![field.data_type()],
        DataType::Struct(fields) => fields.iter().map(|it| it.data_type()).collect(),
        DataType::RunEndEncoded(ends, values) => vec![ends.data_type(), values.data_type()],
        _ => Vec::new(),
    };
    fits(array.num_children() == children.len(), "another number of children")?;
    for (index, child) in children.into_iter().enumerate() {
        check_parts(array.child(index), child)?;
    }
    match (data_type, array.dictionary()) {
        (DataType::Dictionary(_, values), Some(dictionary)) => check_parts(dictionary, values),
        (DataType::Dictionary(..), None) => fits(false, "no dictionary"),
        (_, dictionary) => fits(dictionary.is_none(), "a dictionary"),
    }
}

fn foreign(error: ArrowError) -> Error {
    Error::invalid_value(format!("no valid Arrow array: {error}"))
}
