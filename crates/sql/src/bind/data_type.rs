//! Types as written.

use super::{Binder, unsupported};
use sqlparser::ast::{
    ArrayElemTypeDef, DataType, EnumMember, ExactNumberInfo, Spanned, StructField,
};
use volley_error::{Error, Result, Span};
use volley_types::{
    DECIMAL_PRECISION_MAX, FIXED_ARRAY_SIZE_MAX, Field, Type,
    custom::{Enumeration, TimeTz, TimestampUnit, UnsignedInteger, ZonedClock, ZonedTimestamp},
};

/// DECIMAL without arguments.
const DECIMAL_DEFAULT: (u8, u8) = (18, 3);

impl Binder<'_> {
    /// The type that `written` names.
    pub(super) fn data_type(&self, written: &DataType, span: Option<Span>) -> Result<Type> {
        let data_type = self.named_type_of(written, span)?;
        if data_type.is_nested() {
            data_type.check_size().map_err(|it| it.span(span))?;
        }
        Ok(data_type)
    }

    fn named_type_of(&self, written: &DataType, span: Option<Span>) -> Result<Type> {
        Ok(match written {
            DataType::Boolean | DataType::Bool => Type::Boolean,
            DataType::TinyInt(_) => Type::TinyInt,
            DataType::SmallInt(_) | DataType::Int2(_) => Type::SmallInt,
            DataType::Int(_) | DataType::Integer(_) | DataType::Int4(_) | DataType::Signed => {
                Type::Integer
            }
            DataType::BigInt(_) | DataType::Int8(_) | DataType::Int64 => Type::BigInt,
            DataType::HugeInt | DataType::Int128 => Type::HugeInt,
            DataType::UTinyInt | DataType::UInt8 => UnsignedInteger::UTinyInt.data_type(),
            DataType::USmallInt | DataType::UInt16 => UnsignedInteger::USmallInt.data_type(),
            DataType::UInt32 => UnsignedInteger::UInteger.data_type(),
            DataType::UBigInt | DataType::UInt64 => UnsignedInteger::UBigInt.data_type(),
            DataType::UHugeInt | DataType::UInt128 => UnsignedInteger::UHugeInt.data_type(),
            DataType::Real | DataType::Float4 | DataType::Float(_) => Type::Real,
            DataType::Float32 => Type::Real,
            DataType::Float64 | DataType::Float8 => Type::Double,
            DataType::Double(_) | DataType::DoublePrecision => Type::Double,
            DataType::Decimal(info) | DataType::Numeric(info) | DataType::Dec(info) => {
                let is_bare = matches!(info, ExactNumberInfo::None);
                match is_bare && self.shared.is_presto() {
                    true => Type::decimal(DECIMAL_PRECISION_MAX, 0),
                    false => decimal(info, span)?,
                }
            }
            DataType::Varchar(_)
            | DataType::Char(_)
            | DataType::Character(_)
            | DataType::CharacterVarying(_)
            | DataType::CharVarying(_)
            | DataType::Nvarchar(_)
            | DataType::Text
            | DataType::String(_) => Type::Varchar,
            DataType::Blob(_)
            | DataType::Bytea
            | DataType::Binary(_)
            | DataType::Varbinary(_)
            | DataType::Bytes(_) => Type::Varbinary,
            DataType::Date => Type::Date,
            DataType::Time(_, zone) if !has_zone(zone) => Type::Time,
            DataType::Time(..) if self.shared.is_presto() => {
                self.registered_type(ZonedClock::NAME, &[], span)?
            }
            DataType::Time(..) => TimeTz::data_type(),
            DataType::Timestamp(digits, zone) if !has_zone(zone) => match digits {
                Some(digits) if !self.shared.is_presto() => timestamp_of(*digits),
                _ => Type::Timestamp,
            },
            DataType::Datetime(_) => Type::Timestamp,
            DataType::Timestamp(..) if self.shared.is_presto() => {
                self.registered_type(ZonedTimestamp::NAME, &[], span)?
            }
            DataType::Timestamp(..) => self.registered_type("TIMESTAMPTZ", &[], span)?,
            DataType::Interval { .. } => Type::Interval,
            DataType::Uuid => self.registered_type("UUID", &[], span)?,
            DataType::JSON | DataType::JSONB => self.registered_type("JSON", &[], span)?,
            DataType::Array(element) => self.array_type(element, span)?,
            DataType::Struct(fields, _) => self.row_type(fields, span)?,
            DataType::Map(key, value, ..) => {
                Type::map(self.data_type(key, span)?, self.data_type(value, span)?)
            }
            DataType::Enum(members, _) => enumeration(members, span)?,
            DataType::Custom(name, arguments) => {
                let span = self.span(name.span()).or(span);
                self.custom_type(&crate::parse::dotted(name), arguments, span)?
            }
            other => return Err(unsupported(format!("the type {other}"), span)),
        })
    }

    fn array_type(&self, element: &ArrayElemTypeDef, span: Option<Span>) -> Result<Type> {
        match element {
            ArrayElemTypeDef::SquareBracket(element, None)
            | ArrayElemTypeDef::AngleBracket(element)
            | ArrayElemTypeDef::Qualified(element, None)
            | ArrayElemTypeDef::Parenthesis(element) => {
                Ok(Type::array(self.data_type(element, span)?))
            }
            ArrayElemTypeDef::SquareBracket(element, Some(size))
            | ArrayElemTypeDef::Qualified(element, Some(size)) => {
                fixed_array(self.data_type(element, span)?, *size, span)
            }
            ArrayElemTypeDef::None => Err(unsupported("arrays without an element type", span)),
        }
    }

    fn row_type(&self, fields: &[StructField], span: Option<Span>) -> Result<Type> {
        let field = |it: &StructField| {
            let name = it.field_name.as_ref().map_or("", |it| it.value.as_str());
            Ok(Field::new(name, self.data_type(&it.field_type, span)?))
        };
        let fields = fields.iter().map(field).collect::<Result<Vec<Field>>>()?;
        let names: Vec<String> = fields.iter().map(|it| it.name.clone()).collect();
        self.check_field_names(&names, span)?;
        Ok(Type::row(fields))
    }

    /// Types that the parser has no word for.
    fn custom_type(&self, name: &str, arguments: &[String], span: Option<Span>) -> Result<Type> {
        if let Some(nested) = self.nested_type(name, arguments, span)? {
            return Ok(nested);
        }
        let plain = match name.to_ascii_uppercase().as_str() {
            "HUGEINT" | "INT128" => Type::HugeInt,
            "LONG" => Type::BigInt,
            "SHORT" => Type::SmallInt,
            "INT1" => Type::TinyInt,
            "LOGICAL" => Type::Boolean,
            "BPCHAR" | "STRING" => Type::Varchar,
            "DATETIME" | "TIMESTAMP_US" => Type::Timestamp,
            _ => return self.registered_type(name, arguments, span),
        };
        if arguments.is_empty() { Ok(plain) } else { Err(self.unknown_type(name, span)) }
    }

    /// ARRAY, MAP or ROW with the texts of its parts.
    fn nested_type(
        &self,
        name: &str,
        arguments: &[String],
        span: Option<Span>,
    ) -> Result<Option<Type>> {
        let part = |it: &String| {
            let written = crate::parse::parse_type(it);
            self.data_type(&written.map_err(|it| it.span(span))?, span)
        };
        Ok(Some(match (name.to_ascii_uppercase().as_str(), arguments) {
            ("ARRAY", [element]) => Type::array(part(element)?),
            ("ARRAY", [element, size]) => {
                let message = "the size of an array type is a whole number";
                let size = size.parse().map_err(|_| Error::invalid_query(message).span(span))?;
                fixed_array(part(element)?, size, span)?
            }
            ("MAP", [key, value]) => Type::map(part(key)?, part(value)?),
            ("ROW", [_, ..]) => {
                let field = |it: &String| {
                    let (name, written) =
                        crate::parse::parse_field(it).map_err(|it| it.span(span))?;
                    Ok(Field::new(name, self.data_type(&written, span)?))
                };
                Type::row(arguments.iter().map(field).collect::<Result<Vec<_>>>()?)
            }
            _ => return Ok(None),
        }))
    }

    /// A type that was registered at run time.
    fn registered_type(
        &self,
        name: &str,
        parameters: &[String],
        span: Option<Span>,
    ) -> Result<Type> {
        match self.shared.registry.types().make(name, parameters) {
            Some(made) => made.map_err(|message| Error::invalid_query(message).span(span)),
            None => self.named_type(name, parameters, span),
        }
    }

    pub(super) fn unknown_type(&self, name: &str, span: Option<Span>) -> Error {
        let error = Error::invalid_query(format!("no such type: {name}")).span(span);
        // ROW is how types are shown; STRUCT is how they are written.
        let registered = self.shared.registry.types().names().filter(|it| *it != "ROW");
        let named = self.shared.catalog.type_names();
        let names = registered.chain(named.iter().map(String::as_str));
        match volley_types::nearest_name(name, names) {
            Some(nearest) => error.hint(format!("did you mean {nearest}?")),
            None => error,
        }
    }
}

