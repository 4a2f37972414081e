//! How a simple function's arguments are read.

use std::marker::PhantomData;
use volley_error::{Error, Result};
use volley_types::{Native, Type};
use volley_vector::{BooleanBuffer, Decoded, Indices, NullBuffer, StringValues, Values, Vector};

/// A way to read one argument, named by a marker type such as [`BigInt`].
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

    /// Whether a value is no text, or ASCII.
    #[inline(always)]
    fn is_ascii(_value: Self::Value<'_>) -> bool {
        true
    }

    /// The base of an argument; `None` when the argument has another layout.
    fn base<'a>(source: &'a Source<'_>) -> Option<Self::Base<'a>>;

    /// The base cut to `len` values, for loops without bounds checks.
    fn narrow<'a>(base: Self::Base<'a>, _len: usize) -> Self::Base<'a> {
        base
    }

    /// The value of `row`, which stands at `index` of the base.
    fn get<'a>(base: Self::Base<'a>, row: usize, index: usize) -> Self::Value<'a>;
}

/// An [`Arg`] that stands for one SQL type.
pub trait SqlType: Arg {
    /// The type.
    fn data_type() -> Type;
}

/// A decoded argument.
pub struct Source<'v> {
    decoded: Decoded<'v>,
    /// By row.
    pub(super) nulls: Option<NullBuffer>,
}

impl<'v> Source<'v> {
    /// Decodes a vector.
    ///
    /// # Errors
    ///
    /// What a lazy vector's loader reports.
    pub fn new(vector: &'v Vector) -> Result<Source<'v>> {
        let decoded = Decoded::new(vector)?;
        let nulls = decoded.nulls();
        Ok(Source { decoded, nulls })
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

/// Elements of a fixed-width layout, whatever SQL type they mean.
pub struct Physical<T>(PhantomData<T>);

impl<T: Native> Arg for Physical<T> {
    type Value<'a> = T;
    type Base<'a> = &'a [T];
    const CHEAP: bool = true;

    fn base<'a>(source: &'a Source<'_>) -> Option<&'a [T]> {
        source.decoded.values().native::<T>()
    }

    #[inline(always)]
    fn narrow<'a>(base: Self::Base<'a>, len: usize) -> Self::Base<'a> {
        &base[..len]
    }

    #[inline(always)]
    fn get<'a>(base: Self::Base<'a>, _row: usize, index: usize) -> Self::Value<'a> {
        base[index]
    }
}

/// BOOLEAN.
pub struct Boolean;

impl Arg for Boolean {
    type Value<'a> = bool;
    type Base<'a> = &'a BooleanBuffer;
    const CHEAP: bool = true;

    fn base<'a>(source: &'a Source<'_>) -> Option<&'a BooleanBuffer> {
        match source.decoded.values() {
            Values::Boolean(bits) => Some(bits),
            _ => None,
        }
    }

    #[inline(always)]
    fn get<'a>(base: Self::Base<'a>, _row: usize, index: usize) -> Self::Value<'a> {
        base.value(index)
    }
}

impl SqlType for Boolean {
    fn data_type() -> Type {
        Type::Boolean
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

    fn base<'a>(source: &'a Source<'_>) -> Option<&'a StringValues> {
        source.strings()
    }

    #[inline(always)]
    fn get<'a>(base: Self::Base<'a>, _row: usize, index: usize) -> Self::Value<'a> {
        base.text(index)
    }
}

impl SqlType for Varchar {
    fn data_type() -> Type {
        Type::Varchar
    }
}

/// VARBINARY, as `&[u8]`.
pub struct Varbinary;

impl Arg for Varbinary {
    type Value<'a> = &'a [u8];
    type Base<'a> = &'a StringValues;
    const CHEAP: bool = false;

    fn base<'a>(source: &'a Source<'_>) -> Option<&'a StringValues> {
        source.strings()
    }

    #[inline(always)]
    fn get<'a>(base: Self::Base<'a>, _row: usize, index: usize) -> Self::Value<'a> {
        base.bytes(index)
    }
}

impl SqlType for Varbinary {
    fn data_type() -> Type {
        Type::Varbinary
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

    fn base<'a>(source: &'a Source<'_>) -> Option<Self::Base<'a>> {
        Some((A::base(source)?, source.nulls.as_ref()))
    }

    #[inline(always)]
    fn get<'a>(base: Self::Base<'a>, row: usize, index: usize) -> Option<A::Value<'a>> {
        match base.1 {
            Some(nulls) if nulls.is_null(row) => None,
            _ => Some(A::get(base.0, row, index)),
        }
    }
}

impl<A: SqlType> SqlType for Nullable<A> {
    fn data_type() -> Type {
        A::data_type()
    }
}

macro_rules! fixed_width_types {
    ($($(#[$doc:meta])* $marker:ident($native:ty) = $data_type:expr;)*) => {
        $(
            $(#[$doc])*
            pub type $marker = Sql<$native, { Tag::$marker as u8 }>;

            impl SqlType for $marker {
                fn data_type() -> Type {
                    $data_type
                }
            }
        )*

        #[repr(u8)]
        enum Tag {
            $($marker),*
        }
    };
}

/// Elements of a fixed-width layout that mean one SQL type, told apart by a tag.
pub struct Sql<T, const TAG: u8>(PhantomData<T>);

impl<T: Native, const TAG: u8> Arg for Sql<T, TAG> {
    type Value<'a> = T;
    type Base<'a> = &'a [T];
    const CHEAP: bool = true;

    fn base<'a>(source: &'a Source<'_>) -> Option<&'a [T]> {
        Physical::<T>::base(source)
    }

    #[inline(always)]
    fn narrow<'a>(base: Self::Base<'a>, len: usize) -> Self::Base<'a> {
        &base[..len]
    }

    #[inline(always)]
    fn get<'a>(base: Self::Base<'a>, _row: usize, index: usize) -> Self::Value<'a> {
        base[index]
    }
}

fixed_width_types! {
    /// TINYINT, as `i8`.
    TinyInt(i8) = Type::TinyInt;
    /// SMALLINT, as `i16`.
    SmallInt(i16) = Type::SmallInt;
    /// INTEGER, as `i32`.
    Integer(i32) = Type::Integer;
    /// BIGINT, as `i64`.
    BigInt(i64) = Type::BigInt;
    /// HUGEINT, as `i128`.
    HugeInt(i128) = Type::HugeInt;
    /// REAL, as `f32`.
    Real(f32) = Type::Real;
    /// DOUBLE, as `f64`.
    Double(f64) = Type::Double;
    /// DATE, as days since 1970-01-01.
    Date(i32) = Type::Date;
    /// TIME, as microseconds since midnight.
    Time(i64) = Type::Time;
    /// TIMESTAMP, as microseconds since 1970-01-01.
    Timestamp(i64) = Type::Timestamp;
    /// INTERVAL.
    Interval(volley_types::Interval) = Type::Interval;
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
    pub(super) fn new(source: &'a Source<'_>) -> Result<Reader<'a, A>> {
        let base =
            A::base(source).ok_or_else(|| Error::internal("argument with an unexpected layout"))?;
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
