//! The Arrow bridge: exports vectors as arrays, imports arrays as vectors.
//!
//! | Volley | Arrow out | copies |
//! |---|---|---|
//! | BOOLEAN, integers, REAL, DOUBLE, dates, times, INTERVAL | the same | no |
//! | VARCHAR, VARBINARY | `Utf8View`, `BinaryView` | no |
//! | HUGEINT, DECIMAL | `Decimal128` | DECIMAL of up to 18 digits is widened |
//! | ARRAY | `ListView`; `List` in the portable layout | `List` is rearranged |
//! | ARRAY of a fixed size | `FixedSizeList` | no |
//! | MAP, ROW | `Map`, `Struct` | MAP is rearranged |
//! | unsigned integers | the same; UHUGEINT as `Decimal128` | the sign bit is flipped |
//! | TIMESTAMP_S, TIMESTAMP_MS, TIMESTAMP_NS | `Timestamp` of the unit | no |
//! | UUID | `FixedSizeBinary(16)` with `arrow.uuid` | bytes are reversed |
//! | opaque types | refused | |
//! | custom types | as they say: their storage type, or text | text is written |
//!
//! A stream of record batches has one type per column, so [`to_arrow`] flattens dictionaries,
//! constants and runs. [`to_arrow_encoded`] keeps them, as dictionaries and runs; so does the
//! import. Timestamps with a time zone become microseconds in UTC, and times microseconds.

mod c_data;
mod data_type;
mod encoded;
mod export;
mod import;
#[cfg(test)]
mod tests;

pub use c_data::CArray;
pub use data_type::{
    ArrowLayout, field_to_arrow, schema_from_arrow, schema_to_arrow, type_from_arrow, type_to_arrow,
};
pub use encoded::to_arrow_encoded;
pub use export::{batch_to_arrow, to_arrow};
pub use import::{batch_from_arrow, field_from_arrow, from_arrow};
