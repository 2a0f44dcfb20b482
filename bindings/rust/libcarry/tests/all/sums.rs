// SPDX-License-Identifier: MIT
//! Compares sums of parts, and by all kernels, with the algorithm of RFC 1071.

use libcarry::{crc32c, update, Crc32c, ErrorCode, Sum};

/// Returns pseudo-random bytes. Each call returns the same bytes.
fn noise(size: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..size).map(|_| next()).collect()
}

/// Computes the checksum of RFC 1071 word by word.
fn oracle(bytes: &[u8]) -> [u8; 2] {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| low.into());
    let mut sum: u64 = bytes.chunks(2).map(word).sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

#[test]
fn sums_every_size() {
    let bytes = noise(1600);
    for size in 0..bytes.len() {
        let bytes = &bytes[..size];
        assert_eq!(Sum::of(bytes).finish(), oracle(bytes), "{size} bytes");
    }
}

#[test]
fn sums_of_parts_are_joined() {
    let bytes = noise(67);
    for first in 0..=bytes.len() {
        for second in first..=bytes.len() {
            let (a, b, c) = (&bytes[..first], &bytes[first..second], &bytes[second..]);
            let mut written = Sum::new();
            written.write(a).write(b).write(c);
            assert_eq!(written.finish(), oracle(&bytes), "{first}, {second}");
            let combined = Sum::of(a).combine(Sum::of(b)).combine(Sum::of(c));
            assert_eq!(combined.finish(), oracle(&bytes), "{first}, {second}");
        }
    }
}

#[test]
fn copies_sum_what_they_copy() {
    let bytes = noise(200);
    for first in 0..bytes.len() {
        let mut copy = [0; 200];
        let (a, b) = copy.split_at_mut(first);
        let mut sum = Sum::new();
        sum.write_copy(a, &bytes[..first]).write_copy(b, &bytes[first..]);
        assert_eq!(sum.finish(), oracle(&bytes), "{first}");
        assert_eq!(&copy[..], &bytes[..], "{first}");
    }
}

#[test]
#[should_panic(expected = "differ in length")]
fn copies_refuse_other_lengths() {
    let _ = Sum::new().write_copy(&mut [0; 3], &[0; 4]);
}

#[test]
fn pseudo_headers_are_sums_of_their_bytes() {
    let (src, dst) = (noise(16), noise(32));
    let (src4, dst4): ([u8; 4], [u8; 4]) = ([10, 0, 0, 5], [192, 168, 0, 255]);
    let bytes = [&src4[..], &dst4, &[0, 17], &1234_u16.to_be_bytes()].concat();
    assert_eq!(Sum::pseudo4(src4, dst4, 17, 1234).finish(), oracle(&bytes));
    let (src6, dst6): ([u8; 16], [u8; 16]) =
        (src.try_into().unwrap(), dst[16..].try_into().unwrap());
    let bytes = [&src6[..], &dst6, &70_000_u32.to_be_bytes(), &[0, 0, 0, 6]].concat();
    assert_eq!(Sum::pseudo6(src6, dst6, 6, 70_000).finish(), oracle(&bytes));
}

#[test]
fn zero_is_no_checksum_of_udp() {
    let all = Sum::of(&[0xff, 0xff]);
    assert_eq!((all.finish(), all.finish_nonzero(), all.fold()), ([0; 2], [0xff; 2], [0xff; 2]));
}

#[test]
fn updates_agree_with_sums() {
    let mut bytes: [u8; 40] = noise(40).try_into().unwrap();
    for at in (0..24).step_by(2) {
        let check = oracle(&bytes);
        let from: [u8; 16] = bytes[at..at + 16].try_into().unwrap();
        let to = from.map(|byte| byte.wrapping_mul(3) ^ at as u8);
        bytes[at..at + 16].copy_from_slice(&to);
        assert_eq!(update(check, from, to), oracle(&bytes), "{at}");
    }
}

#[test]
fn crcs_of_parts_are_joined() {
    let bytes = noise(300);
    for first in 0..bytes.len() {
        let mut crc = Crc32c::new();
        crc.write(&bytes[..first]).write(&bytes[first..]);
        assert_eq!(crc.finish(), crc32c(&bytes));
        let rest = *Crc32c::resume(crc32c(&bytes[..first])).write(&bytes[first..]);
        assert_eq!(rest, crc);
    }
}

#[test]
fn kernels_agree() {
    let bytes = noise(1501);
    for (name, is_available, _) in Sum::kernels() {
        if is_available {
            Sum::select(Some(name)).unwrap();
            let chosen = Sum::kernels().find(|&(.., is_chosen)| is_chosen);
            assert_eq!(chosen.map(|(chosen, ..)| chosen), Some(name));
            assert_eq!(Sum::of(&bytes).finish(), oracle(&bytes), "{name}");
        } else {
            assert_eq!(Sum::select(Some(name)), Err(ErrorCode::Unsupported));
        }
    }
    assert_eq!(Sum::select(Some("")), Err(ErrorCode::Unknown));
    assert_eq!(Sum::select(Some(&"x".repeat(32))), Err(ErrorCode::Unknown));
    Sum::select(None).unwrap();
}
