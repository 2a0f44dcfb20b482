// SPDX-License-Identifier: MIT
//! Readers, writers and closures that C calls. Their panics never cross functions of C.

use core::any::Any;
use core::ptr::{self, NonNull};
use core::slice;
use libcarry_sys as sys;
use std::boxed::Box;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::string::{String, ToString};
use sys::ctypes::{c_int, c_void};

/// Linux error numbers, for errors to which the system gave no number.
const EINTR: i32 = 4;
const EIO: i32 = 5;
const EAGAIN: i32 = 11;
const ECANCELED: i32 = 125;

/// A panic or an error in a function that C called.
#[derive(Default)]
pub struct Failure {
    panic: Option<Box<dyn Any + Send>>,
    text: Option<String>,
}

impl Failure {
    /// Runs `call`; returns `None` if it panics, or if an earlier call did.
    pub fn guard<T>(&mut self, call: impl FnOnce() -> T) -> Option<T> {
        if self.panic.is_some() {
            return None;
        }
        // No code sees incomplete changes: the panic continues as soon as C has returned.
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(result) => Some(result),
            Err(panic) => {
                self.panic = Some(panic);
                None
            }
        }
    }

    /// Continues the panic, if there was one. Must be called when C has returned.
    pub fn resume(&mut self) {
        if let Some(panic) = self.panic.take() {
            resume_unwind(panic);
        }
    }

    /// Takes the text of an error without errno.
    pub fn take_text(&mut self) -> Option<String> {
        self.text.take()
    }

    /// Runs `call`, and returns its result for C: a negative number for an error.
    fn number<T: Into<i64>>(&mut self, call: impl FnOnce() -> io::Result<T>) -> i64 {
        // Errors may panic too: when they are displayed, and when they are dropped.
        match self.guard(|| call().map_err(number_and_text)) {
            None => i64::from(-ECANCELED),
            Some(Ok(result)) => result.into(),
            Some(Err((number, text))) => {
                self.text = text;
                i64::from(-number)
            }
        }
    }
}

/// Returns the number of an error, and its text if the system gave it no number. Drops the error
/// here, where a panic is caught.
fn number_and_text(error: io::Error) -> (i32, Option<String>) {
    let text = error.raw_os_error().is_none().then(|| error.to_string());
    let number = match (error.raw_os_error(), error.kind()) {
        (Some(number), _) if number > 0 => number,
        (_, ErrorKind::Interrupted) => EINTR,
        (_, ErrorKind::WouldBlock) => EAGAIN,
        _ => EIO,
    };
    (number, text)
}

/// A reader or writer that C calls.
pub struct Stream<S: ?Sized> {
    pub failure: Failure,
    /// The position of the capture's first byte in the stream.
    start: u64,
    written: u64,
    pub inner: S,
}

impl<S> Stream<S> {
    pub fn new(inner: S) -> Self {
        Self { failure: Failure::default(), start: 0, written: 0, inner }
    }
}

impl<S: Seek> Stream<S> {
    /// Makes a stream that begins at the present position of `inner`.
    pub fn from_here(mut inner: S) -> io::Result<Self> {
        let start = inner.stream_position()?;
        Ok(Self { start, ..Self::new(inner) })
    }
}

/// Returns the stream that C passes as `user`.
///
/// # Safety
///
/// `user` must be a `Stream<S>` that no other code uses during the call.
unsafe fn stream<'s, S>(user: *mut c_void) -> &'s mut Stream<S> {
    // SAFETY: the caller guarantees the type, and that no other code uses `user`.
    unsafe { &mut *user.cast::<Stream<S>>() }
}

unsafe extern "C" fn read<R: Read>(user: *mut c_void, buffer: *mut c_void, size: usize) -> i64 {
    // SAFETY: C passes `user` on unchanged, and makes one call at a time.
    let Stream { failure, inner, .. } = unsafe { stream::<R>(user) };
    // SAFETY: the buffer has this size, and only C uses it; Rust must not see it uninitialised.
    let buffer = unsafe {
        ptr::write_bytes(buffer.cast::<u8>(), 0, size);
        slice::from_raw_parts_mut(buffer.cast::<u8>(), size)
    };
    failure.number(|| {
        let read = inner.read(buffer)?;
        assert!(read <= size, "the reader has more bytes than there is room for");
        Ok(read as i64)
    })
}

unsafe extern "C" fn rewind<R: Seek>(user: *mut c_void) -> c_int {
    // SAFETY: as in read().
    let Stream { failure, inner, start, .. } = unsafe { stream::<R>(user) };
    failure.number(|| inner.seek(SeekFrom::Start(*start)).map(|_| 0)) as c_int
}

unsafe extern "C" fn write<W: Write>(
    user: *mut c_void,
    bytes: *const c_void,
    size: usize,
) -> c_int {
    // SAFETY: as in read().
    let Stream { failure, inner, written, .. } = unsafe { stream::<W>(user) };
    // SAFETY: C passes a buffer of this size, and does not change it during the call.
    let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), size) };
    *written += size as u64;
    failure.number(|| inner.write_all(bytes).map(|()| 0)) as c_int
}

