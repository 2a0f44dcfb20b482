// SPDX-License-Identifier: MIT
//! s2n-quic: the inverted sum. Its crate looks at the CPU once, and takes AVX2 where that is.

use crate::peer::Peer;

pub fn peer() -> Peer {
    Peer::Sum(s2n_quic_core::inet::checksum::checksum, |checksum| !checksum.swap_bytes())
}
