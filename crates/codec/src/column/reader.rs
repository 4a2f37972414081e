//! Reading columns.

use super::{ALL_NULL, DEPTH_MAX, NO_NULLS, SOME_NULLS};
use crate::{
    CodecId, alp,
    bits::Bits,
    constant, fsst, general,
    input::{Input, corruption},
    marks::{self, Mark},
    nested, pdict,
    pfor::Packed,
    pfor_delta::Deltas,
    rle,
    vectors::{self, Decode},
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use std::{ops::Range, sync::Arc};
use volley_error::{Error, Result};
use volley_kernels::{pack::Lane, select_packed::VECTOR_WORDS};
use volley_types::{PhysicalType, Type};
use volley_vector::{ColumnTest, Values, Vector};

/// Reads rows of a column. Cheap to make: what is decoded once per column (a dictionary) is decoded
/// on first use.
pub struct ColumnReader {
    data_type: Type,
    codec: CodecId,
    rows: usize,
    pub(super) validity: Validity,
    pub(super) body: Option<Box<dyn Body>>,
}

/// Which rows are null.
pub(super) enum Validity {
    NoNulls,
    AllNull,
    Some(Bits),
}

/// Values of rows, and of null rows any values.
pub(crate) enum Read {
    /// One per row.
    Values(Values),
    /// A code per row, and the entries.
    Dictionary(Vec<u32>, Arc<Vector>),
    /// The same row for each.
    Constant(Arc<Vector>),
    /// With nulls.
    Whole(Vector),
}

/// The values of a column in some codec.
pub(crate) trait Body: Send {
    /// The values of rows, or of positions in them.
    fn read(&mut self, rows: Range<usize>, pick: Option<&[u32]>) -> Result<Read>;

    /// Which rows of a vector pass a test that is not about nulls; `None` if the codec cannot tell
    /// without decoding. Bits of null rows and beyond the rows are not looked at.
    fn select(&mut self, _index: usize, _test: &ColumnTest) -> Result<Option<[u64; VECTOR_WORDS]>> {
        Ok(None)
    }
}

impl ColumnReader {
    /// Opens the column of `data_type` that [`crate::encode`] wrote as `bytes`. All bytes are
    /// checked, apart from compressed texts, which are checked when they are read.
    ///
    /// # Errors
    ///
    /// Corruption: other bytes.
    pub fn open(bytes: Buffer, data_type: &Type) -> Result<ColumnReader> {
        let mut input = Input::new(bytes);
        let reader = ColumnReader::read_from(&mut input, data_type, 0)?;
        input.finish()?;
        Ok(reader)
    }

    /// Opens a column inside of `depth` others.
    pub(crate) fn read_from(
        input: &mut Input,
        data_type: &Type,
        depth: usize,
    ) -> Result<ColumnReader> {
        if depth > DEPTH_MAX {
            return Err(corruption("columns inside of each other"));
        }
        let codec = CodecId::from_byte(input.integer()?)?;
        let form = input.integer::<u8>()?;
        if input.integer::<u16>()? != 0 {
            return Err(corruption("reserved bytes"));
        }
        let rows = input.integer::<u32>()? as usize;
        let bytes = usize::try_from(input.integer::<u64>()?);
        let mut input = Input::new(input.take(bytes.map_err(|_| corruption("bytes end early"))?)?);
        if rows > nested::ELEMENTS_MAX {
            return Err(corruption("rows of a column"));
        }
        let validity = match form {
            NO_NULLS => Validity::NoNulls,
            ALL_NULL => Validity::AllNull,
            SOME_NULLS => Validity::Some(Bits::open(&mut input, rows)?),
            _ => return Err(corruption("unknown form of validity")),
        };
        let body = match validity {
            Validity::AllNull => None,
            _ => Some(open_body(&mut input, codec, data_type, rows, depth)?),
        };
        input.finish()?;
        Ok(ColumnReader { data_type: data_type.clone(), codec, rows, validity, body })
    }

    /// The type of the values.
    pub fn data_type(&self) -> &Type {
        &self.data_type
    }

    /// The codec of the column itself.
    pub fn codec(&self) -> CodecId {
        self.codec
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The rows, or those at the positions `pick` in them (strictly ascending). Dictionaries of one
    /// column share their base.
    ///
    /// # Errors
    ///
    /// Corruption of compressed texts. Internal: rows or positions beyond the column.
    pub fn read(&mut self, rows: Range<u32>, pick: Option<&[u32]>) -> Result<Vector> {
        let range = self.checked(&rows)?;
        let is_valid =
            |pick: &[u32]| ascends(pick) && pick.last().is_none_or(|it| *it < rows.len() as u32);
        if !pick.is_none_or(is_valid) {
            return Err(Error::internal("picked positions are not ascending rows of the range"));
        }
        self.read_rows(range, pick)
    }

    /// The range, if it is within the column.
    pub(super) fn checked(&self, rows: &Range<u32>) -> Result<Range<usize>> {
        let range = rows.start as usize..rows.end as usize;
        if range.start > range.end || range.end > self.rows {
            return Err(Error::internal("rows beyond the column").at("rows", self.rows));
        }
        Ok(range)
    }

    /// As [`ColumnReader::read`], with a range and positions that were checked.
    pub(crate) fn read_rows(&mut self, rows: Range<usize>, pick: Option<&[u32]>) -> Result<Vector> {
        let len = pick.map_or(rows.len(), <[u32]>::len);
        let Some(body) = &mut self.body else {
            return Ok(Vector::nulls(self.data_type.clone(), len));
        };
        let nulls = self.validity.read(rows.clone(), pick);
        Ok(match body.read(rows, pick)? {
            Read::Values(values) => Vector::flat(self.data_type.clone(), values, nulls),
            Read::Dictionary(codes, base) => {
                marks::hit(Mark::Dictionary);
                Vector::dictionary(codes.into(), base, nulls)
            }
            Read::Constant(base) => {
                marks::hit(Mark::Constant);
                match nulls {
                    None => Vector::repeat(base.as_ref().clone(), len),
                    Some(nulls) => Vector::dictionary(vec![0; len].into(), base, Some(nulls)),
                }
            }
            Read::Whole(vector) => vector,
        })
    }
}

/// Whether each position is greater than the one before. Looks at all of them, in lanes.
fn ascends(pick: &[u32]) -> bool {
    let later = pick.get(1..).unwrap_or_default();
    pick.iter().zip(later).fold(0, |wrong, (a, b)| wrong | u32::from(a >= b)) == 0
}

impl Validity {
    /// Which rows are valid; `None` if all are.
    pub(super) fn read(&self, rows: Range<usize>, pick: Option<&[u32]>) -> Option<NullBuffer> {
        match self {
            Validity::NoNulls => None,
            Validity::AllNull => Some(NullBuffer::new_null(pick.map_or(rows.len(), <[u32]>::len))),
            Validity::Some(bits) if bits.is_all(rows.clone()) => None,
            Validity::Some(bits) => Some(NullBuffer::new(bits.read(rows, pick))),
        }
    }
}

fn open_body(
    input: &mut Input,
    codec: CodecId,
    data_type: &Type,
    rows: usize,
    depth: usize,
) -> Result<Box<dyn Body>> {
    let depth = depth + 1;
    match (codec, data_type.physical()) {
        (CodecId::Constant, _) => constant::open(input, data_type, depth),
        (CodecId::Pdict, _) => pdict::open(input, data_type, rows, depth),
        (CodecId::Rle, _) => rle::open(input, data_type, rows, depth),
        (CodecId::Raw, PhysicalType::View) => general::open_raw(input, data_type, rows),
        (CodecId::Lz4 | CodecId::Zstd, PhysicalType::View) => {
            general::open_compressed(input, codec, data_type, rows)
        }
        (CodecId::Fsst, PhysicalType::View) => fsst::open(input, data_type, rows),
        (CodecId::Raw, physical) => general::open_fixed(input, physical, rows),
        (CodecId::Pfor, PhysicalType::I8) => packed::<u8>(input, PhysicalType::I8, rows),
        (CodecId::Pfor, PhysicalType::I16) => packed::<u16>(input, PhysicalType::I16, rows),
        (CodecId::Pfor, PhysicalType::I32) => packed::<u32>(input, PhysicalType::I32, rows),
        (CodecId::Pfor, PhysicalType::I64) => packed::<u64>(input, PhysicalType::I64, rows),
        (CodecId::PforDelta, PhysicalType::I8) => deltas::<u8>(input, PhysicalType::I8, rows),
        (CodecId::PforDelta, PhysicalType::I16) => deltas::<u16>(input, PhysicalType::I16, rows),
        (CodecId::PforDelta, PhysicalType::I32) => deltas::<u32>(input, PhysicalType::I32, rows),
        (CodecId::PforDelta, PhysicalType::I64) => deltas::<u64>(input, PhysicalType::I64, rows),
        (CodecId::Alp, PhysicalType::F32) => alp::open::<f32>(input, PhysicalType::F32, rows),
        (CodecId::Alp, PhysicalType::F64) => alp::open::<f64>(input, PhysicalType::F64, rows),
        (CodecId::AlpRd, PhysicalType::F32) => {
            alp::open_halves::<f32>(input, PhysicalType::F32, rows)
        }
        (CodecId::AlpRd, PhysicalType::F64) => {
            alp::open_halves::<f64>(input, PhysicalType::F64, rows)
        }
        (CodecId::Bits, PhysicalType::Boolean) => {
            Ok(Box::new(Booleans { bits: Bits::open(input, rows)? }))
        }
        (CodecId::Halves, physical) => nested::open_halves(input, physical, rows, depth),
        (CodecId::Lists, _) => nested::open_lists(input, data_type, rows, depth),
        (CodecId::FixedLists, _) => nested::open_fixed_lists(input, data_type, rows, depth),
        (CodecId::Fields, _) => nested::open_fields(input, data_type, rows, depth),
        _ => Err(corruption("codec of another type")),
    }
}

/// BOOLEAN.
struct Booleans {
    bits: Bits,
}

impl Body for Booleans {
    fn read(&mut self, rows: Range<usize>, pick: Option<&[u32]>) -> Result<Read> {
        let bits: BooleanBuffer = self.bits.read(rows, pick);
        Ok(Read::Values(Values::Boolean(bits)))
    }
}

/// Values of fixed width.
pub(crate) struct Fixed<T, D> {
    pub(crate) column: D,
    pub(crate) physical: PhysicalType,
    pub(crate) values: std::marker::PhantomData<T>,
}

impl<T: ArrowNativeType, D: Decode<T>> Fixed<T, D> {
    pub(crate) fn read(&self, rows: Range<usize>, pick: Option<&[u32]>) -> Result<Read> {
        let values = vectors::read(&self.column, rows, pick)?;
        fixed_values(self.physical, values).map(Read::Values)
    }
}

impl<T: ArrowNativeType, D: Decode<T>> Body for Fixed<T, D> {
    fn read(&mut self, rows: Range<usize>, pick: Option<&[u32]>) -> Result<Read> {
        Fixed::read(self, rows, pick)
    }
}

/// Values of a layout as wide as `T`.
pub(crate) fn fixed_values<T: ArrowNativeType>(
    physical: PhysicalType,
    values: Vec<T>,
) -> Result<Values> {
    let bytes = ScalarBuffer::from(values).into_inner();
    let values = Values::from_fixed_bytes(physical, bytes);
    values.ok_or_else(|| corruption("codec of another type"))
}

fn packed<T: Lane + ArrowNativeType>(
    input: &mut Input,
    physical: PhysicalType,
    rows: usize,
) -> Result<Box<dyn Body>> {
    let column = Packed::<T>::open(input, rows)?;
    let fixed = Fixed { column, physical, values: std::marker::PhantomData };
    Ok(Box::new(super::select::PackedIntegers { fixed, scratch: Vec::new() }))
}

fn deltas<T: Lane + ArrowNativeType>(
    input: &mut Input,
    physical: PhysicalType,
    rows: usize,
) -> Result<Box<dyn Body>> {
    let column = Deltas::<T>::open(input, rows)?;
    Ok(Box::new(Fixed { column, physical, values: std::marker::PhantomData }))
}
