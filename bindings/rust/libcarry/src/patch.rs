// SPDX-License-Identifier: MIT
//! The call sites and branches of this process that libcarry patches: sites of libcarry, and sites
//! of C code that uses libcarry.
//!
//! This crate defines no sites: a branch needs an instruction that jumps to a label in the code
//! around it. Rust supports such instructions from 1.87 on, but this crate supports earlier
//! versions. A key without sites is no more than an
//! [`AtomicBool`](core::sync::atomic::AtomicBool).
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
/// Without this call, the first change of a key patches the sites. Must be called once, when the
/// program starts; other threads may run.
///
/// # Errors
///
/// If the system refuses. Then nothing has changed, and all functions work as before.
pub fn apply() -> Result<(), ErrorCode> {
    ffi::patch::apply()
}

/// Counts the sites, the sites that are not patched, and the changes.
#[must_use]
pub fn counts() -> Counts {
    ffi::patch::counts()
}

/// The numbers of sites and of changes to them.
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
