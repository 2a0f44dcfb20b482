// SPDX-License-Identifier: MIT
//! The call sites and branches of this process that libcarry patches: the library's own, and those
//! that its other users have in C.
//!
//! Rust has no sites of its own. They need instructions with labels that the code around them jumps
//! to, which Rust has had since 1.87, so not in every version that this crate supports; and a key
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

/// Patches every site to its present state, so that what the library calls inside costs a direct
/// call; otherwise the first change does. To be called once, when the program starts. Threads may
/// run.
///
/// # Errors
///
/// If the system refuses it. Nothing has changed then, and everything works the same.
pub fn apply() -> Result<(), ErrorCode> {
    ffi::patch::apply()
}

/// The sites, by the states that their text has now.
#[must_use]
pub fn counts() -> Counts {
    ffi::patch::counts()
}

/// How many sites there are, and what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// The executable and shared objects that have sites.
    pub objects: usize,
    /// Their sites.
    pub sites: usize,
    /// Those of them that are not patched, and so read their state from memory.
    pub unpatched: usize,
    /// Changes that took effect.
    pub commits: u64,
    /// Sites that all changes wrote.
    pub written: u64,
    /// How text is written; `none` before the first change.
    pub backend: &'static str,
    /// How threads are held during a change, or `none`.
    pub guard: &'static str,
}
