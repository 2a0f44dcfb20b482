// SPDX-License-Identifier: MIT
//! The Internet checksum (RFC 1071), in parts.

use crate::{ffi, ErrorCode};

/// A one's complement sum of the bytes so far. [`write`](Self::write) adds bytes, as with a
/// `Hasher`, and [`finish`](Self::finish) returns the checksum.
///
/// ```
/// use libcarry::Sum;
///
/// let (udp, data) = ([0x9c, 0x40, 0x00, 0x35, 0x00, 0x0b, 0x00, 0x00], b"abc");
/// let mut sum = Sum::pseudo4([10, 0, 0, 5], [10, 0, 0, 9], 17, 11);
/// sum.write(&udp).write(data);
/// assert_eq!(sum.finish_nonzero(), [0x8a, 0xf2]);
/// ```
///
/// Parts may have any size. To verify, sum everything with the stored checksum in place:
/// [`finish`](Self::finish) is then `[0, 0]`.
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct Sum {
    partial: u32,
    is_odd: bool,
}

impl Sum {
    /// Makes the sum of no bytes.
    pub const fn new() -> Self {
        Self { partial: 0, is_odd: false }
    }

    /// Returns the sum of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self { partial: ffi::sum(bytes, 0), is_odd: bytes.len() % 2 == 1 }
    }

    /// Returns the sum of the IPv4 pseudo-header. `size` is the size of transport header and data.
    pub fn pseudo4(src: [u8; 4], dst: [u8; 4], protocol: u8, size: u32) -> Self {
        Self { partial: ffi::pseudo4(src, dst, protocol, size), is_odd: false }
    }

    /// Returns the sum of the IPv6 pseudo-header. With a routing header, `dst` must be the last
    /// segment.
    pub fn pseudo6(src: [u8; 16], dst: [u8; 16], next_header: u8, size: u32) -> Self {
        Self { partial: ffi::pseudo6(src, dst, next_header, size), is_odd: false }
    }

    /// Continues from a partial sum of an even number of bytes.
    pub(crate) const fn from_partial(partial: u32) -> Self {
        Self { partial, is_odd: false }
    }

    /// Makes a sum from a partial sum of `size` bytes.
    pub(crate) const fn of_size(partial: u32, size: usize) -> Self {
        Self { partial, is_odd: size % 2 == 1 }
    }

    /// Adds the bytes that follow.
    pub fn write(&mut self, bytes: &[u8]) -> &mut Self {
        *self = if self.is_odd {
            self.combine(Self::of(bytes))
        } else {
            Self { partial: ffi::sum(bytes, self.partial), is_odd: bytes.len() % 2 == 1 }
        };
        self
    }

    /// Copies the bytes that follow to `dst`, and adds them, in one pass.
    ///
    /// # Panics
    ///
    /// If the slices differ in length.
    pub fn write_copy(&mut self, dst: &mut [u8], src: &[u8]) -> &mut Self {
        let copied = Self { partial: ffi::sum_copy(dst, src, 0), is_odd: src.len() % 2 == 1 };
        *self = self.combine(copied);
        self
    }

    /// Returns the sum of these bytes followed by the bytes of `next`. Another thread may have
    /// summed `next`.
    pub const fn combine(self, next: Self) -> Self {
        let partial = if self.is_odd { next.partial.rotate_left(8) } else { next.partial };
        let (sum, carry) = self.partial.overflowing_add(partial);
        // Adding the carry does not overflow: after a carry, the sum modulo 2^32 is at most
        // 2^32 - 2.
        Self { partial: sum + carry as u32, is_odd: self.is_odd != next.is_odd }
    }

    /// Returns the sum folded to 16 bits, not inverted. A header holds this value if its checksum
    /// is left to a network card.
    #[must_use]
    pub const fn fold(self) -> [u8; 2] {
        let sum = self.partial.wrapping_add(self.partial.rotate_left(16));
        ((sum >> 16) as u16).to_ne_bytes()
    }

    /// Returns the checksum to store in a header.
    #[must_use]
    pub const fn finish(self) -> [u8; 2] {
        let [a, b] = self.fold();
        [!a, !b]
    }

    /// Returns the checksum to store where a 0 means "no checksum", as in UDP: 0 becomes 0xffff.
    #[must_use]
    pub const fn finish_nonzero(self) -> [u8; 2] {
        match self.finish() {
            [0, 0] => [0xff, 0xff],
            check => check,
        }
    }

    /// Returns the kernels of this architecture, from the most portable to the best.
    pub const fn kernels() -> Kernels {
        Kernels(0)
    }

    /// Makes all sums of the process use the kernel `name`, or the best one for `None`.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::Unknown`] if there is no such kernel, [`ErrorCode::Unsupported`] if this CPU
    /// cannot run it, or an error of patching. The kernel then stays the same.
    pub fn select(name: Option<&str>) -> Result<(), ErrorCode> {
        let name = match name {
            None => return ffi::sum_select(None),
            Some(name) => name.as_bytes(),
        };
        let mut with_end = [0; 32];
        match with_end.get_mut(..name.len()) {
            Some(start) if name.len() < 32 => start.copy_from_slice(name),
            _ => return Err(ErrorCode::Unknown),
        }
        ffi::sum_select(Some(&with_end))
    }
}