fn enumeration(members: &[EnumMember], span: Option<Span>) -> Result<Type> {
    let label = |it: &EnumMember| match it {
        EnumMember::Name(label) => Ok(label.clone()),
        EnumMember::NamedValue(..) => Err(unsupported("numbers of the values of an ENUM", span)),
    };
    let labels = members.iter().map(label).collect::<Result<Vec<_>>>()?;
    Enumeration::data_type(labels).map_err(|it| Error::invalid_query(it).span(span))
}

fn fixed_array(element: Type, size: u64, span: Option<Span>) -> Result<Type> {
    match u32::try_from(size).ok().filter(|it| (1..=FIXED_ARRAY_SIZE_MAX).contains(it)) {
        Some(size) => Ok(Type::fixed_array(element, size)),
        None => {
            let message =
                format!("an array of a fixed size has 1 to {FIXED_ARRAY_SIZE_MAX} elements");
            Err(Error::invalid_query(message).span(span))
        }
    }
}

/// TIMESTAMP with this number of digits after the second, or the next greater one that there is.
fn timestamp_of(digits: u64) -> Type {
    match digits {
        0 => TimestampUnit::Second.data_type(),
        1..=3 => TimestampUnit::Millisecond.data_type(),
        4..=6 => Type::Timestamp,
        _ => TimestampUnit::Nanosecond.data_type(),
    }
}

fn has_zone(zone: &sqlparser::ast::TimezoneInfo) -> bool {
    use sqlparser::ast::TimezoneInfo;
    matches!(zone, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz)
}

fn decimal(info: &ExactNumberInfo, span: Option<Span>) -> Result<Type> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => (DECIMAL_DEFAULT.0.into(), DECIMAL_DEFAULT.1.into()),
        ExactNumberInfo::Precision(precision) => (*precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
    };
    let max = u64::from(DECIMAL_PRECISION_MAX);
    let scale = u64::try_from(scale).ok().filter(|scale| *scale <= precision);
    match (u8::try_from(precision), scale.and_then(|it| u8::try_from(it).ok())) {
        (Ok(precision_u8), Some(scale)) if (1..=max).contains(&precision) => {
            Ok(Type::Decimal { precision: precision_u8, scale })
        }
        _ => {
            let message = format!("DECIMAL takes 1 to {max} digits, and a scale up to that");
            Err(Error::invalid_query(message).span(span))
        }
    }
}
