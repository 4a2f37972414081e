//! The logical types: what a value means.

use crate::{Custom, CustomOrder, Opaque, PhysicalType, custom::UnsignedInteger};
use std::{borrow::Cow, fmt, sync::Arc};

/// The maximum number of digits a DECIMAL holds.
pub const DECIMAL_PRECISION_MAX: u8 = 38;

/// The maximum number of elements of an array of a fixed size.
pub const FIXED_ARRAY_SIZE_MAX: u32 = 100_000;

/// The maximum number of digits a DECIMAL holds in 64 bits.
const DECIMAL_PRECISION_I64: u8 = 18;

/// A logical type. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// The type of a bare NULL.
    Unknown,
    /// True or false.
    Boolean,
    /// 8-bit signed integer.
    TinyInt,
    /// 16-bit signed integer.
    SmallInt,
    /// 32-bit signed integer.
    Integer,
    /// 64-bit signed integer.
    BigInt,
    /// 128-bit signed integer.
    HugeInt,
    /// 32-bit IEEE float.
    Real,
    /// 64-bit IEEE float.
    Double,
    /// Exact decimal: an integer of `precision` digits, `scale` of them after the point.
    Decimal {
        /// Digits in all, 1 to 38.
        precision: u8,
        /// Digits after the point, 0 to `precision`.
        scale: u8,
    },
    /// UTF-8 text.
    Varchar,
    /// Bytes.
    Varbinary,
    /// Days since 1970-01-01.
    Date,
    /// Microseconds since midnight.
    Time,
    /// Microseconds since 1970-01-01 00:00:00, without a time zone.
    Timestamp,
    /// Months, days and nanoseconds, as separate fields.
    Interval,
    /// A list of elements of one type.
    Array(Arc<Type>),
    /// Lists of as many elements of one type as the number says, at least one: `(element, size)`.
    FixedArray(Arc<(Type, u32)>),
    /// Key-value pairs: `(key, value)`.
    Map(Arc<(Type, Type)>),
    /// Named fields.
    Row(Arc<[Field]>),
    /// A type registered at run time.
    Custom(Custom),
    /// Objects of a Rust type.
    Opaque(Opaque),
}

/// A named, typed column or row field. Every field may be null.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// The name as written; lookups ignore case.
    pub name: String,
    /// The type.
    pub data_type: Type,
}

/// The name of field `index` of a ROW where every field needs one, such as in JSON: `field0` and so
/// on for a field without a name.
pub fn row_field_name(field: &Field, index: usize) -> Cow<'_, str> {
    if field.name.is_empty() {
        Cow::Owned(format!("field{index}"))
    } else {
        Cow::Borrowed(&field.name)
    }
}

/// The columns of a batch or table, in order. Names may repeat.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Schema {
    /// The columns.
    pub fields: Vec<Field>,
}

impl Type {
    /// DECIMAL(precision, scale); panics only if a caller in this code base passes nonsense.
    pub const fn decimal(precision: u8, scale: u8) -> Type {
        assert!(precision >= 1 && precision <= DECIMAL_PRECISION_MAX && scale <= precision);
        Type::Decimal { precision, scale }
    }

    /// ARRAY(element).
    pub fn array(element: Type) -> Type {
        Type::Array(Arc::new(element))
    }

    /// ARRAY(element, size).
    ///
    /// # Panics
    ///
    /// If `size` is 0 or above [`FIXED_ARRAY_SIZE_MAX`].
    pub fn fixed_array(element: Type, size: u32) -> Type {
        assert!((1..=FIXED_ARRAY_SIZE_MAX).contains(&size), "elements of an array: {size}");
        Type::FixedArray(Arc::new((element, size)))
    }

    /// The type, as an ARRAY of any size where it is one of a fixed size.
    pub fn without_size(&self) -> Type {
        match self {
            Type::FixedArray(array) => Type::array(array.0.clone()),
            other => other.clone(),
        }
    }

    /// MAP(key, value).
    pub fn map(key: Type, value: Type) -> Type {
        Type::Map(Arc::new((key, value)))
    }

    /// ROW(fields).
    pub fn row(fields: impl IntoIterator<Item = Field>) -> Type {
        Type::Row(fields.into_iter().collect())
    }

