#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| opkernels_fuzz::faults(input));
