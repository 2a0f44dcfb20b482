// SPDX-License-Identifier: MIT
//! Reads captures (pcap, pcapng, snoop, ERF and Network Monitor) packet by packet, checks and
//! repairs them as a whole, and writes pcap and pcapng.
//!
//! ```no_run
//! use libcarry::capture::Capture;
//!
//! # fn main() -> Result<(), libcarry::capture::Error> {
//! let report = Capture::open("trace.pcapng")?.check()?;
//! println!("{} packets, {} wrong checksums", report.packets(), report.wrong());
//! for finding in report.findings() {
//!     println!("packet {}: {}", finding.packet(), finding.sum());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Input is never trusted: memory, and the time for each packet, have bounds that do not depend on
//! the size of the input.

mod check;
mod fix;
mod write;

pub use check::{Check, Finding, Progress, Report};
pub use fix::{Change, Fix, Left, LeftGroup, Repairs};
pub use write::{Statistics, Writer};

use crate::ffi::capture as ffi;
use crate::{ErrorCode, Frame};
use std::ffi::CString;
use std::fmt;
use std::io::{Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::string::{String, ToString};
use std::time::{Duration, SystemTime};
use std::vec::Vec;

/// The reason why a capture cannot be read, or cannot be read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: ErrorCode,
    system: i32,
    offset: u64,
    text: String,
}

impl Error {
    pub(crate) fn of_io(code: ErrorCode, error: &std::io::Error) -> Self {
        let system = error.raw_os_error().unwrap_or(0);
        Self { code, system, offset: 0, text: error.to_string() }
    }

    /// Replaces the text by `text`, the text of a reader or writer, if there is one.
    pub(crate) fn or_text(self, text: Option<String>) -> Self {
        Self { text: text.unwrap_or(self.text), ..self }
    }

    pub(crate) fn new(code: i32, system: i32, offset: u64, text: String) -> Self {
        let code = ErrorCode::from_number(code).unwrap_or(ErrorCode::Invalid);
        Self { code, system, offset, text }
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// Returns the error of the system, if it is the reason.
    #[must_use]
    pub fn io_error(&self) -> Option<std::io::Error> {
        (self.system != 0).then(|| std::io::Error::from_raw_os_error(self.system))
    }

    /// Returns the offset of the record, block or header that cannot be read; 0 for other errors.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text.as_str() {
            "" => self.code.fmt(f),
            text => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

impl From<ErrorCode> for Error {
    fn from(code: ErrorCode) -> Self {
        Self { code, system: 0, offset: 0, text: String::new() }
    }
}

/// A capture that is being read.
///
/// One thread at a time may use it.
#[derive(Debug)]
pub struct Capture<'a>(ffi::Capture<'a>);

impl Capture<'static> {
    /// Opens a file, without reading any of it.
    ///
    /// # Errors
    ///
    /// If the path holds a 0, the system does not open the file, or there is no memory.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref().as_os_str().as_bytes();
        let path = CString::new(path).map_err(|_| ErrorCode::Invalid)?;
        Ok(Self(ffi::Capture::open_path(&path)?))
    }
}

impl<'a> Capture<'a> {
    /// Opens a capture from a reader. The capture can be read only once.
    ///
    /// If the reader fails with [`WouldBlock`], it is called again at once, and should then wait. A
    /// panic of the reader continues in the function that called it.
    ///
    /// # Errors
    ///
    /// If there is no memory.
    ///
    /// [`WouldBlock`]: std::io::ErrorKind::WouldBlock
    pub fn from_reader(reader: impl Read + Send + 'a) -> Result<Self, Error> {
        Ok(Self(ffi::Capture::open_reader(reader)?))
    }

    /// Opens a capture from a reader that can seek. The capture begins at the reader's position.
    ///
    /// # Errors
    ///
    /// If the reader does not report its position, or there is no memory.
    pub fn from_seekable(reader: impl Read + Seek + Send + 'a) -> Result<Self, Error> {
        Ok(Self(ffi::Capture::open_seekable(reader)?))
    }

    /// Opens a capture in memory.
    ///
    /// # Errors
    ///
    /// If there is no memory.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, Error> {
        Ok(Self(ffi::Capture::open_memory(bytes)?))
    }

    /// Returns the next packet, which is valid until the next call; `None` at the end.
    ///
    /// # Errors
    ///
    /// If the file is not a capture, is damaged, or cannot be read.
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, Error> {
        Ok(self.0.next()?.map(Packet))
    }

    /// Iterates over the packets not yet read, with a copy of the bytes of each. The iterator ends
    /// after an error.
    pub fn frames<'c>(&'c mut self) -> Frames<'c, 'a> {
        Frames { capture: self, is_at_end: false }
    }

    /// Goes back to the first byte.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::Unsupported`] if the input can be read only once, such as a pipe.
    pub fn rewind(&mut self) -> Result<(), Error> {
        Ok(self.0.rewind()?)
    }

    /// Checks every checksum from the next packet to the end, with a thread for each core.
    ///
    /// # Errors
    ///
    /// If nothing could be read, or there is no memory. The report of a damaged capture holds the
    /// findings before the damage, and [`Report::error`] returns the damage.
    pub fn check(&mut self) -> Result<Report, Error> {
        Check::new().run(self)
    }

    /// Returns the name of the format, such as `pcapng`, according to the first bytes; `None` if
    /// the format is unknown.
    pub fn format(&mut self) -> Option<&'static str> {
        self.0.format().0
    }

    /// Returns whether the capture is compressed.
    pub fn is_compressed(&mut self) -> bool {
        self.0.format().1
    }
}