unsafe extern "C" fn rewrite<W: Write + Seek>(
    user: *mut c_void,
    offset: u64,
    bytes: *const c_void,
    size: usize,
) -> c_int {
    // SAFETY: as in read().
    let Stream { failure, inner, start, written } = unsafe { stream::<W>(user) };
    // SAFETY: as in write().
    let bytes = unsafe { slice::from_raw_parts(bytes.cast::<u8>(), size) };
    failure.number(|| {
        inner.seek(SeekFrom::Start(*start + offset))?;
        inner.write_all(bytes)?;
        inner.seek(SeekFrom::Start(*start + *written)).map(|_| 0)
    }) as c_int
}

// A source or sink uses the pointer `stream`, or a copy of it. The stream must live as long as the
// source or sink, and only C may use it during calls.

impl<R: Read> Stream<R> {
    /// Returns a source that can be read once.
    pub fn source(stream: NonNull<Self>) -> sys::carry_capture_source {
        let user = stream.as_ptr().cast();
        sys::carry_capture_source { read: Some(read::<R>), user, ..Default::default() }
    }
}

impl<R: Read + Seek> Stream<R> {
    pub fn seekable_source(stream: NonNull<Self>) -> sys::carry_capture_source {
        sys::carry_capture_source { rewind: Some(rewind::<R>), ..Self::source(stream) }
    }
}

impl<W: Write> Stream<W> {
    /// Returns a sink whose bytes cannot be rewritten.
    pub fn sink(stream: NonNull<Self>) -> sys::carry_capture_sink {
        let user = stream.as_ptr().cast();
        sys::carry_capture_sink { write: Some(write::<W>), user, ..Default::default() }
    }
}

impl<W: Write + Seek> Stream<W> {
    pub fn seekable_sink(stream: NonNull<Self>) -> sys::carry_capture_sink {
        sys::carry_capture_sink { rewrite: Some(rewrite::<W>), ..Self::sink(stream) }
    }
}

#[cfg(test)]
mod tests {
    //! Tests that call no C, for Miri.

    use super::*;
    use std::io::Cursor;
    use std::vec::Vec;

    #[test]
    fn sources_read_and_begin_again() {
        let mut reader = Cursor::new(b"xabc");
        reader.set_position(1);
        let mut stream = Stream::from_here(reader).unwrap();
        let source = Stream::seekable_source(NonNull::from(&mut stream));
        let mut buffer = [b'-'; 4];
        for _ in 0..2 {
            // SAFETY: the stream is valid, and the buffer has this size.
            unsafe {
                assert_eq!(source.read.unwrap()(source.user, buffer.as_mut_ptr().cast(), 4), 3);
                assert_eq!(source.read.unwrap()(source.user, buffer.as_mut_ptr().cast(), 0), 0);
                assert_eq!(source.rewind.unwrap()(source.user), 0);
            }
            assert_eq!(&buffer[..3], b"abc");
        }
    }

    #[test]
    fn sinks_write_and_change_what_is_written() {
        let mut writer = Cursor::new(Vec::from(*b"x"));
        writer.set_position(1);
        let mut stream = Stream::from_here(&mut writer).unwrap();
        let sink = Stream::seekable_sink(NonNull::from(&mut stream));
        // SAFETY: the stream is valid, and the bytes have these sizes.
        unsafe {
            assert_eq!(sink.write.unwrap()(sink.user, b"abc".as_ptr().cast(), 3), 0);
            assert_eq!(sink.rewrite.unwrap()(sink.user, 1, b"B".as_ptr().cast(), 1), 0);
            assert_eq!(sink.write.unwrap()(sink.user, b"d".as_ptr().cast(), 1), 0);
        }
        assert_eq!(writer.into_inner(), b"xaBcd");
    }

    #[test]
    fn errors_are_numbers_of_the_system() {
        let mut failure = Failure::default();
        let mut number = |error: io::Error| {
            let number = failure.number::<i64>(|| Err(error));
            (number, failure.take_text())
        };
        assert_eq!(number(io::Error::from_raw_os_error(28)), (-28, None));
        assert_eq!(number(ErrorKind::Interrupted.into()).0, -4);
        assert_eq!(number(ErrorKind::WouldBlock.into()).0, -11);
        let error = io::Error::new(ErrorKind::Other, "the tape is torn");
        assert_eq!(number(error), (-5, Some("the tape is torn".into())));
    }

    /// An error that cannot be displayed.
    #[derive(Debug)]
    struct Mute;

    impl std::error::Error for Mute {}

    impl std::fmt::Display for Mute {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("no words")
        }
    }

    #[test]
    fn errors_may_panic() {
        let mut failure = Failure::default();
        let number = failure.number::<i64>(|| Err(io::Error::new(ErrorKind::Other, Mute)));
        assert_eq!(number, -125);
        let panic = catch_unwind(AssertUnwindSafe(|| failure.resume())).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"no words"));
    }

    #[test]
    fn panics_wait_until_c_returns() {
        let mut failure = Failure::default();
        failure.resume();
        assert_eq!(failure.number::<i64>(|| panic!("the first")), -125);
        assert_eq!(failure.guard(|| unreachable!()), None);
        let panic = catch_unwind(AssertUnwindSafe(|| failure.resume())).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"the first"));
        assert_eq!(failure.guard(|| 7), Some(7));
    }
}
