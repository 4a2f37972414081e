//! See `volley_fuzz_targets::avro_file`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| volley_fuzz_targets::avro_file(bytes));
