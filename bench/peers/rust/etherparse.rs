// SPDX-License-Identifier: MIT
//! etherparse: the checksum that its headers compute, before they swap the bytes.

use etherparse::checksum::Sum16BitWords;

use crate::peer::Peer;

fn sum(packet: &[u8]) -> u16 {
    Sum16BitWords::new().add_slice(packet).ones_complement()
}

pub fn peer() -> Peer {
    Peer::Sum(sum, |checksum| !checksum)
}
