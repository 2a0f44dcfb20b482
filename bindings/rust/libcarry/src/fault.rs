// SPDX-License-Identifier: MIT
//! Copies from and to memory that may vanish during the copy, such as a file that another process
//! truncates.
//!
//! ```
//! use libcarry::fault::Recovery;
//!
//! let recovery = Recovery::acquire()?;
//! let mut copy = [7; 4];
//! assert_eq!(recovery.copy(&mut copy, b"abcd".as_ptr()), 0);
//! assert_eq!(&copy, b"abcd");
//! assert_eq!(recovery.copy(&mut copy, core::ptr::null()), 4); // all bytes are left
//! assert_eq!(&copy, b"abcd");
//! assert_eq!(recovery.read::<u32>(core::ptr::null()), None);
//! # Ok::<(), libcarry::ErrorCode>(())
//! ```

use crate::{ffi, ErrorCode, Sum};

/// Recovery from faults: as long as a `Recovery` exists, handlers of SIGSEGV and SIGBUS are
/// installed. They pass faults of other code on to the previous handlers, such as Rust's own
/// handler for stack overflows.
///
/// A copy from any address is safe. It reads by instructions that the compiler never sees, so all
/// that Rust may conclude is that each copied byte has some value, as if it came from a file with
/// unknown content. No reference to the memory at the address is created. Bytes that other threads
/// write during the copy, or that Rust keeps in registers or has not initialised, have a
/// meaningless value. Writes are unsafe: they must not change memory that Rust relies on.
///
/// Unsafe code must prevent two effects of reading. Registers of devices may change when they are
/// read: code that maps them must keep their address private. A thread that blocks SIGSEGV or
/// SIGBUS must not copy: the system ends the process if the copy faults.
///
/// Each byte is copied with a value that it had at some time during the call. The number of bytes
/// left is exact, whatever happens to the mappings. Where there are no handlers (on every
/// architecture except x86-64 and AArch64), copies survive through system calls and take longer.
#[derive(Debug)]
pub struct Recovery {
    is_acquired: bool,
}

impl Recovery {
    /// Installs the handlers; installs them again if other code has installed handlers over them.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::Permission`] if the system refuses the handlers, or the system calls.
    pub fn acquire() -> Result<Self, ErrorCode> {
        Ok(Self { is_acquired: ffi::fault::acquire()? })
    }

    /// Copies `dst.len()` bytes from an address, and returns how many are left: 0 if all were
    /// copied. The bytes of `dst` that are left keep their values.
    ///
    /// # Panics
    ///
    /// If the ranges overlap.
    #[must_use]
    pub fn copy(&self, dst: &mut [u8], src: *const u8) -> usize {
        ffi::fault::copy(dst, src)
    }

    /// Copies like [`Recovery::copy`], and also returns the sum of the copied bytes. If other
    /// threads write them during the call, the sum may not match the copy.
    ///
    /// # Panics
    ///
    /// If the ranges overlap.
    pub fn sum_copy(&self, dst: &mut [u8], src: *const u8) -> (Sum, usize) {
        let (partial, left) = ffi::fault::sum_copy(dst, src);
        (Sum::of_size(partial, dst.len() - left), left)
    }

    /// Copies `src` to `dst`, and returns how many bytes are left: 0 if all were copied. The bytes
    /// at `dst` that are left keep their values.
    ///
    /// # Safety
    ///
    /// Writing `src.len()` bytes at `dst` must not change memory that Rust relies on: it is shared
    /// with other processes, or not mapped, or the program may write to it through `dst`.
    ///
    /// # Panics
    ///
    /// If the ranges overlap.
    #[allow(unsafe_code)]
    #[must_use]
    pub unsafe fn copy_to(&self, dst: *mut u8, src: &[u8]) -> usize {
        // SAFETY: the caller guarantees that `dst` may be written.
        unsafe { ffi::fault::copy_to(dst, src) }
    }

    /// Reads a number of up to 8 bytes, in this machine's byte order, in one access where there are
    /// handlers; returns `None` if the number cannot be read. `src` need not be aligned.
    #[must_use]
    pub fn read<N: Number>(&self, src: *const N) -> Option<N> {
        let mut bytes = N::Bytes::default();
        ffi::fault::read(bytes.as_mut(), src.cast()).then(|| N::from_bytes(bytes))
    }

    /// Writes a number of up to 8 bytes, like [`Recovery::read`]; returns false if the number
    /// cannot be written.
    ///
    /// # Safety
    ///
    /// The conditions of [`Recovery::copy_to`] apply.
    #[allow(unsafe_code)]
    #[must_use]
    pub unsafe fn write<N: Number>(&self, dst: *mut N, value: N) -> bool {
        // SAFETY: the caller guarantees that `dst` may be written.
        unsafe { ffi::fault::write(dst.cast(), value.to_bytes().as_ref()) }
    }
}

impl Drop for Recovery {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if self.is_acquired {
            // SAFETY: each copy borrows a Recovery, so no copy is running at the last release.
            unsafe { ffi::fault::release() }
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A number that is read and written in one access.
pub trait Number: Copy + sealed::Sealed {
    /// The bytes of the number, in this machine's order.
    type Bytes: AsRef<[u8]> + AsMut<[u8]> + Default;

    /// Makes the number that has these bytes.
    fn from_bytes(bytes: Self::Bytes) -> Self;

    /// Returns the bytes of this number.
    fn to_bytes(self) -> Self::Bytes;
}

macro_rules! numbers {
    ($($number:ty),*) => {
        $(impl sealed::Sealed for $number {}

        impl Number for $number {
            type Bytes = [u8; core::mem::size_of::<$number>()];

            fn from_bytes(bytes: Self::Bytes) -> Self {
                Self::from_ne_bytes(bytes)
            }

            fn to_bytes(self) -> Self::Bytes {
                self.to_ne_bytes()
            }
        })*
    };
}

numbers!(u8, u16, u32, u64);
