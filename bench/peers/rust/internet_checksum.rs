// SPDX-License-Identifier: MIT
//! internet-checksum, of Fuchsia's network stack. It returns bytes.

use crate::peer::Peer;

fn sum(packet: &[u8]) -> u16 {
    u16::from_le_bytes(internet_checksum::checksum(packet))
}

pub fn peer() -> Peer {
    Peer::Sum(sum, |checksum| !checksum)
}
