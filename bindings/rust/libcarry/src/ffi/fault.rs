// SPDX-License-Identifier: MIT
//! Copies that survive faults.

use libcarry_sys as sys;
use sys::ctypes::c_void;

/// The result of carry_fault_acquire() where copies survive by system calls: nothing is acquired.
const NO_HANDLERS: i32 = sys::CARRY_ERROR_UNSUPPORTED;

/// Installs the handlers; returns whether there is anything to release.
pub fn acquire() -> Result<bool, crate::ErrorCode> {
    // SAFETY: the function has no arguments; its handlers pass other faults on.
    match unsafe { sys::carry_fault_acquire() } {
        NO_HANDLERS => Ok(false),
        code => super::result(code).map(|()| true),
    }
}

/// Releases the handlers.
///
/// # Safety
///
/// Must be called once for each acquire() that returned true, after all copies that rely on it.
pub unsafe fn release() {
    // SAFETY: the caller guarantees that the handlers were acquired, and that no copy needs them.
    unsafe { sys::carry_fault_release() }
}

/// Checks whether the `size` bytes at `a` and the `size` bytes at `b` overlap.
fn overlap(a: usize, b: usize, size: usize) -> bool {
    a.wrapping_sub(b) < size || b.wrapping_sub(a) < size
}

fn refuse_overlap(dst: *const u8, src: *const u8, size: usize) {
    assert!(!overlap(dst as usize, src as usize, size), "source and destination overlap");
}

/// Copies bytes from an address; returns how many are left.
pub fn copy(dst: &mut [u8], src: *const u8) -> usize {
    refuse_overlap(dst.as_ptr(), src, dst.len());
    // SAFETY: only `dst` is written, and the ranges do not overlap. Any address may be read, as no
    // code relies on the values: see Recovery.
    unsafe { sys::carry_copy_try(dst.as_mut_ptr().cast(), src.cast(), dst.len()) }
}

/// Copies bytes from an address; returns the sum of the copied bytes, and how many are left.
pub fn sum_copy(dst: &mut [u8], src: *const u8) -> (u32, usize) {
    refuse_overlap(dst.as_ptr(), src, dst.len());
    let mut sum = 0;
    // SAFETY: as in copy(); `sum` is a local variable.
    let left = unsafe {
        sys::carry_sum_copy_try(dst.as_mut_ptr().cast(), src.cast(), dst.len(), &mut sum)
    };
    (sum, left)
}

/// Copies `src` to an address; returns how many bytes are left.
///
/// # Safety
///
/// The bytes at `dst`, as many as in `src`, must not belong to Rust (for example, memory shared
/// with another process), or writes through `dst` must be allowed there.
pub unsafe fn copy_to(dst: *mut u8, src: &[u8]) -> usize {
    refuse_overlap(dst, src.as_ptr(), src.len());
    // SAFETY: the caller guarantees that `dst` may be written, and the ranges do not overlap.
    unsafe { sys::carry_copy_try(dst.cast(), src.as_ptr().cast(), src.len()) }
}

/// Reads a number of 1, 2, 4 or 8 bytes in one access; returns whether it could be read.
pub fn read(value: &mut [u8], src: *const c_void) -> bool {
    // SAFETY: as in copy(); the function refuses other sizes.
    unsafe { sys::carry_read_try(value.as_mut_ptr().cast(), src, value.len()) }
}

/// Writes a number of 1, 2, 4 or 8 bytes in one access; returns whether it could be written.
///
/// # Safety
///
/// The conditions of copy_to() apply.
pub unsafe fn write(dst: *mut c_void, value: &[u8]) -> bool {
    // SAFETY: the caller guarantees that `dst` may be written; the function refuses other sizes.
    unsafe { sys::carry_write_try(dst, value.as_ptr().cast(), value.len()) }
}

#[cfg(test)]
mod tests {
    use super::overlap;

    #[test]
    fn ranges_overlap_at_both_ends() {
        for (a, b, is_overlap) in
            [(8, 8, true), (8, 11, true), (11, 8, true), (8, 12, false), (12, 8, false)]
        {
            assert_eq!(overlap(a, b, 4), is_overlap, "{a}, {b}");
        }
        assert!(!overlap(8, 8, 0));
        assert!(overlap(usize::MAX, 2, 4)); // address 0 follows the last address
    }
}
