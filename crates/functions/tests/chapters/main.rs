//! The functions of each chapter, called as a plan calls them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod aggregate;
mod arithmetic;
mod boolean;
mod calls;
mod cast;
mod comparison;
mod date;
mod format;
mod math;
mod nested;
mod pattern;
mod states;
mod string;
mod unsigned;
mod window;
