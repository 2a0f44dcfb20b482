// SPDX-License-Identifier: MIT
//! etherparse: what its headers use, before they turn the bytes around.

use etherparse::checksum::Sum16BitWords;

use crate::peer::Peer;

fn sum(packet: &[u8]) -> u16 {
    Sum16BitWords::new().add_slice(packet).ones_complement()
}

pub fn peer() -> Peer {
    Peer::Sum(sum, |checksum| !checksum)
}
