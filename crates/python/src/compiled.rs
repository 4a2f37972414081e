//! Functions that a compiler of Python made: machine code that computes a whole batch.
//!
//! ```text
//! code(rows, values, validity, output) -> 0, or 1 + the row whose call raised
//!     values[i]    the values of argument i, one per row: integers, floats, or booleans as bytes
//!     validity[i]  its bits, the least significant first; null when no value is null
//!     output       room for one value per row
//! ```
//!
//! The code runs without the GIL, on all threads that evaluate expressions. Rows with a null
//! argument have a null result, and the code skips them.

use pyo3::prelude::*;
use std::ffi::c_void;
use volley::{Error, Result, Type, Vector};
use volley_types::Native;
use volley_vector::{Buffer, NullBuffer, ScalarBuffer, Values};

/// The signature of the code.
type Entry = unsafe extern "C" fn(
    rows: i64,
    values: *const *const c_void,
    validity: *const *const u8,
    output: *mut c_void,
) -> i64;

/// Machine code, and what keeps it in memory.
pub(crate) struct Code {
    entry: Entry,
    arguments: Vec<Type>,
    /// The object of Python that owns the code.
    _owner: Py<PyAny>,
}

/// What a call of the code made: a column, or the row whose call raised.
pub(crate) enum Computed {
    Column(Vector),
    Raised(usize),
}

impl Code {
    /// Code at an address, for arguments of these types.
    ///
    /// # Errors
    ///
    /// A null address, and types that the code cannot take.
    ///
    /// # Safety
    ///
    /// - There is a function of the signature at the address, for these types, that any thread may
    ///   call, and it stays there as long as `owner` lives.
    pub(crate) unsafe fn new(
        address: usize,
        arguments: Vec<Type>,
        owner: Py<PyAny>,
    ) -> Result<Code> {
        if address == 0 {
            return Err(Error::invalid_value("compiled function at the address 0"));
        }
        if let Some(other) = arguments.iter().find(|it| width(it).is_none()) {
            return Err(Error::unsupported(format!("compiled function of {other}")));
        }
        // SAFETY: the caller vouches for the address and the signature, and 0 was ruled out.
        let entry = unsafe { std::mem::transmute::<*const (), Entry>(address as *const ()) };
        Ok(Code { entry, arguments, _owner: owner })
    }

    /// The results for all rows of the arguments.
    ///
    /// # Errors
    ///
    /// Arguments of other types or lengths than those of the code.
    pub(crate) fn call(&self, args: &[Vector], rows: usize, result: &Type) -> Result<Computed> {
        if !args.iter().map(Vector::data_type).eq(&self.arguments)
            || args.iter().any(|it| it.len() != rows)
        {
            return Err(Error::internal("compiled function with other arguments than its own"));
        }
        let flat = args.iter().map(Vector::flatten).collect::<Result<Vec<_>>>()?;
        let nulls =
            flat.iter().fold(None, |all, it| NullBuffer::union(all.as_ref(), it.null_buffer()));
        let arguments = flat.iter().map(Argument::new).collect::<Result<Vec<_>>>()?;
        let values: Vec<*const c_void> = arguments.iter().map(Argument::values).collect();
        let validity: Vec<*const u8> = arguments.iter().map(Argument::validity).collect();
        let width = width(result);
        let width =
            width.ok_or_else(|| Error::unsupported(format!("compiled result of {result}")))?;
        // Words, so that values of every width are aligned.
        let mut output = vec![0_u64; (rows * width).div_ceil(8)];
        // SAFETY: the pointers are to one value per row of the types that the code was made for, to
        // as many bits of validity, and to room for one result per row; they live until the end.
        let answer = unsafe {
            (self.entry)(
                rows as i64,
                values.as_ptr(),
                validity.as_ptr(),
                output.as_mut_ptr().cast(),
            )
        };
        if answer != 0 {
            let row = usize::try_from(answer - 1).unwrap_or(usize::MAX);
            return Ok(Computed::Raised(row.min(rows.saturating_sub(1))));
        }
        column(result, Buffer::from_vec(output), rows, nulls).map(Computed::Column)
    }
}

/// The values of one argument, as the code takes them.
enum Argument {
    Fixed(Buffer, Option<Buffer>),
    /// Booleans as bytes.
    Bytes(Vec<u8>, Option<Buffer>),
}

impl Argument {
    fn new(vector: &Vector) -> Result<Argument> {
        // Sliced bits begin at a byte.
        let validity = vector.null_buffer().map(|it| it.inner().sliced());
        let values = vector.flat_values();
        let values = values.ok_or_else(|| Error::internal("flatten gave another encoding"))?;
        if let Values::Boolean(bits) = values {
            return Ok(Argument::Bytes(bits.iter().map(u8::from).collect(), validity));
        }
        let buffer = values.fixed_buffer();
        let buffer = buffer.ok_or_else(|| Error::internal("compiled function of texts"))?;
        Ok(Argument::Fixed(buffer.clone(), validity))
    }

    fn values(&self) -> *const c_void {
        match self {
            Argument::Fixed(buffer, _) => buffer.as_ptr().cast(),
            Argument::Bytes(bytes, _) => bytes.as_ptr().cast(),
        }
    }

    fn validity(&self) -> *const u8 {
        let (Argument::Fixed(_, validity) | Argument::Bytes(_, validity)) = self;
        validity.as_ref().map_or(std::ptr::null(), |it| it.as_ptr())
    }
}

/// Bytes of a value of a type that code can take.
fn width(data_type: &Type) -> Option<usize> {
    Some(match data_type {
        Type::Boolean | Type::TinyInt => 1,
        Type::SmallInt => 2,
        Type::Integer | Type::Real => 4,
        Type::BigInt | Type::Double => 8,
        _ => return None,
    })
}

fn column(result: &Type, output: Buffer, rows: usize, nulls: Option<NullBuffer>) -> Result<Vector> {
    Ok(match result {
        Type::Boolean => {
            let bits = output.as_slice().iter().take(rows).map(|it| *it != 0).collect();
            Vector::flat(Type::Boolean, Values::Boolean(bits), nulls)
        }
        Type::TinyInt => native::<i8>(result, output, rows, nulls),
        Type::SmallInt => native::<i16>(result, output, rows, nulls),
        Type::Integer => native::<i32>(result, output, rows, nulls),
        Type::BigInt => native::<i64>(result, output, rows, nulls),
        Type::Real => native::<f32>(result, output, rows, nulls),
        Type::Double => native::<f64>(result, output, rows, nulls),
        other => return Err(Error::unsupported(format!("compiled result of {other}"))),
    })
}

fn native<T: Native>(
    result: &Type,
    output: Buffer,
    rows: usize,
    nulls: Option<NullBuffer>,
) -> Vector {
    Vector::native::<T>(result.clone(), ScalarBuffer::new(output, 0, rows), nulls)
}
