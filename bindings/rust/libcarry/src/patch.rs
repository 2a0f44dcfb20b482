// SPDX-License-Identifier: MIT
//! The call sites and branches of this process that libcarry patches: its own, and those of C code
//! that uses it.
//!
//! This crate defines no sites. They need instructions with labels that the code around them jumps
//! to. Rust supports such labels since 1.87, and this crate supports earlier versions. A key
//! without sites is no more than an [`AtomicBool`](core::sync::atomic::AtomicBool).
//!
//! ```
//! use libcarry::patch;
//!
//! let _ = patch::apply(); // the program runs on where it is refused
//! let counts = patch::counts();
//! println!("{} of {} sites are not patched", counts.unpatched, counts.sites);
//! ```

use crate::{ffi, ErrorCode};

/// Patches every site to its present state, so that internal calls of the library become direct.
/// Without this call, the first change does it. Must be called once, when the program starts; other
/// threads may run.
///
/// # Errors
///
/// If the system refuses. Then nothing has changed, and all functions work as before.
pub fn apply() -> Result<(), ErrorCode> {
    ffi::patch::apply()
}

/// Counts the sites by the states that their text has now.
#[must_use]
pub fn counts() -> Counts {
    ffi::patch::counts()
}

/// How many sites there are, and what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// The number of objects that have sites: the executable and shared objects.
    pub objects: usize,
    /// The number of their sites.
    pub sites: usize,
    /// The number of sites that are not patched, and so read their state from memory.
    pub unpatched: usize,
    /// The number of changes that took effect.
    pub commits: u64,
    /// The number of sites that were written by all changes together.
    pub written: u64,
    /// How text is written; `none` before the first change.
    pub backend: &'static str,
    /// How threads are held during a change, or `none`.
    pub guard: &'static str,
}
