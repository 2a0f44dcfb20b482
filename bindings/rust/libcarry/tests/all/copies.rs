// SPDX-License-Identifier: MIT
//! Tests copies of all sizes below 600 bytes, and overlapping moves of up to 40 bytes.

use libcarry::copy;

#[test]
fn copies_every_size() {
    let bytes: Vec<u8> = (0..600_u32).map(|number| (number * 7) as u8).collect();
    for function in [copy::copy, copy::stream] {
        for size in 0..bytes.len() {
            let mut copy = vec![0; size];
            function(&mut copy, &bytes[..size]);
            assert_eq!(copy, bytes[..size]);
        }
    }
}

#[test]
fn moves_as_the_standard_library_does() {
    let bytes: Vec<u8> = (0..40).collect();
    for start in 0..=40 {
        for end in start..=40 {
            for dst in 0..=40 - (end - start) {
                let (mut ours, mut theirs) = (bytes.clone(), bytes.clone());
                copy::within(&mut ours, start..end, dst);
                theirs.copy_within(start..end, dst);
                assert_eq!(ours, theirs, "{start}..{end} to {dst}");
            }
        }
    }
}

#[test]
#[should_panic(expected = "beyond the bytes")]
fn moves_stay_in_the_slice() {
    copy::within(&mut [0; 4], 2..4, 3);
}

#[test]
#[should_panic(expected = "differ in length")]
fn copies_refuse_other_lengths() {
    copy::copy(&mut [0; 3], &[0; 4]);
}
