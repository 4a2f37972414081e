//! See `volley_fuzz_targets::arrow_file`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| volley_fuzz_targets::arrow_file(bytes));
