// SPDX-License-Identifier: MIT
//! The results of checks and repairs of libcarry-capture.

use core::ptr::NonNull;
use libcarry_sys as sys;

/// Owns a summary of libcarry-capture.
#[derive(Debug)]
pub struct Summary(pub(super) NonNull<sys::carry_capture_summary>);

// SAFETY: the library has no thread-local state: one thread at a time may use a summary.
unsafe impl Send for Summary {}

impl Drop for Summary {
    fn drop(&mut self) {
        // SAFETY: the summary has not been freed, and nothing borrowed from it outlives it.
        unsafe { sys::carry_capture_summary_free(self.0.as_ptr()) }
    }
}

impl Summary {
    pub fn totals(&self) -> &sys::carry_capture_totals {
        // SAFETY: the totals remain valid until the summary is freed, and nothing changes them.
        unsafe { &*sys::carry_capture_totals(self.0.as_ptr()) }
    }

    pub fn count(&self, protocol: u32, verdict: u32) -> u64 {
        // SAFETY: the function only looks a number up in the summary.
        unsafe { sys::carry_capture_count(self.0.as_ptr(), protocol, verdict) }
    }

    /// Returns how many checksums have one of `verdicts`: a set of `1 << verdict`, or-ed.
    pub fn total(&self, verdicts: u32) -> u64 {
        // SAFETY: the function only looks numbers up in the summary.
        unsafe { sys::carry_capture_total(self.0.as_ptr(), verdicts) }
    }

    pub fn finding(&self, index: usize) -> Option<&sys::carry_capture_finding> {
        // SAFETY: a kept finding remains valid until the summary is freed.
        unsafe { sys::carry_capture_kept(self.0.as_ptr(), index).as_ref() }
    }
}

/// Owns a record of repairs of libcarry-capture.
#[derive(Debug)]
pub struct Repairs(pub(super) NonNull<sys::carry_capture_repairs>);

// SAFETY: the library has no thread-local state: one thread at a time may use a record.
unsafe impl Send for Repairs {}

impl Drop for Repairs {
    fn drop(&mut self) {
        // SAFETY: the record has not been freed, and nothing borrowed from it outlives it.
        unsafe { sys::carry_capture_repairs_free(self.0.as_ptr()) }
    }
}

impl Repairs {
    pub fn totals(&self) -> &sys::carry_capture_repair_totals {
        // SAFETY: the totals remain valid until the record is freed, and nothing changes them.
        unsafe { &*sys::carry_capture_repair_totals(self.0.as_ptr()) }
    }

    pub fn repaired(&self, protocol: u32, verdict: u32) -> u64 {
        // SAFETY: the function only looks a number up in the record.
        unsafe { sys::carry_capture_repaired(self.0.as_ptr(), protocol, verdict) }
    }

    pub fn left(&self, protocol: u32, verdict: u32) -> u64 {
        // SAFETY: the function only looks a number up in the record.
        unsafe { sys::carry_capture_left(self.0.as_ptr(), protocol, verdict) }
    }

    pub fn group(&self, protocol: u32, verdict: u32, left: u32) -> &sys::carry_capture_group {
        // SAFETY: a group remains valid until the record is freed, and nothing changes it.
        unsafe { &*sys::carry_capture_left_group(self.0.as_ptr(), protocol, verdict, left) }
    }
}

/// Returns the name of a cause.
pub fn cause_name(cause: u32) -> Option<&'static str> {
    // SAFETY: the function returns a static string.
    unsafe { super::text(sys::carry_capture_cause_name(cause)) }
}

/// Returns the name of a reason why a checksum was not repaired, and its text.
pub fn left_texts(left: u32) -> Option<(&'static str, &'static str)> {
    // SAFETY: the functions return static strings.
    unsafe {
        let name = super::text(sys::carry_capture_left_name(left))?;
        Some((name, super::text(sys::carry_capture_left_text(left))?))
    }
}
