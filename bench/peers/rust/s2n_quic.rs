// SPDX-License-Identifier: MIT
//! s2n-quic: the inverted sum. Its crate examines the CPU once, and uses AVX2 if the CPU has it.

use crate::peer::Peer;

pub fn peer() -> Peer {
    Peer::Sum(s2n_quic_core::inet::checksum::checksum, |checksum| !checksum.swap_bytes())
}
