//! How a simple function's arguments are read.

use super::{generic::AnyColumn, memory::take_if_much};
use std::marker::PhantomData;
use volley_error::{Error, Result};
use volley_types::Native;
use volley_vector::{
    BooleanBuffer, Decoded, Encoding, Indices, NullBuffer, StringValues, Values, Vector,
};

/// A way to read one argument, named by a marker type: a Rust type such as `i64`, or one such as
/// [`Varchar`] and [`crate::simple::Array`].
pub trait Arg: 'static {
    /// What the closure gets.
    type Value<'a>: Copy;
    /// The flat base that values are read from.
    type Base<'a>: Copy;
    /// Whether reading and using a row that is not active costs next to nothing (no strings).
    const CHEAP: bool;
    /// Whether a null argument makes the result null.
    const PROPAGATES: bool = true;
    /// Whether it is text.
    const IS_TEXT: bool = false;
    /// Whether it represents all arguments from its place on.
    const IS_VARIADIC: bool = false;

    /// Whether a value is no text, or ASCII.
    #[inline(always)]
    fn is_ascii(_value: Self::Value<'_>) -> bool {
        true
    }

    /// What is below a flat vector, such as the elements of arrays.
    ///
    /// # Errors
    ///
    /// What a lazy vector's loader reports.
    fn prepare(_flat: &Vector) -> Result<Below> {
        Ok(Below::default())
    }

    /// The base of a column; `None` when it has another layout.
    fn base(column: ColumnRef<'_>) -> Option<Self::Base<'_>>;

    /// The base cut to `len` values, for loops without bounds checks.
    fn narrow<'a>(base: Self::Base<'a>, _len: usize) -> Self::Base<'a> {
        base
    }

    /// The base from value `start` on, and where `start` is in it.
    #[inline(always)]
    fn window<'a>(base: Self::Base<'a>, start: usize, _len: usize) -> (Self::Base<'a>, usize) {
        (base, start)
    }

    /// The value of `row`, which is at `index` of the base.
    fn get<'a>(base: Self::Base<'a>, row: usize, index: usize) -> Self::Value<'a>;

    /// What reads the argument at place `at`.
    ///
    /// # Errors
    ///
    /// Internal, when there is none or it has another layout.
    fn open<'a>(sources: &'a [Source<'a>], at: usize) -> Result<Reader<'a, Self>>
    where
        Self: Sized,
    {
        let source = sources.get(at);
        Reader::new(source.ok_or_else(|| Error::internal("function with too few arguments"))?)
    }
}

/// A flat column as a marker reads it.
#[derive(Clone, Copy)]
pub struct ColumnRef<'a> {
    /// Flat, with its type.
    pub(super) vector: &'a Vector,
    /// By row, for an argument; by position, for what is below one.
    pub(super) nulls: Option<&'a NullBuffer>,
    pub(super) below: &'a Below,
}

impl<'a> ColumnRef<'a> {
    /// The elements.
    pub(super) fn values(&self) -> &'a Values {
        match self.vector.encoding() {
            Encoding::Flat(values) => values,
            _ => &Values::Null(0),
        }
    }
}

/// What a marker prepared of a column, once per batch.
#[derive(Default)]
pub struct Below {
    /// The columns below it.
    pub(super) columns: Vec<FlatColumn>,
    /// What generic values refer to.
    pub(super) any: Option<Box<AnyColumn>>,
}

/// A flat column below an argument.
pub(super) struct FlatColumn {
    vector: Vector,
    below: Below,
}

impl FlatColumn {
    /// The column below an argument that marker `A` reads.
    pub(super) fn new<A: Arg>(vector: &Vector) -> Result<FlatColumn> {
        let bytes = vector.len().saturating_mul(size_of::<u128>());
        if vector.flat_values().is_none() && !take_if_much(bytes) {
            return Err(Error::internal("refused"));
        }
        let vector = vector.flatten()?;
        let below = A::prepare(&vector)?;
        Ok(FlatColumn { vector, below })
    }

    pub(super) fn column(&self) -> ColumnRef<'_> {
        ColumnRef { vector: &self.vector, nulls: self.vector.null_buffer(), below: &self.below }
    }
}

