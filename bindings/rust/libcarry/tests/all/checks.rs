// SPDX-License-Identifier: MIT
//! Tests the options, closures and readers of checks, and how closures and readers end a check.

use crate::common::{good_and_bad, packets, panic_of, pcap};
use libcarry::capture::{Capture, Check};
use libcarry::{ErrorCode, Protocol, Verdict};
use std::io::{self, Cursor, Read};
use std::ops::ControlFlow::{Break, Continue};

/// A number of packets that fills several windows.
const MANY: usize = 20_000;

fn many(packet: &[u8]) -> Vec<u8> {
    pcap(std::iter::repeat(packet).take(MANY))
}

#[test]
fn findings_have_their_packets() {
    let file = good_and_bad();
    let mut found = Vec::new();
    let report = Check::new()
        .keep(0)
        .on_finding(|finding| {
            assert_eq!(finding.captured().unwrap().bytes(), packets()[1]);
            assert_eq!(finding.captured().unwrap().number(), 2);
            found.push((finding.packet(), finding.sum().protocol(), finding.offset()));
            Continue(())
        })
        .run(&mut Capture::from_bytes(&file).unwrap())
        .unwrap();
    assert_eq!(found, [(2, Protocol::Udp, Some(24 + 16 + 32 + 16 + 26))]);
    assert_eq!((report.wrong(), report.findings().count()), (1, 0));
}

#[test]
fn kept_findings_have_no_packet() {
    let file = good_and_bad();
    let report = Capture::from_bytes(&file).unwrap().check().unwrap();
    assert!(report.findings().next().unwrap().captured().is_none());
}

#[test]
fn closures_cancel() {
    let [_, bad] = packets();
    let file = many(&bad);
    let mut capture = Capture::from_bytes(&file).unwrap();
    let mut calls = 0;
    let finding = Check::new().on_finding(|_| {
        calls += 1;
        if calls == 3 {
            Break(())
        } else {
            Continue(())
        }
    });
    let report = finding.run(&mut capture).unwrap();
    assert_eq!(report.error().unwrap().code(), ErrorCode::Cancelled);
    assert_eq!(calls, 3);
    capture.rewind().unwrap();
    let report = Check::new().on_progress(|_| Break(())).run(&mut capture).unwrap();
    assert_eq!(report.error().unwrap().code(), ErrorCode::Cancelled);
    capture.rewind().unwrap();
    assert_eq!(capture.check().unwrap().wrong(), MANY as u64);
}

#[test]
fn last_progress_has_the_totals() {
    let [_, bad] = packets();
    let file = many(&bad);
    let mut last = None;
    let check = Check::new().on_progress(|progress| {
        last = Some((progress.packets(), progress.position(), progress.wrong()));
        Continue(())
    });
    check.run(&mut Capture::from_bytes(&file).unwrap()).unwrap();
    assert_eq!(last, Some((MANY as u64, file.len() as u64, MANY as u64)));
}

#[test]
fn packets_are_selected() {
    let file = good_and_bad();
    let select = Check::new().select(|packet| packet.number() == 1);
    let report = select.run(&mut Capture::from_bytes(&file).unwrap()).unwrap();
    assert_eq!((report.packets(), report.wrong()), (1, 0));
}

#[test]
fn options_select_what_is_checked() {
    let file = good_and_bad();
    let run = |check: Check<'_>| check.run(&mut Capture::from_bytes(&file).unwrap());
    let report = run(Check::new().protocols(&[Protocol::Ip]).threads(1).no_reassembly()).unwrap();
    assert_eq!((report.total(&[Verdict::Good]), report.wrong()), (2, 0));
    assert_eq!(run(Check::new().packets(1)).unwrap().packets(), 1);
    let report = run(Check::new().list(&[Verdict::Partial])).unwrap();
    assert_eq!((report.wrong(), report.findings().count()), (1, 0));
    assert_eq!(run(Check::new().threads(257)).unwrap_err().code(), ErrorCode::Invalid);
}

#[test]
fn panics_continue_after_the_check() {
    let [_, bad] = packets();
    let file = many(&bad);
    let mut capture = Capture::from_bytes(&file).unwrap();
    let checks = [
        Check::new().on_finding(|_| panic!("oh")),
        Check::new().on_progress(|_| panic!("oh")),
        Check::new().select(|_| panic!("oh")),
    ];
    for check in checks {
        assert_eq!(panic_of(|| check.run(&mut capture)), "oh");
        capture.rewind().unwrap();
    }
    capture.rewind().unwrap();
    assert_eq!(capture.check().unwrap().wrong(), MANY as u64);
}

#[test]
fn panics_end_the_check_soon() {
    let [_, bad] = packets();
    let file = many(&bad);
    let mut rest = &file[..];
    let mut calls = 0;
    let check = Check::new().select(|_| {
        calls += 1;
        panic!("oh")
    });
    let mut capture = Capture::from_reader(rest.by_ref()).unwrap();
    assert_eq!(panic_of(|| check.run(&mut capture)), "oh");
    drop(capture);
    assert_eq!(calls, 1);
    assert!(rest.len() > file.len() / 2);
}

/// A reader that fails with the error of a closure, after the bytes of another reader.
struct Fails<R, F>(R, F);

impl<R: Read, F: FnMut() -> io::Error> Read for Fails<R, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err((self.1)()),
            size => Ok(size),
        }
    }
}

#[test]
fn readers_are_sources() {
    let file = good_and_bad();
    let mut capture = Capture::from_reader(&file[..]).unwrap();
    assert_eq!((capture.format(), capture.is_compressed()), (Some("pcap"), false));
    assert_eq!(capture.check().unwrap().wrong(), 1);
    assert_eq!(capture.rewind(), Err(ErrorCode::Unsupported.into()));
    let mut reader = Cursor::new([b"behind this", &file[..]].concat());
    reader.set_position(11);
    let mut capture = Capture::from_seekable(reader).unwrap();
    for _ in 0..2 {
        assert_eq!(capture.check().unwrap().wrong(), 1);
        capture.rewind().unwrap();
    }
}

#[test]
fn errors_of_readers_keep_their_text() {
    let file = good_and_bad();
    let check = |error: fn() -> io::Error| {
        let mut capture = Capture::from_reader(Fails(&file[..], error)).unwrap();
        capture.check().unwrap().error().unwrap().clone()
    };
    let error = check(|| io::Error::new(io::ErrorKind::Other, "the tape is torn"));
    assert_eq!((error.code(), error.to_string()), (ErrorCode::Read, "the tape is torn".into()));
    let error = check(|| io::Error::from_raw_os_error(5));
    assert_eq!(error.io_error().unwrap().raw_os_error(), Some(5));
}

#[test]
fn readers_panic() {
    let file = good_and_bad();
    let mut capture = Capture::from_reader(Fails(&file[..], || panic!("oh"))).unwrap();
    assert!(capture.next_packet().unwrap().is_some());
    assert!(capture.next_packet().unwrap().is_some());
    assert_eq!(panic_of(|| capture.next_packet().map(|_| ())), "oh");
    let mut capture = Capture::from_reader(Fails(&file[..], || panic!("oh"))).unwrap();
    assert_eq!(panic_of(|| capture.check()), "oh");
    drop(capture);
}

#[test]
fn readers_cannot_claim_more_than_they_were_given() {
    struct Claims;
    impl Read for Claims {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            Ok(buffer.len() + 1)
        }
    }
    let mut capture = Capture::from_reader(Claims).unwrap();
    assert!(panic_of(|| capture.check()).contains("more bytes"));
}
