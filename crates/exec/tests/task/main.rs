//! Tasks that run plans with the operators of the engine.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod control;
mod exchange;
mod kit;
mod panic;
mod plans;
mod ports;
mod spill;
