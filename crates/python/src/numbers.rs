//! Columns of fixed-width numbers for numpy and PyTorch: DLPack, without copies.
//!
//! ```text
//! record batches ── one: shared, several: joined ──> Numbers ── __dlpack__ ──> array, tensor
//! ```
//!
//! A consumer shares the memory of the record batch, and must not write into it. Dates, times and
//! timestamps are the integers that they are stored as.

use crate::error::type_error;
use arrow_array::{Array, ArrayRef, cast::AsArray};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer};
use arrow_schema::DataType;
use pyo3::{
    ffi,
    prelude::*,
    types::{PyCapsule, PyDict},
};
use std::{
    ffi::{CStr, c_void},
    ptr::NonNull,
};

/// The name of a capsule that holds a `ManagedTensor`; a consumer gives it another one.
const CAPSULE: &CStr = c"dltensor";

/// DLPack's number of the device CPU.
const CPU: i32 = 1;

/// Numbers in memory, in rows of `width` if that is not 1.
#[pyclass(frozen, module = "volley._volley")]
pub(crate) struct Numbers {
    buffer: Buffer,
    kind: Kind,
    rows: usize,
    /// Numbers per row of an array of a fixed size; `None` for a plain column.
    width: Option<usize>,
}

/// DLPack's code of a kind of numbers, and the bits of one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Kind {
    code: u8,
    bits: u8,
}

const fn integer(bits: u8) -> Kind {
    Kind { code: 0, bits }
}

const fn unsigned(bits: u8) -> Kind {
    Kind { code: 1, bits }
}

const fn float(bits: u8) -> Kind {
    Kind { code: 2, bits }
}

/// Booleans as bytes.
const BOOLEAN: Kind = Kind { code: 6, bits: 8 };

impl Kind {
    /// The kind of an Arrow type; `None` for types that are no numbers of a fixed width.
    fn of(data_type: &DataType) -> Option<Kind> {
        Some(match data_type {
            DataType::Boolean => BOOLEAN,
            DataType::Int8 => integer(8),
            DataType::Int16 => integer(16),
            DataType::Int32 | DataType::Date32 => integer(32),
            DataType::Int64 | DataType::Time64(_) | DataType::Timestamp(..) => integer(64),
            DataType::UInt8 => unsigned(8),
            DataType::UInt16 => unsigned(16),
            DataType::UInt32 => unsigned(32),
            DataType::UInt64 => unsigned(64),
            DataType::Float32 => float(32),
            DataType::Float64 => float(64),
            _ => return None,
        })
    }

    fn bytes(self) -> usize {
        usize::from(self.bits / 8)
    }
}

/// The numbers of a column, and which of its rows are null, if some are; `None` for a column of
/// another type, or of arrays with nulls in them.
pub(crate) fn numbers_of(chunks: &[ArrayRef], of: &DataType) -> Option<(Numbers, Option<Numbers>)> {
    let (element, width) = match of {
        DataType::FixedSizeList(element, width) => {
            (element.data_type(), Some(usize::try_from(*width).ok()?))
        }
        other => (other, None),
    };
    let kind = Kind::of(element)?;
    let parts: Option<Vec<Buffer>> = chunks.iter().map(|it| part(it, kind, width)).collect();
    let rows = chunks.iter().map(|it| it.len()).sum();
    let numbers = Numbers { buffer: joined(parts?), kind, rows, width };
    Some((numbers, null_rows(chunks, rows)))
}

/// The bytes of the numbers of one array.
fn part(array: &ArrayRef, kind: Kind, width: Option<usize>) -> Option<Buffer> {
    if width.is_some() {
        let values = array.as_fixed_size_list_opt()?.values();
        return (values.null_count() == 0).then(|| part(values, kind, None)).flatten();
    }
    if kind == BOOLEAN {
        return Some(bytes_of(array.as_boolean_opt()?.values()));
    }
    let data = array.to_data();
    let buffer = data.buffers().first()?;
    let (start, bytes) = (data.offset() * kind.bytes(), data.len() * kind.bytes());
    Some(buffer.slice_with_length(start, bytes))
}

fn bytes_of(bits: &BooleanBuffer) -> Buffer {
    Buffer::from_vec(bits.iter().map(u8::from).collect::<Vec<_>>())
}

/// All parts in one buffer; a single one is shared.
fn joined(mut parts: Vec<Buffer>) -> Buffer {
    if parts.len() == 1
        && let Some(part) = parts.pop()
    {
        return part;
    }
    // Its memory is aligned for numbers of every width.
    let mut all = MutableBuffer::with_capacity(parts.iter().map(Buffer::len).sum());
    parts.iter().for_each(|it| all.extend_from_slice(it));
    all.into()
}

