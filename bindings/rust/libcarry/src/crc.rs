// SPDX-License-Identifier: MIT
//! CRC32c (Castagnoli), the checksum of SCTP and iSCSI.

use crate::ffi;

/// Returns the CRC32c of `bytes`.
///
/// ```
/// assert_eq!(libcarry::crc32c(b"123456789"), 0xe306_9283);
/// ```
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    ffi::crc32c(bytes, 0)
}

/// The CRC32c of bytes that arrive in parts.
///
/// ```
/// let mut crc = libcarry::Crc32c::new();
/// crc.write(b"1234").write(b"56789");
/// assert_eq!(crc.finish(), 0xe306_9283);
/// ```
///
/// SCTP stores the CRC little-endian, and computes it with zeros in the checksum field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Crc32c(u32);

impl Crc32c {
    /// Makes the CRC of no bytes.
    pub const fn new() -> Self {
        Self(0)
    }

    /// Continues from the CRC of earlier bytes.
    pub const fn resume(crc: u32) -> Self {
        Self(crc)
    }

    /// Adds bytes.
    pub fn write(&mut self, bytes: &[u8]) -> &mut Self {
        self.0 = ffi::crc32c(bytes, self.0);
        self
    }

    /// Returns the CRC of all bytes so far.
    #[must_use]
    pub const fn finish(self) -> u32 {
        self.0
    }
}
