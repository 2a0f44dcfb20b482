// SPDX-License-Identifier: MIT
//! Captures of libcarry-capture, and their packets.

use super::callbacks::{Callbacks, OnChange, OnFinding};
use super::results::{Repairs, Summary};
use super::stream::Stream;
use crate::capture::Error;
use crate::ErrorCode;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use core::slice;
use libcarry_sys as sys;
use std::boxed::Box;
use std::ffi::CStr;
use std::io::{Read, Seek, Write};
use std::mem::ManuallyDrop;
use std::string::String;

/// Owns a capture of libcarry-capture. The capture may borrow the bytes that it reads, or own a
/// reader.
#[derive(Debug)]
pub struct Capture<'a> {
    capture: NonNull<sys::carry_capture>,
    reader: Option<NonNull<Stream<dyn Send + 'a>>>,
    borrowed: PhantomData<&'a [u8]>,
}

// SAFETY: the library has no thread-local state: one thread at a time may use a capture; readers
// may move between threads.
unsafe impl Send for Capture<'_> {}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        // SAFETY: the capture is open, and nothing borrowed from it outlives it. The reader came
        // from a box, and the closed capture no longer uses it.
        unsafe {
            sys::carry_capture_close(self.capture.as_ptr());
            self.reader.map(|reader| Box::from_raw(reader.as_ptr()));
        }
    }
}

/// Returns the error of the library, with the text of a reader or writer if there is one.
fn error(found: &sys::carry_capture_error, text: Option<String>) -> Error {
    // SAFETY: the library ends the text within the array.
    let own = unsafe { CStr::from_ptr(found.text.as_ptr()) };
    let text = text.unwrap_or_else(|| own.to_string_lossy().into_owned());
    Error::new(found.code, found.system, found.offset, text)
}

type Opened = (*mut *mut sys::carry_capture, *mut sys::carry_capture_error);

impl<'a> Capture<'a> {
    fn opened(open: impl FnOnce(Opened) -> i32) -> Result<Self, Error> {
        let mut capture = ptr::null_mut();
        let mut problem = sys::carry_capture_error { text: [0; 160], ..Default::default() };
        open((&mut capture, &mut problem));
        NonNull::new(capture)
            .map(|capture| Self { capture, reader: None, borrowed: PhantomData })
            .ok_or_else(|| error(&problem, None))
    }

    pub fn open_path(path: &CStr) -> Result<Self, Error> {
        // SAFETY: the path is a C string, and the results are written to the caller's variables.
        Self::opened(|(capture, error)| unsafe {
            sys::carry_capture_open_path(path.as_ptr(), capture, error)
        })
    }

    pub fn open_memory(bytes: &'a [u8]) -> Result<Self, Error> {
        // SAFETY: the lifetime keeps the bytes; the results are written to the caller's variables.
        Self::opened(|(capture, error)| unsafe {
            sys::carry_capture_open_memory(bytes.as_ptr().cast(), bytes.len(), capture, error)
        })
    }

