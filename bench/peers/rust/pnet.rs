// SPDX-License-Identifier: MIT
//! libpnet. Its users pass the index of the checksum field, which then counts as zero. This peer
//! passes an index past the end.

use crate::peer::Peer;

fn sum(packet: &[u8]) -> u16 {
    pnet_packet::util::checksum(packet, usize::MAX)
}

pub fn peer() -> Peer {
    Peer::Sum(sum, |checksum| (!checksum).swap_bytes())
}
