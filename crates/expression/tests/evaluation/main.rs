//! Tests of compiled evaluation.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;
mod oracle;
mod paths;
mod forms;
mod blocks;
