// SPDX-License-Identifier: MIT
//! Reads and checks captures, including damaged ones.

use crate::common::good_and_bad;
use libcarry::capture::Capture;
use libcarry::{ErrorCode, Protocol, Verdict};
use std::time::{Duration, SystemTime};

#[test]
fn reports_count_and_keep_wrong_checksums() {
    let file = good_and_bad();
    let report = Capture::from_bytes(&file).unwrap().check().unwrap();
    assert_eq!((report.packets(), report.bytes(), report.wrong()), (2, 64, 1));
    assert_eq!(report.count(Protocol::Udp, Verdict::Bad), 1);
    assert_eq!(report.total(&[Verdict::Good]), 3);
    assert!(report.error().is_none());
    let finding = report.findings().next().unwrap();
    assert_eq!((finding.packet(), finding.sum().protocol()), (2, Protocol::Udp));
    assert_eq!(finding.from(), Some([10, 0, 0, 5].into()));
    assert_eq!(finding.to(), Some([10, 0, 0, 9].into()));
    assert_eq!((finding.ports(), finding.cause()), (Some((40_000, 53)), Some("one_bit")));
    assert_eq!(report.findings().count(), 1);
}

#[test]
fn packets_are_lent_and_frames_are_owned() {
    let file = good_and_bad();
    let mut capture = Capture::from_bytes(&file).unwrap();
    let packet = capture.next_packet().unwrap().unwrap();
    assert_eq!((packet.number(), packet.offset()), (1, 40));
    assert_eq!(packet.time(), Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1)));
    assert_eq!(packet.bytes(), &file[40..72]);
    assert_eq!(packet.frame().check()[1].verdict(), Verdict::Good);
    let rest: Vec<_> = capture.frames().collect::<Result<_, _>>().unwrap();
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0].check()[1].verdict(), Verdict::Bad);
    assert!(capture.next_packet().unwrap().is_none());
    capture.rewind().unwrap();
    assert_eq!(capture.frames().count(), 2);
}

#[test]
fn findings_before_damage_are_kept() {
    let file = good_and_bad();
    let cut = &file[..file.len() - 1];
    let report = Capture::from_bytes(cut).unwrap().check().unwrap();
    let error = report.error().unwrap();
    assert_eq!((report.packets(), error.code(), error.offset()), (1, ErrorCode::Damaged, 72));
    assert!(!error.to_string().is_empty() && error.io_error().is_none());
    let mut capture = Capture::from_bytes(cut).unwrap();
    let frames: Vec<_> = capture.frames().map(|frame| frame.is_ok()).collect();
    assert_eq!(frames, [true, false]);
}

#[test]
fn other_files_are_errors() {
    let error = Capture::from_bytes(b"no capture at all").unwrap().check().unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unrecognised);
    let error = Capture::open("/no/such/file").unwrap_err();
    assert_eq!(error.code(), ErrorCode::Read);
    assert_eq!(error.io_error().unwrap().kind(), std::io::ErrorKind::NotFound);
    assert_eq!(Capture::open("a\0b").unwrap_err().code(), ErrorCode::Invalid);
}

#[test]
fn captures_move_between_threads() {
    let file = good_and_bad();
    std::thread::scope(|scope| {
        let mut capture = Capture::from_bytes(&file).unwrap();
        let checked = scope.spawn(move || capture.check().unwrap().wrong());
        assert_eq!(checked.join().unwrap(), 1);
    });
}
