// SPDX-License-Identifier: MIT
//! Copies of bytes, by kernels chosen for this CPU.
//!
//! ```
//! let mut bytes = *b"abcdef";
//! libcarry::copy::within(&mut bytes, 0..4, 2);
//! assert_eq!(&bytes, b"ababcd");
//! ```

use crate::ffi;
use core::ops::Range;

/// Copies all bytes of `src` to `dst`.
///
/// # Panics
///
/// If the slices differ in length.
pub fn copy(dst: &mut [u8], src: &[u8]) {
    ffi::copy(dst, src);
}

/// Copies like [`copy()`], for much data that this CPU will not read again soon: copies that are
/// large enough bypass the caches.
///
/// # Panics
///
/// If the slices differ in length.
pub fn stream(dst: &mut [u8], src: &[u8]) {
    ffi::copy_stream(dst, src);
}

/// Copies the bytes of range `src` to offset `dst` of the same slice; the ranges may overlap.
///
/// # Panics
///
/// If a range ends beyond the slice, or `src` starts after its end.
pub fn within(bytes: &mut [u8], src: Range<usize>, dst: usize) {
    let size = src.end.checked_sub(src.start).expect("the range starts after its end");
    ffi::copy_within(bytes, dst, src.start, size);
}
