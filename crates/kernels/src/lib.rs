//! Loops over slices and bitmaps. See the modules.

pub mod cpu;
pub mod order;
pub mod compare;
pub mod hash;
pub mod unpack;