/// A decoded argument.
pub struct Source<'v> {
    decoded: Decoded<'v>,
    /// By row.
    pub(super) nulls: Option<NullBuffer>,
    below: Below,
    /// The position of the one value of all rows, for each row, when some rows are null and the
    /// closure sees that.
    codes: Option<Vec<u32>>,
    /// Whether its nulls make the result null.
    pub(super) propagates: bool,
    pub(super) is_text: bool,
}

impl<'v> Source<'v> {
    /// Decodes a vector, for markers of values that are in the vector itself.
    ///
    /// # Errors
    ///
    /// What a lazy vector's loader reports.
    pub fn new(vector: &'v Vector) -> Result<Source<'v>> {
        let decoded = Decoded::new(vector)?;
        let nulls = decoded.nulls();
        let codes = codes_where_nulls_differ(&decoded, nulls.as_ref());
        let below = Below::default();
        Ok(Source { decoded, nulls, below, codes, propagates: true, is_text: false })
    }

    /// An argument that marker `A` reads.
    pub(super) fn of<A: Arg>(vector: &'v Vector) -> Result<Source<'v>> {
        let decoded = Decoded::new(vector)?;
        let nulls = decoded.nulls();
        let below = A::prepare(decoded.base())?;
        let codes = match A::PROPAGATES {
            true => None,
            false => codes_where_nulls_differ(&decoded, nulls.as_ref()),
        };
        let (propagates, is_text) = (A::PROPAGATES, A::IS_TEXT);
        Ok(Source { decoded, nulls, below, codes, propagates, is_text })
    }

    pub(super) fn column(&self) -> ColumnRef<'_> {
        ColumnRef { vector: self.decoded.base(), nulls: self.nulls.as_ref(), below: &self.below }
    }

    /// The argument's rows.
    pub fn decoded(&self) -> &Decoded<'v> {
        &self.decoded
    }

    /// The null rows; `None` when no row is null.
    pub fn nulls(&self) -> Option<&NullBuffer> {
        self.nulls.as_ref()
    }

    pub(super) fn strings(&self) -> Option<&StringValues> {
        match self.decoded.values() {
            Values::View(values) => Some(values),
            _ => None,
        }
    }

    pub(super) fn index(&self, row: usize) -> usize {
        self.decoded.index(row)
    }
}

/// The position of the one value of all rows, for each row, when some of them are null.
fn codes_where_nulls_differ(decoded: &Decoded<'_>, nulls: Option<&NullBuffer>) -> Option<Vec<u32>> {
    match (decoded.indices(), nulls) {
        (Indices::Constant(_), Some(nulls)) if nulls.null_count() < nulls.len() => {
            Some(decoded.to_codes())
        }
        _ => None,
    }
}

/// Adds the decoded argument at place `at`, or all from there on for a variadic marker.
pub(super) fn decode<'v, A: Arg>(
    args: &'v [Vector],
    at: usize,
    sources: &mut Vec<Source<'v>>,
) -> Result<()> {
    if !A::IS_VARIADIC && args.len() <= at {
        return Err(Error::internal("function called with too few arguments"));
    }
    let end = if A::IS_VARIADIC { args.len() } else { at + 1 };
    for arg in &args[at.min(end)..end] {
        sources.push(Source::of::<A>(arg)?);
    }
    Ok(())
}

/// Reads one argument's rows. Each shape gets a loop of its own where that pays.
pub enum Reader<'a, A: Arg> {
    /// Every row at its own position of the base.
    Flat(A::Base<'a>),
    /// One value.
    Constant(A::Value<'a>),
    /// Every row at the position that its code names.
    Codes(A::Base<'a>, &'a [u32]),
}

impl<A: Arg> Clone for Reader<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Arg> Copy for Reader<'_, A> {}

impl<'a, A: Arg> Reader<'a, A> {
    /// A reader of a source of at least one row.
    fn new(source: &'a Source<'_>) -> Result<Reader<'a, A>> {
        let base = A::base(source.column())
            .ok_or_else(|| Error::internal("argument with an unexpected layout"))?;
        if let Some(codes) = &source.codes {
            return Ok(Reader::Codes(base, codes));
        }
        Ok(match source.decoded.indices() {
            Indices::Identity => Reader::Flat(A::narrow(base, source.decoded.len())),
            Indices::Constant(index) => Reader::Constant(A::get(base, 0, *index as usize)),
            Indices::Codes(codes) => Reader::Codes(base, codes),
        })
    }

    #[inline(always)]
    pub(super) fn get(&self, row: usize) -> A::Value<'a> {
        match self {
            Reader::Flat(base) => A::get(*base, row, row),
            Reader::Constant(value) => *value,
            Reader::Codes(base, codes) => A::get(*base, row, codes[row] as usize),
        }
    }
}