    fn open_source<R: Send + 'a>(
        stream: Stream<R>,
        source: impl FnOnce(NonNull<Stream<R>>) -> sys::carry_capture_source,
    ) -> Result<Self, Error> {
        let mut stream = ManuallyDrop::new(Box::new(stream));
        let stream = NonNull::from(&mut **stream);
        let source = source(stream);
        // SAFETY: the source is copied, and the stream lives until the capture is closed.
        let opened = Self::opened(|(capture, error)| unsafe {
            sys::carry_capture_open_source(&source, capture, error)
        });
        match opened {
            Ok(mut capture) => {
                capture.reader = Some(stream);
                Ok(capture)
            }
            Err(error) => {
                // SAFETY: the stream came from a box, and there is no capture that could use it.
                drop(unsafe { Box::from_raw(stream.as_ptr()) });
                Err(error)
            }
        }
    }

    pub fn open_reader<R: Read + Send + 'a>(reader: R) -> Result<Self, Error> {
        Self::open_source(Stream::new(reader), Stream::source)
    }

    pub fn open_seekable<R: Read + Seek + Send + 'a>(reader: R) -> Result<Self, Error> {
        let stream =
            Stream::from_here(reader).map_err(|error| Error::of_io(ErrorCode::Read, &error))?;
        Self::open_source(stream, Stream::seekable_source)
    }

    /// Continues the panic of the reader, if it panicked; else returns `result`. Must be called
    /// after functions that read.
    fn read<T>(&mut self, result: T) -> T {
        if let Some(mut reader) = self.reader {
            // SAFETY: the reader lives as long as the capture, which does not use it now.
            unsafe { reader.as_mut() }.failure.resume();
        }
        result
    }

    fn last_error(&mut self) -> Error {
        // SAFETY: the capture is open, and the error is copied before its next use.
        let last = unsafe { &*sys::carry_capture_last_error(self.capture.as_ptr()) };
        // SAFETY: as in read().
        let text =
            self.reader.and_then(|mut reader| unsafe { reader.as_mut() }.failure.take_text());
        error(last, text.filter(|_| last.code == sys::CARRY_ERROR_READ))
    }

    /// Returns the next packet, which is valid until the next call.
    pub fn next(&mut self) -> Result<Option<Packet<'_>>, Error> {
        let mut packet = ptr::null();
        // SAFETY: the capture is open, and only this thread uses it.
        let found = unsafe { sys::carry_capture_next(self.capture.as_ptr(), &mut packet) };
        match u32::try_from(self.read(found)) {
            // SAFETY: the packet was set, and remains valid until the capture is used again.
            Ok(sys::CARRY_CAPTURE_PACKET) => Ok(Some(unsafe { Packet::lent(&*packet) })),
            Ok(_) => Ok(None),
            Err(_) => Err(self.last_error()),
        }
    }

    pub fn rewind(&mut self) -> Result<(), ErrorCode> {
        // SAFETY: the capture is open, and only this thread uses it.
        let result = unsafe { sys::carry_capture_rewind(self.capture.as_ptr()) };
        super::result(self.read(result))
    }

    /// Returns the name of the format (`None` if it is unknown), and whether the capture is
    /// compressed.
    pub fn format(&mut self) -> (Option<&'static str>, bool) {
        // SAFETY: the capture is open, and only this thread uses it.
        let (format, is_compressed) = unsafe {
            let format = sys::carry_capture_format(self.capture.as_ptr());
            (format, sys::carry_capture_is_compressed(self.capture.as_ptr()))
        };
        // SAFETY: names of formats are static strings.
        let name = unsafe { super::text(sys::carry_capture_format_name(self.read(format))) };
        (name.filter(|_| format != sys::CARRY_CAPTURE_FORMAT_UNKNOWN), is_compressed)
    }

    /// Checks the capture, and returns a summary up to the end or an error; `None` if there is no
    /// memory.
    pub fn check<'f>(
        &mut self,
        mut options: sys::carry_capture_check_options,
        protocols: &[u32],
        callbacks: &mut Callbacks<'f, OnFinding<'f>>,
    ) -> (Option<Summary>, Result<(), Error>) {
        if !protocols.is_empty() {
            (options.protocols, options.protocol_count) = (protocols.as_ptr(), protocols.len());
        }
        options.finding = callbacks.finding_fn();
        options.progress = callbacks.progress_fn();
        options.select = callbacks.select_fn();
        options.user = (callbacks as *mut Callbacks<_>).cast();
        let mut summary = ptr::null_mut();
        // SAFETY: the capture is open; the callbacks are called only from this thread and during
        // the call; the caller owns the summary, and Summary frees it.
        let code =
            unsafe { sys::carry_capture_check(self.capture.as_ptr(), &options, &mut summary) };
        let summary = NonNull::new(summary).map(Summary);
        callbacks.failure.resume();
        self.read(());
        (summary, if code == 0 { Ok(()) } else { Err(self.last_error()) })
    }

    /// Writes the repaired capture to `sink`, or nowhere if `sink` is NULL. Returns the repairs up
    /// to the end or an error; `None` if there is no memory.
    fn fix_to<'f>(
        &mut self,
        mut options: sys::carry_capture_fix_options,
        callbacks: &mut Callbacks<'f, OnChange<'f>>,
        sink: *const sys::carry_capture_sink,
    ) -> (Option<Repairs>, Result<(), Error>) {
        options.change = callbacks.change_fn();
        options.progress = callbacks.progress_fn();
        options.select = callbacks.select_fn();
        options.user = (callbacks as *mut Callbacks<_>).cast();
        let mut repairs = ptr::null_mut();
        // SAFETY: the capture is open; callbacks and sink are called only from this thread and
        // during the call; the caller owns the repairs, and Repairs frees them.
        let code =
            unsafe { sys::carry_capture_fix(self.capture.as_ptr(), &options, sink, &mut repairs) };
        let repairs = NonNull::new(repairs).map(Repairs);
        callbacks.failure.resume();
        self.read(());
        (repairs, if code == 0 { Ok(()) } else { Err(self.last_error()) })
    }

    fn fix_stream<'f, W>(
        &mut self,
        options: sys::carry_capture_fix_options,
        callbacks: &mut Callbacks<'f, OnChange<'f>>,
        mut stream: Stream<W>,
        sink: impl FnOnce(NonNull<Stream<W>>) -> sys::carry_capture_sink,
    ) -> (Option<Repairs>, Result<(), Error>) {
        let sink = sink(NonNull::from(&mut stream));
        let (repairs, result) = self.fix_to(options, callbacks, &sink);
        stream.failure.resume();
        let text = stream.failure.take_text();
        let result = result.map_err(|error| match error.code() {
            ErrorCode::Write => error.or_text(text),
            _ => error,
        });
        (repairs, result)
    }

    pub fn fix<'f>(
        &mut self,
        options: sys::carry_capture_fix_options,
        callbacks: &mut Callbacks<'f, OnChange<'f>>,
        to: impl Write,
    ) -> (Option<Repairs>, Result<(), Error>) {
        self.fix_stream(options, callbacks, Stream::new(to), Stream::sink)
    }

    /// Writes the repaired capture to a writer that can seek. Fails if the writer does not report
    /// its position.
    pub fn fix_seekable<'f>(
        &mut self,
        options: sys::carry_capture_fix_options,
        callbacks: &mut Callbacks<'f, OnChange<'f>>,
        to: impl Write + Seek,
    ) -> Result<(Option<Repairs>, Result<(), Error>), Error> {
        let stream =
            Stream::from_here(to).map_err(|error| Error::of_io(ErrorCode::Write, &error))?;
        Ok(self.fix_stream(options, callbacks, stream, Stream::seekable_sink))
    }

    pub fn fix_nowhere<'f>(
        &mut self,
        options: sys::carry_capture_fix_options,
        callbacks: &mut Callbacks<'f, OnChange<'f>>,
    ) -> (Option<Repairs>, Result<(), Error>) {
        self.fix_to(options, callbacks, ptr::null())
    }
}

