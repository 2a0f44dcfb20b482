// SPDX-License-Identifier: MIT
//! Writes captures, and reads them again.

use crate::common::{packets, panic_of, Fails};
use libcarry::capture::{flags, Capture, Packet, Statistics, Writer};
use libcarry::{ErrorCode, LINK_ETHERNET, LINK_IPV4};
use std::io;
use std::time::{Duration, SystemTime};

fn holds(file: &[u8], text: &[u8]) -> bool {
    file.windows(text.len()).any(|window| window == text)
}

#[test]
fn packets_are_read_as_written() {
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_789);
    let [good, _] = packets();
    let packet = Packet::new(&good, LINK_IPV4).on_wire(60).at(time).with_check_sequence(4);
    let sent = packet.with_flags(flags::SENT | flags::SUM_LEFT);
    let mut pcap = Writer::pcap(Vec::new()).unwrap();
    pcap.add(sent).unwrap();
    let mut pcapng = Writer::pcapng(Vec::new(), Some("a test 1.0")).unwrap();
    pcapng.add_with_comment(sent, "a comment").unwrap();
    let (pcap, pcapng) = (pcap.finish().unwrap(), pcapng.finish().unwrap());
    assert!(holds(&pcapng, b"a comment") && holds(&pcapng, b"a test 1.0"));
    for (file, format, flags) in
        [(pcap, "pcap", 0), (pcapng, "pcapng", flags::SENT | flags::SUM_LEFT)]
    {
        let mut capture = Capture::from_bytes(&file).unwrap();
        assert_eq!(capture.format(), Some(format));
        let read = capture.next_packet().unwrap().unwrap();
        assert_eq!((read.bytes(), read.time(), read.flags()), (&good[..], Some(time), flags));
        assert_eq!(read.frame().check()[0].to_string(), "ip: good");
        let mut copy = Writer::pcap(Vec::new()).unwrap();
        copy.add(read).unwrap();
        assert!(holds(&copy.finish().unwrap(), &60_u32.to_ne_bytes()));
    }
}

#[test]
fn interfaces_have_names_and_counts() {
    let mut writer = Writer::pcapng(Vec::new(), None).unwrap();
    let counted = Statistics { time: SystemTime::now(), received: Some(77), dropped: None };
    writer.name(3, "eth3").unwrap();
    let code = |result: Result<(), libcarry::capture::Error>| result.unwrap_err().code();
    assert_eq!(code(writer.name(3, "again")), ErrorCode::Invalid);
    assert_eq!(code(writer.name(4, "a\0b")), ErrorCode::Invalid);
    assert_eq!(code(writer.statistics(3, &counted)), ErrorCode::Invalid); // no packet yet
    writer.add(Packet::new(&[0; 60], LINK_ETHERNET).of_interface(3)).unwrap();
    writer.statistics(3, &counted).unwrap();
    let file = writer.finish().unwrap();
    assert!(holds(&file, b"eth3") && holds(&file, &77_u64.to_ne_bytes()));
    assert_eq!(Capture::from_bytes(&file).unwrap().frames().count(), 1);
}

#[test]
fn formats_refuse_what_they_cannot_hold() {
    let mut writer = Writer::pcap(Vec::new()).unwrap();
    writer.add(Packet::new(&[0; 60], LINK_ETHERNET)).unwrap();
    let large = vec![0; (16 << 20) + 1];
    for packet in [Packet::new(&[0; 60], LINK_IPV4), Packet::new(&large, LINK_ETHERNET)] {
        assert_eq!(writer.add(packet).unwrap_err().code(), ErrorCode::Invalid);
    }
    let packet = Packet::new(&[0; 60], LINK_ETHERNET);
    assert_eq!(writer.add_with_comment(packet, "\0").unwrap_err().code(), ErrorCode::Invalid);
    writer.add(packet).unwrap(); // works after an invalid argument
    let file = writer.finish().unwrap();
    assert_eq!(Capture::from_bytes(&file).unwrap().frames().count(), 2);
    let long = "x".repeat(65_536);
    let error = Writer::pcapng(Vec::new(), Some(&long)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Invalid);
}

#[test]
fn files_without_packets_are_captures() {
    for writer in [Writer::pcap(Vec::new()), Writer::pcapng(Vec::new(), None)] {
        let file = writer.unwrap().finish().unwrap();
        assert!(Capture::from_bytes(&file).unwrap().next_packet().unwrap().is_none());
    }
}

#[test]
fn errors_are_final() {
    let packet = Packet::new(&[0; 60], LINK_ETHERNET);
    let mut writer = Writer::pcapng(Fails(|| io::Error::from_raw_os_error(28)), None).unwrap();
    for _ in 0..2 {
        let error = writer.add(packet).unwrap_err();
        assert_eq!(
            (error.code(), error.io_error().unwrap().raw_os_error()),
            (ErrorCode::Write, Some(28))
        );
    }
    assert_eq!(writer.finish().err().unwrap().code(), ErrorCode::Write);
    let torn = || io::Error::new(io::ErrorKind::Other, "the tape is torn");
    let mut writer = Writer::pcap(Fails(torn)).unwrap();
    assert_eq!(writer.add(packet).unwrap_err().to_string(), "the tape is torn");
}

#[test]
fn panics_continue_after_the_writer() {
    let packet = Packet::new(&[0; 60], LINK_ETHERNET);
    let mut writer = Writer::pcap(Fails(|| panic!("oh"))).unwrap();
    assert_eq!(panic_of(|| writer.add(packet)), "oh");
    assert_eq!(writer.add(packet).unwrap_err().code(), ErrorCode::Write);
    assert_eq!(panic_of(|| Writer::pcap(Fails(|| panic!("oh"))).unwrap().finish().err()), "oh");
}

#[test]
fn writers_move_between_threads() {
    let mut writer = Writer::pcap(Vec::new()).unwrap();
    let file = std::thread::spawn(move || {
        writer.add(Packet::new(&[0; 60], LINK_ETHERNET)).unwrap();
        writer.finish().unwrap()
    });
    assert_eq!(Capture::from_bytes(&file.join().unwrap()).unwrap().frames().count(), 1);
}
