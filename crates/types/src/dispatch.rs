//! The three places where a run-time type becomes a Rust type.
//!
//! `match_native!(physical, T => body, else other)` runs `body` with `T` bound to the element type.

/// Binds `$native` to the element type of any fixed-width numeric or interval layout.
#[macro_export]
macro_rules! match_native {
    ($physical:expr, $native:ident => $body:expr, else $other:expr) => {
        match $physical {
            $crate::PhysicalType::I8 => {
                type $native = i8;
                $body
            }
            $crate::PhysicalType::I16 => {
                type $native = i16;
                $body
            }
            $crate::PhysicalType::I32 => {
                type $native = i32;
                $body
            }
            $crate::PhysicalType::I64 => {
                type $native = i64;
                $body
            }
            $crate::PhysicalType::I128 => {
                type $native = i128;
                $body
            }
            $crate::PhysicalType::F32 => {
                type $native = f32;
                $body
            }
            $crate::PhysicalType::F64 => {
                type $native = f64;
                $body
            }
            $crate::PhysicalType::Interval => {
                type $native = $crate::Interval;
                $body
            }
            _ => $other,
        }
    };
}

/// Binds `$native` to the element type of an integer layout.
#[macro_export]
macro_rules! match_integer {
    ($physical:expr, $native:ident => $body:expr, else $other:expr) => {
        match $physical {
            $crate::PhysicalType::I8 => {
                type $native = i8;
                $body
            }
            $crate::PhysicalType::I16 => {
                type $native = i16;
                $body
            }
            $crate::PhysicalType::I32 => {
                type $native = i32;
                $body
            }
            $crate::PhysicalType::I64 => {
                type $native = i64;
                $body
            }
            $crate::PhysicalType::I128 => {
                type $native = i128;
                $body
            }
            _ => $other,
        }
    };
}

/// Binds `$native` to an unsigned integer as wide as the layout's elements (1, 2, 4, 8 or 16
/// bytes).
#[macro_export]
macro_rules! match_width {
    ($physical:expr, $native:ident => $body:expr, else $other:expr) => {
        match $physical {
            $crate::PhysicalType::I8 => {
                type $native = u8;
                $body
            }
            $crate::PhysicalType::I16 => {
                type $native = u16;
                $body
            }
            $crate::PhysicalType::I32 | $crate::PhysicalType::F32 => {
                type $native = u32;
                $body
            }
            $crate::PhysicalType::I64 | $crate::PhysicalType::F64 => {
                type $native = u64;
                $body
            }
            $crate::PhysicalType::I128
            | $crate::PhysicalType::Interval
            | $crate::PhysicalType::View => {
                type $native = u128;
                $body
            }
            _ => $other,
        }
    };
}