    /// ROW(key, value): the element type of a map's storage.
    pub fn entry_type(&self) -> Type {
        match self {
            Type::Map(entry) => Type::row([
                Field::new("key", entry.0.clone()),
                Field::new("value", entry.1.clone()),
            ]),
            _ => Type::Unknown,
        }
    }

    /// How values of this type are laid out in a flat vector.
    pub fn physical(&self) -> PhysicalType {
        match self {
            Type::Unknown => PhysicalType::Null,
            Type::Boolean => PhysicalType::Boolean,
            Type::TinyInt => PhysicalType::I8,
            Type::SmallInt => PhysicalType::I16,
            Type::Integer | Type::Date => PhysicalType::I32,
            Type::BigInt | Type::Time | Type::Timestamp => PhysicalType::I64,
            Type::HugeInt => PhysicalType::I128,
            Type::Real => PhysicalType::F32,
            Type::Double => PhysicalType::F64,
            Type::Decimal { precision, .. } if *precision <= DECIMAL_PRECISION_I64 => {
                PhysicalType::I64
            }
            Type::Decimal { .. } => PhysicalType::I128,
            Type::Varchar | Type::Varbinary => PhysicalType::View,
            Type::Interval => PhysicalType::Interval,
            Type::Array(_) => PhysicalType::Array,
            Type::FixedArray(_) => PhysicalType::FixedArray,
            Type::Map(_) => PhysicalType::Map,
            Type::Row(_) => PhysicalType::Row,
            Type::Custom(custom) => custom.storage().physical(),
            Type::Opaque(_) => PhysicalType::Opaque,
        }
    }

    /// The type that values are stored as: of a custom type its storage type, of others the type.
    pub fn storage(&self) -> &Type {
        match self {
            Type::Custom(custom) => custom.storage(),
            other => other,
        }
    }

    /// The texts of all values, of an ENUM; see [`CustomType::labels`].
    ///
    /// [`CustomType::labels`]: crate::CustomType::labels
    pub fn labels(&self) -> Option<&[String]> {
        match self {
            Type::Custom(custom) => custom.labels(),
            _ => None,
        }
    }

    /// Which comparisons there are between values of the type: those of its parts.
    pub fn order(&self) -> CustomOrder {
        match self {
            Type::Custom(custom) => custom.order(),
            Type::Opaque(opaque) => opaque.order(),
            Type::Array(element) => element.order(),
            Type::FixedArray(array) => array.0.order(),
            Type::Map(entry) => entry.0.order().min(entry.1.order()),
            Type::Row(fields) => {
                let orders = fields.iter().map(|it| it.data_type.order());
                orders.min().unwrap_or(CustomOrder::Ordered)
            }
            _ => CustomOrder::Ordered,
        }
    }

    /// TINYINT to HUGEINT; not an unsigned integer, see [`Type::unsigned`].
    pub fn is_integer(&self) -> bool {
        self.integer_rank().is_some()
    }

    /// 0 for TINYINT to 4 for HUGEINT.
    pub(crate) fn integer_rank(&self) -> Option<u8> {
        match self {
            Type::TinyInt => Some(0),
            Type::SmallInt => Some(1),
            Type::Integer => Some(2),
            Type::BigInt => Some(3),
            Type::HugeInt => Some(4),
            _ => None,
        }
    }

    /// REAL or DOUBLE.
    pub fn is_float(&self) -> bool {
        matches!(self, Type::Real | Type::Double)
    }

    /// Any DECIMAL.
    pub fn is_decimal(&self) -> bool {
        matches!(self, Type::Decimal { .. })
    }

    /// An integer, float or decimal that is stored as its number; not an unsigned integer.
    pub fn is_numeric(&self) -> bool {
        self.is_integer() || self.is_float() || self.is_decimal()
    }

    /// Which unsigned integer type it is.
    pub fn unsigned(&self) -> Option<UnsignedInteger> {
        match self {
            Type::Custom(custom) => custom.unsigned(),
            _ => None,
        }
    }

    /// Any number: as [`Type::is_numeric`], or an unsigned integer.
    pub fn is_number(&self) -> bool {
        self.is_numeric() || self.unsigned().is_some()
    }

