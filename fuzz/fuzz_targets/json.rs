//! See `volley_fuzz_targets::json`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| volley_fuzz_targets::json(bytes));