/// A marker whose values stand next to each other in memory.
pub trait Contiguous: Arg {
    /// One value as it is stored.
    type Element: Native;

    /// All of a base.
    fn as_slice<'a>(base: Self::Base<'a>) -> &'a [Self::Element];
}

/// Elements of a fixed-width layout, whatever SQL type they mean.
pub struct Physical<T>(PhantomData<T>);

impl<T: Native> Arg for Physical<T> {
    type Value<'a> = T;
    type Base<'a> = &'a [T];
    const CHEAP: bool = true;

    fn base(column: ColumnRef<'_>) -> Option<&[T]> {
        column.values().native::<T>()
    }

    #[inline(always)]
    fn narrow<'a>(base: Self::Base<'a>, len: usize) -> Self::Base<'a> {
        &base[..len]
    }

    #[inline(always)]
    fn window<'a>(base: Self::Base<'a>, start: usize, len: usize) -> (Self::Base<'a>, usize) {
        (&base[start..start + len], 0)
    }

    #[inline(always)]
    fn get<'a>(base: Self::Base<'a>, _row: usize, index: usize) -> Self::Value<'a> {
        base[index]
    }
}

impl<T: Native> Contiguous for Physical<T> {
    type Element = T;

    #[inline(always)]
    fn as_slice<'a>(base: Self::Base<'a>) -> &'a [T] {
        base
    }
}

impl Arg for bool {
    type Value<'a> = bool;
    type Base<'a> = &'a BooleanBuffer;
    const CHEAP: bool = true;

    fn base(column: ColumnRef<'_>) -> Option<&BooleanBuffer> {
        match column.values() {
            Values::Boolean(bits) => Some(bits),
            _ => None,
        }
    }

    #[inline(always)]
    fn get<'a>(base: Self::Base<'a>, _row: usize, index: usize) -> Self::Value<'a> {
        base.value(index)
    }
}

/// VARCHAR, as `&str`.
pub struct Varchar;

impl Arg for Varchar {
    type Value<'a> = &'a str;
    type Base<'a> = &'a StringValues;
    const CHEAP: bool = false;
    const IS_TEXT: bool = true;

    #[inline(always)]
    fn is_ascii(value: &str) -> bool {
        value.is_ascii()
    }

    fn base(column: ColumnRef<'_>) -> Option<&StringValues> {
        match column.values() {
            Values::View(values) => Some(values),
            _ => None,
        }
    }

    #[inline(always)]
    fn get<'a>(base: Self::Base<'a>, _row: usize, index: usize) -> Self::Value<'a> {
        base.text(index)
    }
}

/// VARBINARY, as `&[u8]`.
pub struct Varbinary;

impl Arg for Varbinary {
    type Value<'a> = &'a [u8];
    type Base<'a> = &'a StringValues;
    const CHEAP: bool = false;

    fn base(column: ColumnRef<'_>) -> Option<&StringValues> {
        Varchar::base(column)
    }

    #[inline(always)]
    fn get<'a>(base: Self::Base<'a>, _row: usize, index: usize) -> Self::Value<'a> {
        base.bytes(index)
    }
}

/// An argument that may be null: the closure gets an `Option`, also for null rows.
pub struct Nullable<A>(PhantomData<A>);

impl<A: Arg> Arg for Nullable<A> {
    type Value<'a> = Option<A::Value<'a>>;
    type Base<'a> = (A::Base<'a>, Option<&'a NullBuffer>);
    const CHEAP: bool = A::CHEAP;
    const PROPAGATES: bool = false;
    const IS_TEXT: bool = A::IS_TEXT;