/// A packet that is borrowed from a capture, or a packet to write.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a>(pub sys::carry_capture_packet, PhantomData<&'a [u8]>);

// SAFETY: a packet consists of a slice and plain values.
unsafe impl Send for Packet<'_> {}
// SAFETY: as for Send.
unsafe impl Sync for Packet<'_> {}

impl<'a> Packet<'a> {
    pub fn new(bytes: &'a [u8], linktype: u32) -> Self {
        let captured = u32::try_from(bytes.len()).unwrap_or(u32::MAX); // no packet has more bytes
        let data = bytes.as_ptr();
        let packet = sys::carry_capture_packet {
            data,
            captured,
            wire: captured,
            linktype,
            ..Default::default()
        };
        Self(packet, PhantomData)
    }

    /// Makes a packet that is borrowed from a capture.
    ///
    /// # Safety
    ///
    /// The packet's bytes must remain valid as long as it is borrowed.
    pub unsafe fn lent(packet: &'a sys::carry_capture_packet) -> Self {
        Self(*packet, PhantomData)
    }

    pub fn bytes(self) -> &'a [u8] {
        if self.0.captured == 0 {
            return &[];
        }
        // SAFETY: the packet's bytes are valid as long as they are borrowed.
        unsafe { slice::from_raw_parts(self.0.data, self.0.captured as usize) }
    }

    /// Returns the packet's frame, without its frame check sequence.
    pub fn frame(self) -> sys::carry_frame {
        // SAFETY: the function reads only the packet.
        unsafe { sys::carry_capture_frame(&self.0) }
    }
}

/// Returns the packet of a finding; `None` outside callbacks.
pub fn finding_packet(finding: &sys::carry_capture_finding) -> Option<Packet<'_>> {
    // SAFETY: the packet is valid during the callback, or NULL.
    unsafe { finding.packet.as_ref().map(|packet| Packet::lent(packet)) }
}
