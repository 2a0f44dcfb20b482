// SPDX-License-Identifier: MIT
//! The closures of a check or a repair, as functions that C calls.

use super::capture::Packet;
use super::stream::Failure;
use crate::capture::{self, Change, Finding, Progress};
use core::ops::ControlFlow;
use libcarry_sys as sys;
use std::boxed::Box;
use sys::ctypes::c_void;

/// The result of a closure that may cancel.
pub type Flow = ControlFlow<()>;

pub type OnFinding<'f> = dyn FnMut(Finding<'_>) -> Flow + 'f;
pub type OnChange<'f> = dyn FnMut(Change<'_>) -> Flow + 'f;
pub type OnProgress<'f> = dyn FnMut(Progress) -> Flow + 'f;
pub type Select<'f> = dyn FnMut(capture::Packet<'_>) -> bool + 'f;

/// The closures of a check or repair; `each` is called for each finding or change.
pub struct Callbacks<'f, E: ?Sized> {
    pub each: Option<Box<E>>,
    pub progress: Option<Box<OnProgress<'f>>>,
    pub select: Option<Box<Select<'f>>>,
    pub failure: Failure,
}

impl<E: ?Sized> Default for Callbacks<'_, E> {
    fn default() -> Self {
        Self { each: None, progress: None, select: None, failure: Failure::default() }
    }
}

impl<E: ?Sized> Callbacks<'_, E> {
    /// Returns the closures that C passes as `user`.
    ///
    /// # Safety
    ///
    /// `user` must be of this type, and no other code may use it as long as the result exists.
    unsafe fn of<'c>(user: *mut c_void) -> &'c mut Self
    where
        Self: 'c,
    {
        // SAFETY: the caller guarantees the type, and that no other code uses `user`.
        unsafe { &mut *user.cast::<Self>() }
    }

    /// Calls the closure for progress, if there is one. Also ends the operation after the panic of
    /// a closure that cannot cancel.
    unsafe extern "C" fn call_progress(
        user: *mut c_void,
        progress: *const sys::carry_capture_progress,
    ) -> bool {
        // SAFETY: C passes `user` on unchanged, and makes one call at a time.
        let Self { progress: call, failure, .. } = unsafe { Self::of(user) };
        // SAFETY: C's structure is valid during the call.
        let progress = Progress(unsafe { *progress });
        goes_on(failure.guard(|| match call {
            Some(call) => call(progress),
            None => Flow::Continue(()),
        }))
    }

    unsafe extern "C" fn call_select(
        user: *mut c_void,
        packet: *const sys::carry_capture_packet,
    ) -> bool {
        // SAFETY: as in call_progress().
        let Self { select, failure, .. } = unsafe { Self::of(user) };
        // SAFETY: the packet is valid during the call.
        let packet = unsafe { Packet::lent(&*packet) };
        let select =
            select.as_mut().map(|select| failure.guard(|| select(capture::Packet(packet))));
        select.flatten().unwrap_or(false)
    }

    /// Returns the function for progress. It is always present: it also ends the operation after a
    /// panic.
    pub fn progress_fn(&self) -> sys::carry_capture_progress_fn {
        Some(Self::call_progress)
    }

    pub fn select_fn(&self) -> sys::carry_capture_select_fn {
        self.select.is_some().then_some(Self::call_select)
    }
}

fn goes_on(result: Option<Flow>) -> bool {
    result == Some(Flow::Continue(()))
}

impl<'f> Callbacks<'f, OnFinding<'f>> {
    unsafe extern "C" fn call_finding(
        user: *mut c_void,
        finding: *const sys::carry_capture_finding,
    ) -> bool {
        // SAFETY: as in call_progress().
        let Self { each, failure, .. } = unsafe { Self::of(user) };
        // SAFETY: the finding and its packet are valid during the call.
        let finding = Finding(unsafe { &*finding });
        goes_on(each.as_mut().and_then(|call| failure.guard(|| call(finding))))
    }

    pub fn finding_fn(&self) -> sys::carry_capture_finding_fn {
        self.each.is_some().then_some(Self::call_finding)
    }
}

impl<'f> Callbacks<'f, OnChange<'f>> {
    unsafe extern "C" fn call_change(
        user: *mut c_void,
        change: *const sys::carry_capture_change,
    ) -> bool {
        // SAFETY: as in call_progress().
        let Self { each, failure, .. } = unsafe { Self::of(user) };
        // SAFETY: the change and its checksum are valid during the call.
        let change = unsafe { Change::new(&*change, &*(*change).sum) };
        goes_on(each.as_mut().and_then(|call| failure.guard(|| call(change))))
    }

    pub fn change_fn(&self) -> sys::carry_capture_change_fn {
        self.each.is_some().then_some(Self::call_change)
    }
}
