//! See `volley_fuzz_targets::presto_fragment`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| volley_fuzz_targets::presto_fragment(bytes));
