// SPDX-License-Identifier: MIT
//! Makes captures for tests.

use libcarry::capture::{Packet, Writer};
use libcarry::{Frame, LINK_IPV4};
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

const UDP: [u8; 32] = *b"\x45\0\0\x20\0\0\0\0\x40\x11\0\0\x0a\0\0\x05\x0a\0\0\x09\
                         \x9c\x40\0\x35\0\x0c\0\0abcd";

/// Returns a packet with good checksums, and a copy with one byte changed.
pub fn packets() -> [[u8; 32]; 2] {
    let mut good = UDP;
    assert_eq!(Frame::new(&mut good, LINK_IPV4).fill().len(), 2);
    let mut bad = good;
    bad[31] ^= 1;
    [good, bad]
}

/// Returns a pcap file of IPv4 packets. The file has a header of 24 bytes, and each packet a header
/// of 16 bytes.
pub fn pcap<'p>(packets: impl IntoIterator<Item = &'p [u8]>) -> Vec<u8> {
    let mut writer = Writer::pcap(Vec::new()).unwrap();
    for (packet, number) in packets.into_iter().zip(0..) {
        let time = SystemTime::UNIX_EPOCH + Duration::new(1, number);
        writer.add(Packet::new(packet, LINK_IPV4).at(time)).unwrap();
    }
    writer.finish().unwrap()
}

pub fn good_and_bad() -> Vec<u8> {
    pcap(packets().iter().map(|packet| &packet[..]))
}

/// Returns the text of the panic of `run`.
pub fn panic_of<T>(run: impl FnOnce() -> T) -> &'static str {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    let panic = result.err().expect("it did not panic");
    panic.downcast_ref::<&str>().expect("another panic")
}

/// A writer that fails with the error of a closure.
pub struct Fails<F>(pub F);

impl<F: FnMut() -> io::Error> Write for Fails<F> {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err((self.0)())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
