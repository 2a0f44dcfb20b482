// SPDX-License-Identifier: MIT
//! The functions of [libcarry] as C declares them: packet checksums, copies, CRC32c, and captures.
//!
//! The crate [`libcarry`] is the safe form. The headers in `vendor/include/carry` document what
//! each function demands. The build compiles C and assembly with the crate `cc`, for any
//! architecture of Linux, and needs nothing else: no Meson, no network.
//!
//! | feature | does |
//! |---|---|
//! | `capture` | compiles libcarry-capture, too: the functions `carry_capture_*` |
//! | `gzip`, `zstd`, `xz`, `lz4`, `bzip2` | reads compressed captures; each needs its C library |
//! | `system` | compiles nothing: links the system's libraries, which pkg-config finds |
//!
//! The crate omits functions that depend on macros of C or on the caller's stack: sites, frames
//! that survive faults, extended state, contexts, thunks and hooks.
//!
//! [libcarry]: https://docs.rs/libcarry
//! [`libcarry`]: https://docs.rs/libcarry
#![no_std]

/// The types of C. `core` defines them from Rust 1.64 on.
#[allow(non_camel_case_types)]
pub mod ctypes {
    /// `void`, as the target of a pointer.
    pub use core::ffi::c_void;

    /// `char`, unless it is unsigned in the ABI of the architecture.
    mod signed {
        #[allow(dead_code)] // hidden where it is unsigned
        pub type c_char = i8;
    }
    pub use signed::*;

    /// `char`, where it is unsigned.
    #[cfg(any(
        target_arch = "aarch64",
        target_arch = "arm",
        target_arch = "powerpc",
        target_arch = "powerpc64",
        target_arch = "riscv32",
        target_arch = "riscv64",
        target_arch = "s390x"
    ))]
    pub type c_char = u8;
    /// `int`.
    pub type c_int = i32;
    /// `unsigned int`.
    pub type c_uint = u32;
}

#[allow(missing_docs, non_camel_case_types, non_upper_case_globals)]
mod bindings;

pub use bindings::*;

#[cfg(test)]
mod tests {
    #[test]
    fn is_the_version_of_the_crate() {
        let part = |text: &str| text.parse::<u32>().unwrap();
        let version = part(env!("CARGO_PKG_VERSION_MAJOR")) * 1_000_000
            + part(env!("CARGO_PKG_VERSION_MINOR")) * 1_000
            + part(env!("CARGO_PKG_VERSION_PATCH"));
        // SAFETY: the function has no arguments, and returns a number.
        assert_eq!(unsafe { super::carry_version() }, version);
    }
}
