// SPDX-License-Identifier: MIT
//! Reads captures that a program compressed, for each format that is a feature.

use crate::common::{packets, pcap};
use libcarry::capture::{Capture, Fix};
use std::io::Write;
use std::process::{Command, Stdio};

/// A number of packets that fills several windows.
const MANY: usize = 20_000;

fn many() -> Vec<u8> {
    let packets = packets();
    pcap((0..MANY).map(|number| &packets[number % 2][..]))
}

/// Compresses `bytes` with a program.
#[allow(dead_code)] // unused without features
fn packed_by(program: &str, bytes: &[u8]) -> Vec<u8> {
    let mut command = Command::new(program);
    let command = command.arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{program}: {error}"));
    let mut input = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(bytes).unwrap());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{program}: {}", output.status);
        output.stdout
    })
}

#[allow(dead_code)] // unused without features
fn check_packed(program: &str) {
    let file = many();
    let packed = packed_by(program, &file);
    assert!(packed.len() < file.len() / 4);
    let mut capture = Capture::from_bytes(&packed).unwrap();
    assert_eq!((capture.format(), capture.is_compressed()), (Some("pcap"), true));
    let report = capture.check().unwrap();
    assert!(report.error().is_none(), "{:?}", report.error());
    assert_eq!((report.packets(), report.wrong()), (MANY as u64, MANY as u64 / 2));
    capture.rewind().unwrap();
    let mut copy = Vec::new();
    assert_eq!(Fix::new().run(&mut capture, &mut copy).unwrap().total(), MANY as u64 / 2);
    assert_eq!(copy.len(), file.len()); // uncompressed
    let cut = &packed[..packed.len() - packed.len() / 4];
    let report = Capture::from_reader(cut).unwrap().check();
    assert!(matches!(report, Ok(report) if report.error().is_some()));
}

macro_rules! formats {
    ($($test:ident, $feature:literal, $program:literal;)*) => {
        $(#[test]
        #[cfg(feature = $feature)]
        fn $test() {
            check_packed($program);
        })*
    };
}

formats! {
    captures_are_unpacked_from_gzip, "gzip", "gzip";
    captures_are_unpacked_from_zstd, "zstd", "zstd";
    captures_are_unpacked_from_xz, "xz", "xz";
    captures_are_unpacked_from_lz4, "lz4", "lz4";
    captures_are_unpacked_from_bzip2, "bzip2", "bzip2";
}

#[test]
#[cfg(not(feature = "gzip"))]
fn formats_that_are_no_feature_are_named() {
    let error = Capture::from_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\x03").unwrap().check().unwrap_err();
    assert_eq!(error.code(), libcarry::ErrorCode::Unrecognised);
    assert!(error.to_string().contains("gzip"), "{error}");
}