    #[inline(always)]
    fn is_ascii(value: Option<A::Value<'_>>) -> bool {
        value.is_none_or(A::is_ascii)
    }

    fn prepare(flat: &Vector) -> Result<Below> {
        A::prepare(flat)
    }

    fn base(column: ColumnRef<'_>) -> Option<Self::Base<'_>> {
        Some((A::base(column)?, column.nulls))
    }

    #[inline(always)]
    fn get<'a>(base: Self::Base<'a>, row: usize, index: usize) -> Option<A::Value<'a>> {
        match base.1 {
            Some(nulls) if nulls.is_null(row) => None,
            _ => Some(A::get(base.0, row, index)),
        }
    }
}

/// Elements of a fixed-width layout that mean one SQL type, told apart by a tag.
pub struct Sql<T, const TAG: u8>(PhantomData<T>);

/// Implements the traits of markers that read elements of one layout as a value each.
macro_rules! fixed_width_markers {
    ($($(@[$($generics:tt)*])? $marker:ty: $stored:ty => $value:ty, $from:expr;)*) => {
        $(
            impl$(<$($generics)*>)? Arg for $marker {
                type Value<'a> = $value;
                type Base<'a> = &'a [$stored];
                const CHEAP: bool = true;

                fn base(column: ColumnRef<'_>) -> Option<&[$stored]> {
                    Physical::<$stored>::base(column)
                }

                #[inline(always)]
                fn narrow<'a>(base: Self::Base<'a>, len: usize) -> Self::Base<'a> {
                    &base[..len]
                }

                #[inline(always)]
                fn window<'a>(
                    base: Self::Base<'a>,
                    start: usize,
                    len: usize,
                ) -> (Self::Base<'a>, usize) {
                    (&base[start..start + len], 0)
                }

                #[inline(always)]
                fn get<'a>(base: Self::Base<'a>, _row: usize, index: usize) -> Self::Value<'a> {
                    $from(base[index])
                }
            }

            impl$(<$($generics)*>)? Contiguous for $marker {
                type Element = $stored;

                #[inline(always)]
                fn as_slice<'a>(base: Self::Base<'a>) -> &'a [$stored] {
                    base
                }
            }
        )*
    };
}

fixed_width_markers! {
    i8: i8 => i8, std::convert::identity;
    i16: i16 => i16, std::convert::identity;
    i32: i32 => i32, std::convert::identity;
    i64: i64 => i64, std::convert::identity;
    i128: i128 => i128, std::convert::identity;
    f32: f32 => f32, std::convert::identity;
    f64: f64 => f64, std::convert::identity;
    volley_types::Interval: volley_types::Interval => volley_types::Interval,
        std::convert::identity;
    @[T: Native, const TAG: u8] Sql<T, TAG>: T => T, std::convert::identity;
    DateDays: i32 => DateDays, DateDays;
    TimeMicros: i64 => TimeMicros, TimeMicros;
    TimestampMicros: i64 => TimestampMicros, TimestampMicros;
}

/// A DATE: days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateDays(pub i32);

/// A TIME: microseconds since midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeMicros(pub i64);

/// A TIMESTAMP: microseconds since 1970-01-01 00:00:00.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimestampMicros(pub i64);

/// TINYINT, as `i8`.
pub type TinyInt = i8;
/// SMALLINT, as `i16`.
pub type SmallInt = i16;
/// INTEGER, as `i32`.
pub type Integer = i32;
/// BIGINT, as `i64`.
pub type BigInt = i64;
/// HUGEINT, as `i128`.
pub type HugeInt = i128;
/// REAL, as `f32`.
pub type Real = f32;
/// DOUBLE, as `f64`.
pub type Double = f64;
/// BOOLEAN, as `bool`.
pub type Boolean = bool;
/// INTERVAL.
pub type Interval = volley_types::Interval;
/// DATE, as the `i32` of days since 1970-01-01.
pub type Date = Sql<i32, 0>;
/// TIME, as the `i64` of microseconds since midnight.
pub type Time = Sql<i64, 1>;
/// TIMESTAMP, as the `i64` of microseconds since 1970-01-01.
pub type Timestamp = Sql<i64, 2>;