/// Booleans that are true where a row is null.
fn null_rows(chunks: &[ArrayRef], rows: usize) -> Option<Numbers> {
    if chunks.iter().all(|it| it.null_count() == 0) {
        return None;
    }
    let mut bytes = Vec::with_capacity(rows);
    for chunk in chunks {
        match chunk.nulls() {
            Some(nulls) => bytes.extend(NullBuffer::iter(nulls).map(|it| u8::from(!it))),
            None => bytes.resize(bytes.len() + chunk.len(), 0),
        }
    }
    Some(Numbers { buffer: Buffer::from_vec(bytes), kind: BOOLEAN, rows, width: None })
}

#[pymethods]
impl Numbers {
    fn __len__(&self) -> usize {
        self.rows
    }

    /// A capsule with a tensor, which a consumer takes over.
    #[pyo3(signature = (*, stream = None, copy = None, **_others))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
        _others: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        if stream.is_some() {
            return Err(type_error(py, "tensors in main memory have no stream"));
        }
        let buffer = match copy {
            // The memory of an engine's batch is shared unless a copy was asked for.
            Some(true) => joined(vec![self.buffer.clone(), Buffer::default()]),
            _ => self.buffer.clone(),
        };
        let tensor = Box::new(Tensor::new(self, buffer));
        let pointer = NonNull::from(Box::leak(tensor)).cast::<c_void>();
        // SAFETY: the pointer is to a tensor that lives until its deleter runs; the destructor runs
        // it unless a consumer has taken the tensor over, and renamed the capsule.
        unsafe {
            PyCapsule::new_with_pointer_and_destructor(py, pointer, CAPSULE, Some(drop_capsule))
        }
    }

    /// The device: the CPU.
    fn __dlpack_device__(&self) -> (i32, i32) {
        (CPU, 0)
    }
}

/// DLPack's `DLManagedTensor`, and what it points to.
///
/// ```text
/// data 8 | device 8 | dimensions 4 | code 1, bits 1, lanes 2 | shape 8 | strides 8 | offset 8 |
/// context 8 | deleter 8
/// ```
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: [i32; 2],
    dimensions: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    /// Null: rows follow each other.
    strides: *mut i64,
    offset: u64,
    context: *mut c_void,
    deleter: unsafe extern "C" fn(*mut Tensor),
    /// What the consumer does not see.
    sizes: Box<[i64]>,
    _buffer: Buffer,
}

impl Tensor {
    fn new(numbers: &Numbers, buffer: Buffer) -> Tensor {
        let sizes = [Some(numbers.rows), numbers.width].into_iter().flatten();
        let mut sizes: Box<[i64]> = sizes.map(|it| it as i64).collect();
        Tensor {
            data: buffer.as_ptr().cast_mut().cast(),
            device: [CPU, 0],
            dimensions: sizes.len() as i32,
            code: numbers.kind.code,
            bits: numbers.kind.bits,
            lanes: 1,
            shape: sizes.as_mut_ptr(),
            strides: std::ptr::null_mut(),
            offset: 0,
            context: std::ptr::null_mut(),
            deleter: delete,
            sizes,
            _buffer: buffer,
        }
    }
}

/// Frees a tensor.
///
/// # Safety
///
/// - `tensor` is one that `__dlpack__` made, and is not used again.
unsafe extern "C" fn delete(tensor: *mut Tensor) {
    // SAFETY: the caller says that `__dlpack__` made it, which takes it out of a box.
    let tensor = unsafe { Box::from_raw(tensor) };
    debug_assert_eq!(tensor.sizes.len() as i32, tensor.dimensions);
}

/// Frees the tensor of a capsule that no consumer took over.
///
/// # Safety
///
/// - `capsule` is a capsule that `__dlpack__` made.
unsafe extern "C" fn drop_capsule(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls it with a capsule, holding the GIL.
    if unsafe { ffi::PyCapsule_IsValid(capsule, CAPSULE.as_ptr()) } == 0 {
        return;
    }
    // SAFETY: a capsule of this name holds the pointer that `__dlpack__` put there.
    let pointer = unsafe { ffi::PyCapsule_GetPointer(capsule, CAPSULE.as_ptr()) };
    // SAFETY: nothing else uses the tensor of a capsule that is still called so.
    unsafe { delete(pointer.cast()) };
}