    /// VARCHAR or VARBINARY.
    pub fn is_string(&self) -> bool {
        matches!(self, Type::Varchar | Type::Varbinary)
    }

    /// ARRAY of any or a fixed size, MAP or ROW.
    pub fn is_nested(&self) -> bool {
        matches!(self, Type::Array(_) | Type::FixedArray(_) | Type::Map(_) | Type::Row(_))
    }

    /// The precision and scale that hold every value of an integer or decimal type.
    pub fn decimal_shape(&self) -> Option<(u8, u8)> {
        match self {
            Type::TinyInt => Some((3, 0)),
            Type::SmallInt => Some((5, 0)),
            Type::Integer => Some((10, 0)),
            Type::BigInt => Some((19, 0)),
            Type::HugeInt => Some((38, 0)),
            Type::Decimal { precision, scale } => Some((*precision, *scale)),
            _ => None,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Unknown => f.write_str("NULL"),
            Type::Boolean => f.write_str("BOOLEAN"),
            Type::TinyInt => f.write_str("TINYINT"),
            Type::SmallInt => f.write_str("SMALLINT"),
            Type::Integer => f.write_str("INTEGER"),
            Type::BigInt => f.write_str("BIGINT"),
            Type::HugeInt => f.write_str("HUGEINT"),
            Type::Real => f.write_str("REAL"),
            Type::Double => f.write_str("DOUBLE"),
            Type::Decimal { precision, scale } => write!(f, "DECIMAL({precision},{scale})"),
            Type::Varchar => f.write_str("VARCHAR"),
            Type::Varbinary => f.write_str("VARBINARY"),
            Type::Date => f.write_str("DATE"),
            Type::Time => f.write_str("TIME"),
            Type::Timestamp => f.write_str("TIMESTAMP"),
            Type::Interval => f.write_str("INTERVAL"),
            Type::Array(element) => write!(f, "ARRAY({element})"),
            Type::FixedArray(array) => write!(f, "ARRAY({}, {})", array.0, array.1),
            Type::Map(entry) => write!(f, "MAP({}, {})", entry.0, entry.1),
            Type::Row(fields) => {
                f.write_str("ROW(")?;
                for (index, field) in fields.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    let (name, data_type) = (shown_name(&field.name), &field.data_type);
                    write!(f, "{comma}{name} {data_type}")?;
                }
                f.write_str(")")
            }
            Type::Custom(custom) => f.write_str(custom.name()),
            Type::Opaque(opaque) => f.write_str(opaque.name()),
        }
    }
}

/// A field's name as SQL has it: in quotes, unless it is a word.
pub(crate) fn shown_name(name: &str) -> Cow<'_, str> {
    let begins_word = name.starts_with(|it: char| it.is_alphabetic() || it == '_');
    if begins_word && name.chars().all(|it| it.is_alphanumeric() || it == '_') {
        return name.into();
    }
    format!("\"{}\"", name.replace('"', "\"\"")).into()
}

impl Field {
    /// Creates a field.
    pub fn new(name: impl Into<String>, data_type: Type) -> Field {
        Field { name: name.into(), data_type }
    }
}

impl Schema {
    /// Creates a schema of `fields`.
    pub fn new(fields: Vec<Field>) -> Schema {
        Schema { fields }
    }

    /// The number of columns.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether the schema has no columns.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The types of the columns, in order.
    pub fn types(&self) -> impl ExactSizeIterator<Item = &Type> + Clone {
        self.fields.iter().map(|it| &it.data_type)
    }

    /// The position of the first column called `name`, ignoring ASCII case.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|it| it.name.eq_ignore_ascii_case(name))
    }

    /// The position of a column called `name`, ignoring ASCII case: `place`, its usual position, if
    /// the column there has that name, or the first one.
    pub fn index_near(&self, name: &str, place: usize) -> Option<usize> {
        let stands = |it: &Field| it.name.eq_ignore_ascii_case(name);
        if self.fields.get(place).is_some_and(stands) { Some(place) } else { self.index_of(name) }
    }
}

impl FromIterator<Field> for Schema {
    fn from_iter<I: IntoIterator<Item = Field>>(fields: I) -> Schema {
        Schema { fields: fields.into_iter().collect() }
    }
}
