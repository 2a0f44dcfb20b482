// SPDX-License-Identifier: MIT
//! Builds a packet with etherparse, and checks and repairs it with libcarry.

use etherparse::PacketBuilder;
use libcarry::{Frame, Verdict};

fn main() {
    let builder = PacketBuilder::ethernet2([1; 6], [2; 6])
        .ipv4([10, 0, 0, 5], [10, 0, 0, 9], 64)
        .tcp(40_000, 80, 1, 1024);
    let data = b"GET / HTTP/1.0\r\n\r\n";
    let mut packet = Vec::with_capacity(builder.size(data.len()));
    builder.write(&mut packet, data).expect("the vector has room");
    let built = packet.clone();

    for sum in Frame::ethernet(&packet).check() {
        println!("built by etherparse: {sum}");
        assert_eq!(sum.verdict(), Verdict::Good);
    }
    let end = packet.len() - 1;
    packet[end] ^= 1;
    let sums = Frame::ethernet(&packet).check();
    println!("one bit changed: {}", sums[1]);
    assert_eq!(sums[1].verdict(), Verdict::Bad);
    for change in Frame::ethernet(&mut packet).fix() {
        let expected = change.expected().expect("a repaired checksum is known");
        println!("repaired at {:?}: {expected:#06x}", change.field());
    }
    packet[end] ^= 1;
    assert_eq!(Frame::ethernet(&mut packet).fix().len(), 1);
    assert_eq!(packet, built);
}
