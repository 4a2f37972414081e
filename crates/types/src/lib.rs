//! Logical types, physical types and scalar values.
//!
//! ```text
//! Type (what SQL sees) ──physical()──> PhysicalType (how a column is laid out)
//! Value (one scalar)                   Native (the Rust type of one element)
//! ```
//!
//! Read [`Type`] and [`Value`] first. This crate does not know vectors.

mod data_type;
mod type_size;
mod physical;
mod value;
mod coercion;
pub mod custom;
mod opaque;
mod nearest;
pub mod civil;
mod series;
mod sort_key;
mod zone;
mod zone_id;
pub mod text;
pub mod dispatch;

pub use arrow_buffer::IntervalMonthDayNano as Interval;
pub use coercion::{
    common_type, common_type_by_position, comparable_type, comparable_type_by_position,
    implicit_cast_cost,
};
pub use custom::{ComparisonKey, Custom, CustomOrder, CustomType, Exchange, TypeRegistry};
pub use data_type::{
    DECIMAL_PRECISION_MAX, FIXED_ARRAY_SIZE_MAX, Field, Schema, Type, row_field_name,
};
pub use nearest::nearest_name;
pub use opaque::{Object, Opaque, OpaqueType};
pub use physical::{Native, PhysicalType};
pub use series::{Series, SeriesStep};
pub use sort_key::SortKey;
pub use type_size::{TYPE_DEPTH_MAX, TYPE_PARTS_MAX};
pub use value::Value;
pub use zone::{Clock, Zone};
pub use zone_id::{ZoneClocks, ZoneId};