/// Iterates over kernels: the name of each, whether this CPU can run it, whether it is chosen.
#[derive(Clone, Debug)]
#[must_use]
pub struct Kernels(usize);

impl Iterator for Kernels {
    type Item = (&'static str, bool, bool);

    fn next(&mut self) -> Option<Self::Item> {
        self.0 += 1;
        ffi::sum_kernel(self.0 - 1)
    }
}

/// Returns the checksum to store after a change of bytes that it covers (RFC 1624). `check` is the
/// checksum that was stored before. `from` and `to` are the bytes before and after the change; they
/// lie at an even offset of the covered range.
///
/// ```
/// // A router lowers the TTL, which is beside the protocol: 64 becomes 63.
/// let check = libcarry::update([0xb1, 0xe6], [0x40, 0x06], [0x3f, 0x06]);
/// assert_eq!(check, [0xb2, 0xe6]);
/// ```
///
/// A UDP checksum of 0 means "no checksum": do not change it. In UDP, a result of 0 must be stored
/// as 0xffff.
///
/// # Panics
///
/// If the number of bytes is odd.
#[must_use]
pub const fn update<const N: usize>(check: [u8; 2], from: [u8; N], to: [u8; N]) -> [u8; 2] {
    assert!(N % 2 == 0, "an odd number of bytes");
    let mut sum = !u16::from_ne_bytes(check) as u32;
    let mut at = 0;
    while at < N {
        sum += !u16::from_ne_bytes([from[at], from[at + 1]]) as u32;
        sum += u16::from_ne_bytes([to[at], to[at + 1]]) as u32;
        sum = (sum & 0xffff) + (sum >> 16);
        at += 2;
    }
    Sum { partial: sum, is_odd: false }.finish()
}

#[cfg(test)]
mod tests {
    //! Tests that call no C, for Miri.

    use super::{update, Sum};

    #[test]
    fn sums_of_parts_fold_as_one() {
        let [a, b] = [[0x12, 0x34], [0xff, 0xfe]].map(u16::from_ne_bytes).map(u32::from);
        let parts = Sum::from_partial(a).combine(Sum::from_partial(b));
        assert_eq!(parts.fold(), [0x12, 0x33]); // the carry is added at the other end
        assert_eq!(parts.finish(), [0xed, 0xcc]);
        let odd = Sum { partial: a, is_odd: true };
        assert_eq!(odd.combine(odd).fold(), [0x46, 0x46]); // the second sum is swapped
        assert!(odd.combine(Sum::new()).is_odd && !odd.combine(odd).is_odd);
    }

    #[test]
    fn carries_are_never_lost() {
        let most = Sum::from_partial(u32::MAX);
        assert_eq!(most.combine(most).fold(), [0xff, 0xff]);
        assert_eq!(most.finish_nonzero(), [0xff, 0xff]);
    }

    #[test]
    fn updates_may_change_anything() {
        assert_eq!(update([0xb1, 0xe6], [0x40, 0x06], [0x3f, 0x06]), [0xb2, 0xe6]);
        assert_eq!(update([0xb1, 0xe6], [], []), [0xb1, 0xe6]);
        let check = update([0x12, 0x34], [0xff; 1500], [0; 1500]);
        assert_eq!(update(check, [0; 1500], [0xff; 1500]), [0x12, 0x34]);
    }

    #[test]
    #[should_panic(expected = "odd")]
    fn updates_refuse_halves_of_words() {
        let _ = update([0, 0], [0; 3], [0; 3]);
    }
}
