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
//! | opaque types | refused | |
//! | custom types | as they say: their storage type, or text | text is written |
//!
//! A stream of record batches has one type per column, so [`to_arrow`] flattens dictionaries,
//! constants and runs. [`to_arrow_encoded`] keeps them, as dictionaries and runs; so does the
//! import. Unsigned integers become the next larger signed type, timestamps become microseconds,
//! time zones are dropped (values are UTC).

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
pub use import::{batch_from_arrow, from_arrow};
