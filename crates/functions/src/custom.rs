//! The custom types that every session knows, and their conversions from and to bytes.

use std::sync::Arc;
use volley_error::Error;
use volley_function::{BoundScalar, Registry, ScalarTraits, simple};
use volley_types::{
    Type,
    custom::{
        Enumeration, HyperLogLog, IpAddress, IpPrefix, Json, TimeTz, TimestampTz, TimestampUnit,
        UnsignedInteger, Uuid, bits_of, stored_bits,
    },
};
use volley_vector::{Decoded, StringBuilder, Vector};

/// Registers the types.
pub(crate) fn register(registry: &mut Registry) {
    let types = registry.types_mut();
    types.add_plain(Uuid);
    types.add_plain(Json);
    types.add_plain(IpAddress);
    types.add_plain(IpPrefix);
    types.add_plain(HyperLogLog);
    types.add_plain(TimestampTz::default());
    types.add_alias("TIMESTAMPTZ", TimestampTz::NAME);
    types.add_plain(TimeTz);
    types.add_alias("TIMETZ", TimeTz::NAME);
    TimestampUnit::ALL.into_iter().for_each(|it| types.add_plain(it));
    for (unsigned, alias) in
        UnsignedInteger::ALL.into_iter().zip(["UINT8", "UINT16", "UINT32", "UINT64", "UINT128"])
    {
        types.add_plain(unsigned);
        types.add_alias(alias, unsigned.data_type().to_string().as_str());
    }
    types.add("ENUM", Arc::new(make_enum));
    registry.add_casts(Arc::new(bind_bytes));
}

/// ENUM of texts in quotes.
fn make_enum(parameters: &[String]) -> Result<Type, String> {
    let label = |written: &String| {
        let quoted = written.strip_prefix('\'').and_then(|it| it.strip_suffix('\''));
        let quoted =
            quoted.ok_or_else(|| format!("an ENUM lists texts in quotes, not {written}"))?;
        Ok(quoted.replace("''", "'"))
    };
    Enumeration::data_type(parameters.iter().map(label).collect::<Result<_, String>>()?)
}

/// UUID and IPADDRESS as their 16 bytes, the most significant first, and back.
fn bind_bytes(from: &Type, to: &Type) -> Option<BoundScalar> {
    let is_bits = |it: &Type| *it == Uuid::data_type() || *it == IpAddress::data_type();
    let (traits, function) = match (from, to) {
        (_, Type::Varbinary) if is_bits(from) => {
            let function = simple::vectorized(|_, args, _, _| {
                let decoded = Decoded::new(&args[0])?;
                let values = decoded.native::<i128>();
                let mut builder = StringBuilder::with_capacity(decoded.len());
                for row in 0..decoded.len() {
                    match decoded.is_null(row) {
                        true => builder.push_empty(),
                        false => {
                            let bits = bits_of(values[decoded.index(row)]);
                            builder.push(&bits.to_be_bytes());
                        }
                    }
                }
                Ok(Vector::strings(Type::Varbinary, builder.finish(), decoded.nulls()))
            });
            (ScalarTraits::INFALLIBLE, function)
        }
        (Type::Varbinary, _) if is_bits(to) => {
            let function = simple::vectorized(|rows, args, to, ctx| {
                let decoded = Decoded::new(&args[0])?;
                let mut values = vec![0i128; rows.len()];
                rows.for_each(|row| {
                    let bytes = decoded.bytes(row);
                    match <[u8; 16]>::try_from(bytes) {
                        Ok(bytes) => values[row] = stored_bits(u128::from_be_bytes(bytes)),
                        Err(_) => ctx.fail(row, || {
                            let len = bytes.len();
                            Error::invalid_value(format!("{to} has 16 bytes, not {len}"))
                        }),
                    }
                });
                Ok(Vector::native::<i128>(to.clone(), values, decoded.nulls()))
            });
            (ScalarTraits::DEFAULT, function)
        }
        _ => return None,
    };
    let (args, result) = (vec![from.clone()], to.clone());
    Some(BoundScalar { name: "cast".to_owned(), args, result, traits, function })
}
