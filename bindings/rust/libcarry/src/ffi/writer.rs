// SPDX-License-Identifier: MIT
//! Writers of libcarry-capture.

use super::capture::Packet;
use super::stream::Stream;
use crate::capture::Error;
use core::ptr::{self, NonNull};
use libcarry_sys as sys;
use std::boxed::Box;
use std::ffi::CStr;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::string::String;

/// Owns a writer of libcarry-capture, and its target.
#[derive(Debug)]
pub struct Writer<W> {
    writer: NonNull<sys::carry_capture_writer>,
    stream: NonNull<Stream<W>>,
}

// SAFETY: the library has no thread-local state: one thread at a time may use a writer.
unsafe impl<W: Send> Send for Writer<W> {}

impl<W> Drop for Writer<W> {
    fn drop(&mut self) {
        // SAFETY: the writer is freed once, and then the stream. The stream came from a box.
        unsafe {
            sys::carry_capture_writer_free(self.writer.as_ptr());
            drop(Box::from_raw(self.stream.as_ptr()));
        }
    }
}

impl<W: Write> Writer<W> {
    pub fn create(
        inner: W,
        format: sys::carry_capture_format,
        application: Option<&CStr>,
    ) -> Result<Self, Error> {
        let application = application.map_or(ptr::null(), CStr::as_ptr);
        let options =
            sys::carry_capture_writer_options { format, application, ..Default::default() };
        let mut stream = ManuallyDrop::new(Box::new(Stream::new(inner)));
        let stream = NonNull::from(&mut **stream);
        let mut writer = ptr::null_mut();
        // SAFETY: options and sink are copied; the stream lives until the writer is freed.
        let code = unsafe {
            sys::carry_capture_writer_create(&options, &Stream::sink(stream), &mut writer)
        };
        match NonNull::new(writer) {
            Some(writer) => Ok(Self { writer, stream }),
            None => {
                // SAFETY: the stream came from a box, and no writer uses it.
                drop(unsafe { Box::from_raw(stream.as_ptr()) });
                Err(Error::new(code, 0, 0, String::new()))
            }
        }
    }

    /// Returns the result of a function of the writer, or continues the panic of its target.
    fn result(&mut self, code: i32) -> Result<(), Error> {
        // SAFETY: the stream lives as long as the writer, which does not use it now.
        let failure = &mut unsafe { self.stream.as_mut() }.failure;
        failure.resume();
        if code == 0 {
            return Ok(());
        }
        let text = failure.take_text().filter(|_| code == sys::CARRY_ERROR_WRITE);
        // SAFETY: the writer has not been freed.
        let system = unsafe { sys::carry_capture_writer_errno(self.writer.as_ptr()) };
        let system = if code == sys::CARRY_ERROR_WRITE { system } else { 0 };
        Err(Error::new(code, system, 0, String::new()).or_text(text))
    }

    pub fn add(&mut self, packet: Packet<'_>, comment: Option<&CStr>) -> Result<(), Error> {
        let comment = comment.map_or(ptr::null(), CStr::as_ptr);
        // SAFETY: the packet's bytes are valid; the comment is a C string, or NULL.
        let code =
            unsafe { sys::carry_capture_writer_add(self.writer.as_ptr(), &packet.0, comment) };
        self.result(code)
    }

    pub fn name(&mut self, interface: u32, name: &CStr) -> Result<(), Error> {
        // SAFETY: the name is a C string, and the function copies it.
        let code = unsafe {
            sys::carry_capture_writer_name(self.writer.as_ptr(), interface, name.as_ptr())
        };
        self.result(code)
    }

    pub fn statistics(
        &mut self,
        interface: u32,
        statistics: &sys::carry_capture_statistics,
    ) -> Result<(), Error> {
        // SAFETY: the function reads only the structure.
        let code = unsafe {
            sys::carry_capture_writer_statistics(self.writer.as_ptr(), interface, statistics)
        };
        self.result(code)
    }

    pub fn finish(mut self) -> Result<W, Error> {
        // SAFETY: the writer has not been freed.
        let code = unsafe { sys::carry_capture_writer_end(self.writer.as_ptr()) };
        self.result(code)?;
        let Self { writer, stream } = *ManuallyDrop::new(self);
        // SAFETY: the writer no longer writes to the stream, which came from a box.
        unsafe {
            sys::carry_capture_writer_free(writer.as_ptr());
            Ok(Box::from_raw(stream.as_ptr()).inner)
        }
    }
}
