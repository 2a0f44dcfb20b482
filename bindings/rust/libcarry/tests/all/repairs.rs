// SPDX-License-Identifier: MIT
//! Repairs captures, to streams and files.

use crate::common::{good_and_bad, packets, panic_of, pcap, Fails};
use libcarry::capture::{Capture, Change, Fix, Repairs};
use libcarry::{ErrorCode, Options, Protocol, Verdict};
use std::io::{self, Cursor, Seek, SeekFrom};
use std::ops::ControlFlow::{Break, Continue};

/// The offset of the bad checksum in good_and_bad().
const FIELD: usize = 24 + 16 + 32 + 16 + 26;

fn wrong(file: &[u8]) -> u64 {
    Capture::from_bytes(file).unwrap().check().unwrap().wrong()
}

#[test]
fn repairs_change_nothing_but_the_checksum() {
    let file = good_and_bad();
    let mut copy = Vec::new();
    let mut changes = Vec::new();
    let repairs = Fix::new()
        .on_change(|change| {
            assert_eq!((change.packet(), change.field_packet()), (2, Some(2)));
            assert_eq!((change.part(), change.left()), (0..2, None));
            changes.push((change.sum().verdict(), change.offset()));
            Continue(())
        })
        .run(&mut Capture::from_bytes(&file).unwrap(), &mut copy)
        .unwrap();
    assert_eq!(changes, [(Verdict::Bad, Some(FIELD as u64))]);
    assert_eq!((repairs.packets(), repairs.changed_packets(), repairs.total()), (2, 1, 1));
    assert_eq!(repairs.repaired(Protocol::Udp, Verdict::Bad), 1);
    assert!(repairs.error().is_none() && repairs.groups().is_empty());
    assert_eq!((wrong(&file), wrong(&copy)), (1, 0));
    assert_ne!(copy[FIELD..FIELD + 2], file[FIELD..FIELD + 2]);
    copy[FIELD..FIELD + 2].copy_from_slice(&file[FIELD..FIELD + 2]);
    assert_eq!(copy, file);
}

#[test]
fn sums_not_repaired_have_a_reason() {
    let file = good_and_bad();
    let mut copy = Vec::new();
    let mut reasons = Vec::new();
    let repairs = Fix::new()
        .options(Options::new().repair(&[Verdict::Partial]))
        .on_change(|change: Change<'_>| {
            reasons.extend(change.left().map(|left| left.name()));
            Continue(())
        })
        .run(&mut Capture::from_bytes(&file).unwrap(), &mut copy)
        .unwrap();
    assert_eq!((repairs.total(), repairs.left_wrong()), (0, 1));
    assert_eq!(repairs.left(Protocol::Udp, Verdict::Bad), 1);
    let groups = repairs.groups();
    assert_eq!(groups.len(), 1);
    assert_eq!((groups[0].protocol, groups[0].verdict), (Protocol::Udp, Verdict::Bad));
    assert_eq!((groups[0].count, &groups[0].packets[..]), (1, &[2][..]));
    assert_eq!((groups[0].left.name(), &reasons[..]), ("only", &["only"][..]));
    assert!(!groups[0].left.to_string().is_empty());
    assert_eq!(copy, file);
}

#[test]
fn plans_write_nothing_and_selection_copies() {
    let file = good_and_bad();
    let mut capture = Capture::from_bytes(&file).unwrap();
    assert_eq!(Fix::new().plan(&mut capture).unwrap().total(), 1);
    // The first plan() has read the capture.
    assert_eq!(Fix::new().plan(&mut capture).unwrap_err().code(), ErrorCode::Invalid);
    capture.rewind().unwrap();
    let mut copy = Vec::new();
    let select = Fix::new().select(|packet| packet.number() != 2);
    assert_eq!(select.run(&mut capture, &mut copy).unwrap().total(), 0);
    assert_eq!(copy, file);
}

