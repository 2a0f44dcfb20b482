// SPDX-License-Identifier: MIT
//! libcarry-capture's objects, which are freed when they are dropped.

use crate::capture::Error;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use core::slice;
use libcarry_sys as sys;
use std::ffi::CStr;

/// Owns a capture of libcarry-capture, which may borrow the bytes that it reads.
#[derive(Debug)]
pub struct Capture<'a>(NonNull<sys::carry_capture>, PhantomData<&'a [u8]>);

// SAFETY: the library has no thread-local state: one thread at a time may use a capture.
unsafe impl Send for Capture<'_> {}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        // SAFETY: the capture is open, and nothing that it lends outlives it.
        unsafe { sys::carry_capture_close(self.0.as_ptr()) }
    }
}

/// What the library says of a failure.
fn error(found: &sys::carry_capture_error) -> Error {
    // SAFETY: the library ends the text within the array.
    let text = unsafe { CStr::from_ptr(found.text.as_ptr()) };
    Error::new(found.code, found.system, found.offset, text.to_string_lossy().into_owned())
}

impl<'a> Capture<'a> {
    fn opened(
        open: impl FnOnce(*mut *mut sys::carry_capture, *mut sys::carry_capture_error) -> i32,
    ) -> Result<Self, Error> {
        let mut capture = ptr::null_mut();
        let mut problem = sys::carry_capture_error { text: [0; 160], ..Default::default() };
        open(&mut capture, &mut problem);
        NonNull::new(capture)
            .map(|capture| Self(capture, PhantomData))
            .ok_or_else(|| error(&problem))
    }

    pub fn open_path(path: &CStr) -> Result<Self, Error> {
        // SAFETY: the path is a string of C, and the results are written to the caller's variables.
        Self::opened(|capture, error| unsafe {
            sys::carry_capture_open_path(path.as_ptr(), capture, error)
        })
    }

    pub fn open_memory(bytes: &'a [u8]) -> Result<Self, Error> {
        // SAFETY: the lifetime keeps the bytes; the results are written to the caller's variables.
        Self::opened(|capture, error| unsafe {
            sys::carry_capture_open_memory(bytes.as_ptr().cast(), bytes.len(), capture, error)
        })
    }

    fn last_error(&self) -> Error {
        // SAFETY: the capture is open, and the error is copied before its next use.
        error(unsafe { &*sys::carry_capture_last_error(self.0.as_ptr()) })
    }

    /// The packet stays until the next call, which needs the capture for itself.
    pub fn next(&mut self) -> Result<Option<Packet<'_>>, Error> {
        let mut packet = ptr::null();
        // SAFETY: the capture is open, and of this thread alone.
        let found = unsafe { sys::carry_capture_next(self.0.as_ptr(), &mut packet) };
        match u32::try_from(found) {
            // SAFETY: the packet was set, and stays until the capture is used again.
            Ok(sys::CARRY_CAPTURE_PACKET) => Ok(Some(Packet(unsafe { &*packet }))),
            Ok(_) => Ok(None),
            Err(_) => Err(self.last_error()),
        }
    }

    pub fn rewind(&mut self) -> Result<(), crate::ErrorCode> {
        // SAFETY: the capture is open, and of this thread alone.
        super::result(unsafe { sys::carry_capture_rewind(self.0.as_ptr()) })
    }

    /// A summary of what was found until the end or an error; `None` if there is no memory.
    pub fn check(
        &mut self,
        options: &sys::carry_capture_check_options,
    ) -> (Option<Summary>, Result<(), Error>) {
        let mut summary = ptr::null_mut();
        // SAFETY: the capture is open; the options have no callback; the summary is ours to free.
        let code = unsafe { sys::carry_capture_check(self.0.as_ptr(), options, &mut summary) };
        let result = if code == 0 { Ok(()) } else { Err(self.last_error()) };
        (NonNull::new(summary).map(Summary), result)
    }
}

/// A packet that a capture lends.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a>(pub &'a sys::carry_capture_packet);

impl<'a> Packet<'a> {
    pub fn bytes(self) -> &'a [u8] {
        if self.0.captured == 0 {
            return &[];
        }
        // SAFETY: the packet has these bytes as long as the capture lends it.
        unsafe { slice::from_raw_parts(self.0.data, self.0.captured as usize) }
    }

    /// Its frame, without its frame check sequence.
    pub fn frame(self) -> sys::carry_frame {
        // SAFETY: the function reads the packet alone.
        unsafe { sys::carry_capture_frame(self.0) }
    }
}

/// Owns a summary of libcarry-capture.
#[derive(Debug)]
pub struct Summary(NonNull<sys::carry_capture_summary>);

// SAFETY: the library has no thread-local state: one thread at a time may use a summary.
unsafe impl Send for Summary {}

impl Drop for Summary {
    fn drop(&mut self) {
        // SAFETY: the summary is there, and nothing that it lends outlives it.
        unsafe { sys::carry_capture_summary_free(self.0.as_ptr()) }
    }
}

impl Summary {
    pub fn totals(&self) -> &sys::carry_capture_totals {
        // SAFETY: the totals stay until the summary is freed, and nothing changes them.
        unsafe { &*sys::carry_capture_totals(self.0.as_ptr()) }
    }

    pub fn count(&self, protocol: u32, verdict: u32) -> u64 {
        // SAFETY: the function looks a number up in the summary.
        unsafe { sys::carry_capture_count(self.0.as_ptr(), protocol, verdict) }
    }

    /// `verdicts` is a set: `1 << verdict`, or-ed.
    pub fn total(&self, verdicts: u32) -> u64 {
        // SAFETY: the function looks numbers up in the summary.
        unsafe { sys::carry_capture_total(self.0.as_ptr(), verdicts) }
    }

    pub fn finding(&self, index: usize) -> Option<&sys::carry_capture_finding> {
        // SAFETY: a finding that is kept stays until the summary is freed.
        unsafe { sys::carry_capture_kept(self.0.as_ptr(), index).as_ref() }
    }
}

/// The name of a cause.
pub fn cause_name(cause: u32) -> Option<&'static str> {
    // SAFETY: the function returns a string that stays.
    unsafe { super::text(sys::carry_capture_cause_name(cause)) }
}
