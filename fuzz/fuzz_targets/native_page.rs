//! See `volley_fuzz_targets::native_page`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| volley_fuzz_targets::native_page(bytes));
