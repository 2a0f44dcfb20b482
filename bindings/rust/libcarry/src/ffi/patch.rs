// SPDX-License-Identifier: MIT
//! Patches the sites of the process, and counts them.

use super::{result, text};
use crate::patch::Counts;
use crate::ErrorCode;
use libcarry_sys as sys;

pub fn apply() -> Result<(), ErrorCode> {
    // SAFETY: without flags the function relies on nothing: threads may run all sites during the
    // call.
    result(unsafe { sys::carry_patch_apply(0) })
}

pub fn counts() -> Counts {
    let mut counts = sys::carry_patch_counts::default();
    // SAFETY: the function fills the structure; its strings are static.
    let (backend, guard) = unsafe {
        sys::carry_patch_stats(&mut counts);
        (text(counts.backend), text(counts.guard))
    };
    Counts {
        objects: counts.objects,
        sites: counts.sites,
        unpatched: counts.unpatched.iter().sum(),
        commits: counts.commits,
        written: counts.written,
        backend: backend.unwrap_or_default(),
        guard: guard.unwrap_or_default(),
    }
}