/// Flags of a packet, from the machine that captured it: see [`Packet::flags`].
pub mod flags {
    use libcarry_sys as sys;

    /// The interface received the packet.
    pub const RECEIVED: u32 = sys::CARRY_CAPTURE_PACKET_RECEIVED;
    /// The interface sent the packet.
    pub const SENT: u32 = sys::CARRY_CAPTURE_PACKET_SENT;
    /// A checksum was left to the network card.
    pub const SUM_LEFT: u32 = sys::CARRY_CAPTURE_PACKET_SUM_LEFT;
    /// The card or the system had verified a checksum.
    pub const SUM_VALID: u32 = sys::CARRY_CAPTURE_PACKET_SUM_VALID;
    /// The packet was, or will be, several TCP segments.
    pub const SEGMENTED: u32 = sys::CARRY_CAPTURE_PACKET_SEGMENTED;
}

/// A packet of a capture, valid until the next packet is read; or a packet to write.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Packet<'a>(pub(crate) ffi::Packet<'a>);

impl<'a> Packet<'a> {
    /// Makes a packet to write, with all of its bytes. `linktype` is the link type of its frame: a
    /// `LINKTYPE_` value of captures.
    pub fn new(bytes: &'a [u8], linktype: u32) -> Self {
        Self(ffi::Packet::new(bytes, linktype))
    }

    /// Sets how many bytes were on the wire.
    pub fn on_wire(mut self, size: u32) -> Self {
        self.0 .0.wire = size;
        self
    }

    /// Sets the time at which the packet was captured. A time before 1970 counts as unknown.
    pub fn at(mut self, time: SystemTime) -> Self {
        self.0 .0.time_ns = write::nanoseconds(time);
        self
    }

    /// Sets how many bytes at the end of the packet form its frame check sequence.
    pub fn with_check_sequence(mut self, size: u32) -> Self {
        self.0 .0.fcs = size;
        self
    }

    /// Sets the number of the packet's interface: see [`Writer::name`].
    pub fn of_interface(mut self, number: u32) -> Self {
        self.0 .0.interface = number;
        self
    }

    /// Sets the flags that the capturing machine recorded: some of [`flags`], or-ed.
    pub fn with_flags(mut self, flags: u32) -> Self {
        self.0 .0.flags = flags;
        self
    }

    /// Returns the captured bytes, with the frame check sequence.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.0.bytes()
    }

    /// Returns the packet's number, from 1; 0 if the packet is not from a capture.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.0 .0.number
    }

    /// Returns the time at which the packet was captured, if it is known.
    #[must_use]
    pub fn time(&self) -> Option<SystemTime> {
        let time = Duration::from_nanos(self.0 .0.time_ns);
        (!time.is_zero()).then(|| SystemTime::UNIX_EPOCH + time)
    }

    /// Returns the offset of the packet's first byte in the capture.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.0 .0.offset
    }

    /// Returns the number of the packet's interface, within its section of a pcapng file.
    #[must_use]
    pub fn interface(&self) -> u32 {
        self.0 .0.interface
    }

    /// Returns the flags that the capturing machine recorded: some of [`flags`], or-ed; 0 if none.
    #[must_use]
    pub fn flags(&self) -> u32 {
        self.0 .0.flags
    }

    /// Returns the packet's frame, without the frame check sequence.
    pub fn frame(&self) -> Frame<&'a [u8]> {
        let frame = self.0.frame();
        let bytes = &self.bytes()[..frame.captured as usize];
        Frame::new(bytes, frame.linktype).on_wire(frame.wire)
    }
}

/// Iterates over packets: see [`Capture::frames`].
#[derive(Debug)]
pub struct Frames<'c, 'a> {
    capture: &'c mut Capture<'a>,
    is_at_end: bool,
}

impl Iterator for Frames<'_, '_> {
    type Item = Result<Frame<Vec<u8>>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_at_end {
            return None;
        }
        let next = self.capture.next_packet().transpose();
        self.is_at_end = !matches!(next, Some(Ok(_)));
        next.map(|packet| packet.map(|packet| packet.frame().into_owned()))
    }
}
