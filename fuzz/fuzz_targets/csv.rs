//! See `volley_fuzz_targets::csv`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| volley_fuzz_targets::csv(bytes));
