//! Loops over slices and bitmaps. See the modules.

pub mod cpu;
pub mod bits;
pub mod arithmetic;
pub mod order;
pub mod compare;
pub mod membership;
pub mod lookup;
pub mod hash;
pub mod gather;
pub mod scatter;
pub mod text;
pub mod bytes;
pub mod unpack;
pub mod pack;
pub mod patch;
pub mod delta;
pub mod alp;
pub mod fsst;
pub mod select_packed;
pub mod snappy;
