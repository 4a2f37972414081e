//! The Arrow C data interface: arrays for other libraries in the same process, without copying.

use super::{ArrowLayout, from_arrow, to_arrow, to_arrow_encoded};
use crate::Vector;
use arrow_array::{
    Array, ArrayRef,
    ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi},
    make_array,
};
use arrow_schema::ArrowError;
use volley_error::{Error, Result};

/// An array and its type as the structures of the Arrow C data interface
/// (<https://arrow.apache.org/docs/format/CDataInterface.html>). Whoever gets it calls `release` of
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
    /// The structures must be as the interface demands: their producer says so. Pointers cannot be
    /// checked.
    pub unsafe fn into_vector(self) -> Result<Vector> {
        // SAFETY: the caller vouches for the structures.
        let data = unsafe { from_ffi(self.array, &self.schema) }.map_err(foreign)?;
        data.validate_full().map_err(foreign)?;
        from_arrow(make_array(data).as_ref())
    }
}

fn foreign(error: ArrowError) -> Error {
    Error::invalid_value(format!("no valid Arrow array: {error}"))
}
