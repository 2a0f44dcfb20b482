// SPDX-License-Identifier: MIT
//! Judges, fills in and repairs frames.

use libcarry::{Frame, Options, Protocol, Reason, Verdict, LINK_IPV4};

/// UDP over IPv4, without checksums.
const PACKET: [u8; 32] = *b"\x45\0\0\x20\0\0\0\0\x40\x11\0\0\x0a\0\0\x05\x0a\0\0\x09\
                            \x9c\x40\0\x35\0\x0c\0\0abcd";

fn filled() -> [u8; 32] {
    let mut bytes = PACKET;
    assert_eq!(Frame::new(&mut bytes, LINK_IPV4).fill().len(), 2);
    bytes
}

fn verdicts(frame: &Frame<&[u8]>) -> Vec<(Protocol, Verdict)> {
    frame.check().into_iter().map(|sum| (sum.protocol(), sum.verdict())).collect()
}

#[test]
fn filled_packets_are_good() {
    let bytes = filled();
    let frame = Frame::new(&bytes[..], LINK_IPV4);
    let good = [(Protocol::Ip, Verdict::Good), (Protocol::Udp, Verdict::Good)];
    assert_eq!(verdicts(&frame), good);
    let sums = frame.check();
    assert_eq!((sums[0].field(), sums[0].covered()), (10..12, 0..20));
    assert_eq!((sums[1].field(), sums[1].covered()), (26..28, 20..32));
    assert_eq!(sums[1].expected(), Some(sums[1].stored()));
    let mut sum = sums[1].pseudo().unwrap();
    sum.write(&bytes[sums[1].covered()]);
    assert_eq!(sum.finish(), [0, 0]);
}

#[test]
fn each_changed_byte_is_bad_until_it_is_fixed() {
    for at in 20..32 {
        let mut bytes = filled();
        bytes[at] ^= 0x10;
        let before = bytes;
        let sums = Frame::new(&bytes, LINK_IPV4).check();
        if sums.iter().any(|sum| sum.verdict() == Verdict::Bad) {
            let mut frame = Frame::new(&mut bytes, LINK_IPV4);
            assert_eq!(frame.fix().len(), 1, "{at}");
            assert_eq!(frame.check()[1].verdict(), Verdict::Good, "{at}");
            let changed = (0..32).filter(|&at| bytes[at] != before[at]);
            assert!(changed.into_iter().all(|at| (26..28).contains(&at)));
        } else {
            assert!(sums[1].reason().is_some(), "{at}"); // a length contradicts another
        }
    }
}

#[test]
fn options_select_what_is_repaired() {
    let mut bytes = filled();
    bytes[31] ^= 1;
    let only_illegal = Options::new().repair(&[Verdict::Illegal]);
    assert!(Frame::new(&mut bytes, LINK_IPV4).options(only_illegal).fix().is_empty());
    assert_eq!(Frame::new(&mut bytes, LINK_IPV4).fix()[0].verdict(), Verdict::Bad);
}

#[test]
fn cut_packets_are_unverifiable() {
    let bytes = filled();
    for captured in 0..32 {
        let frame = Frame::new(&bytes[..captured], LINK_IPV4).on_wire(32);
        let sums = frame.check();
        assert!(sums.iter().all(|sum| sum.verdict() != Verdict::Bad), "{captured}");
        assert!(sums.iter().all(|sum| sum.reason() != Some(Reason::Length)), "{captured}");
    }
}

#[test]
fn a_walk_finds_without_judging() {
    let bytes = filled();
    let frame = Frame::new(&bytes[..], LINK_IPV4);
    let found: Vec<_> = frame.walk().iter().map(|sum| (sum.protocol(), sum.verdict())).collect();
    let open = |protocol| (protocol, Verdict::Unverifiable);
    assert_eq!(found, [Protocol::Ip, Protocol::Udp].map(open));
    let layers: Vec<_> = frame.layers().iter().map(|l| (l.protocol(), l.offset())).collect();
    assert_eq!(layers, [(Protocol::Ip, 0), (Protocol::Udp, 20)]);
}

#[test]
fn fragments_are_described() {
    let mut bytes = PACKET;
    assert!(Frame::new(&bytes, LINK_IPV4).fragment().is_none());
    bytes[4..8].copy_from_slice(&[0x12, 0x34, 0x20, 0x02]); // more fragments; offset 2 * 8
    let fragment = Frame::new(&bytes, LINK_IPV4).fragment().unwrap();
    assert_eq!((fragment.content(), fragment.place()), (20..32, 16));
    assert_eq!((fragment.identity().0, fragment.protocol()), (0x1234, 17));
    assert!(fragment.is_more());
}

#[test]
fn unknown_frames_have_no_checksums() {
    let frame = Frame::new([], 1_000_000);
    assert!(frame.check().is_empty() && frame.layers().is_empty() && !frame.is_known());
    assert!(Frame::ethernet([]).is_known());
}

#[test]
fn numbers_and_names_are_those_of_the_table() {
    for (number, &protocol) in Protocol::ALL.iter().enumerate() {
        assert_eq!(Protocol::from_number(number as u8), Some(protocol));
    }
    assert_eq!(Protocol::from_number(Protocol::ALL.len() as u8), None);
    assert_eq!(format!("{:>5}", Protocol::Tcp), "  tcp");
}

#[test]
fn frames_and_lists_move_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    let frame = Frame::ethernet(Vec::new());
    shared(&frame);
    shared(&frame.check());
    shared(&frame.layers());
}