/// Returns a capture of a datagram with a wrong checksum. Its second fragment follows 10,000
/// packets after the first fragment.
fn late_fragment() -> Vec<u8> {
    let fragment = |place: u8, flags: u8, content: &[u8]| {
        let size = 20 + content.len() as u8;
        let head = [0x45, 0, 0, size, 0, 7, flags, place, 64, 17, 0, 0, 10, 0, 0, 5, 10, 0, 0, 9];
        let mut bytes = [&head[..], content].concat();
        let check = libcarry::Sum::of(&bytes[..20]).finish();
        bytes[10..12].copy_from_slice(&check);
        bytes
    };
    let [good, _] = packets();
    let first = fragment(0, 0x20, b"\x9c\x40\0\x35\0\x10\x12\x34");
    let last = fragment(1, 0, b"12345678");
    let between = std::iter::repeat(&good[..]).take(10_000);
    pcap(std::iter::once(&first[..]).chain(between).chain(std::iter::once(&last[..])))
}

#[test]
fn files_are_changed_after_existing_bytes() {
    let file = late_fragment();
    let mut copy = Vec::new();
    let fix = |run: &mut dyn FnMut(&mut Capture<'_>) -> Repairs| {
        run(&mut Capture::from_bytes(&file).unwrap())
    };
    let repairs = fix(&mut |capture| Fix::new().run(capture, &mut copy).unwrap());
    assert_eq!(repairs.groups()[0].left.name(), "written");
    assert_eq!(wrong(&copy), 1);
    let mut copy = Cursor::new(Vec::from(*b"before"));
    copy.seek(SeekFrom::End(0)).unwrap();
    let repairs = fix(&mut |capture| Fix::new().run_seekable(capture, &mut copy).unwrap());
    assert_eq!((repairs.total(), repairs.left_wrong()), (1, 0));
    let copy = copy.into_inner();
    assert_eq!((&copy[..6], copy.len()), (&b"before"[..], 6 + file.len()));
    assert_eq!(wrong(&copy[6..]), 0);
}

#[test]
fn damage_is_copied() {
    let file = good_and_bad();
    let cut = &file[..file.len() - 1];
    let mut copy = Vec::new();
    let repairs = Fix::new().run(&mut Capture::from_bytes(cut).unwrap(), &mut copy).unwrap();
    assert_eq!(repairs.error().unwrap().code(), ErrorCode::Damaged);
    assert_eq!(copy, cut);
    let mut capture = Capture::from_bytes(b"no capture at all").unwrap();
    let error = Fix::new().run(&mut capture, &mut copy).unwrap_err();
    assert_eq!((error.code(), copy.len()), (ErrorCode::Unrecognised, cut.len()));
}

#[test]
fn errors_of_writers_keep_their_text() {
    let file = good_and_bad();
    let fix = |error: fn() -> io::Error| {
        Fix::new().run(&mut Capture::from_bytes(&file).unwrap(), Fails(error)).unwrap_err()
    };
    let error = fix(|| io::Error::from_raw_os_error(28));
    assert_eq!(error.code(), ErrorCode::Write);
    assert_eq!(error.io_error().unwrap().raw_os_error(), Some(28));
    let error = fix(|| io::Error::new(io::ErrorKind::Other, "the tape is torn"));
    assert_eq!(error.to_string(), "the tape is torn");
}

#[test]
fn closures_and_writers_end_a_repair() {
    let file = good_and_bad();
    let capture = || Capture::from_bytes(&file).unwrap();
    let cancel = Fix::new().on_change(|_| Break(()));
    let error = cancel.run(&mut capture(), io::sink()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Cancelled);
    let cancel = Fix::new().on_progress(|_| Break(()));
    let code = cancel.run(&mut capture(), io::sink()).map_err(|error| error.code());
    assert!(matches!(code, Ok(_) | Err(ErrorCode::Cancelled))); // Ok: all was read before the call
    let panics = Fix::new().on_change(|_| panic!("oh"));
    assert_eq!(panic_of(|| panics.run(&mut capture(), io::sink())), "oh");
    let panics = Fix::new().select(|_| panic!("oh"));
    assert_eq!(panic_of(|| panics.run(&mut capture(), io::sink())), "oh");
    assert_eq!(panic_of(|| Fix::new().run(&mut capture(), Fails(|| panic!("oh")))), "oh");
}
