// SPDX-License-Identifier: MIT
//! Captures: pcap, pcapng, snoop and ERF, read packet by packet or checked as a whole.
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

use crate::ffi::capture as ffi;
use crate::{ErrorCode, Frame, PacketSum, Protocol, Verdict};
use libcarry_sys as sys;
use std::ffi::CString;
use std::fmt;
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::string::String;
use std::time::{Duration, SystemTime};
use std::vec::Vec;

/// How many findings a report keeps.
const KEPT: u32 = 1000;

/// Why a capture cannot be read, or not to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: ErrorCode,
    system: i32,
    offset: u64,
    text: String,
}

impl Error {
    pub(crate) fn new(code: i32, system: i32, offset: u64, text: String) -> Self {
        let code = ErrorCode::from_number(code).unwrap_or(ErrorCode::Invalid);
        Self { code, system, offset, text }
    }

    /// What went wrong.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The system's error, where reading failed.
    #[must_use]
    pub fn io_error(&self) -> Option<std::io::Error> {
        (self.system != 0).then(|| std::io::Error::from_raw_os_error(self.system))
    }

    /// The offset in the capture of what cannot be read; else 0.
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
    /// If the system does not open it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref().as_os_str().as_bytes();
        let path = CString::new(path).map_err(|_| ErrorCode::Invalid)?;
        Ok(Self(ffi::Capture::open_path(&path)?))
    }
}

impl<'a> Capture<'a> {
    /// Opens a capture in memory.
    ///
    /// # Errors
    ///
    /// If there is no memory.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, Error> {
        Ok(Self(ffi::Capture::open_memory(bytes)?))
    }

    /// The next packet, which stays until the next call; `None` at the end.
    ///
    /// # Errors
    ///
    /// If the file is no capture, is damaged, or cannot be read.
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, Error> {
        Ok(self.0.next()?.map(Packet))
    }

    /// Iterates over the packets that were not read yet, with a copy of the bytes of each. It ends
    /// after an error.
    pub fn frames<'c>(&'c mut self) -> Frames<'c, 'a> {
        Frames { capture: self, is_at_end: false }
    }

    /// Begins again at the first byte.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::Unsupported`] for what can be read once only, such as pipes.
    pub fn rewind(&mut self) -> Result<(), Error> {
        Ok(self.0.rewind()?)
    }

    /// Checks every checksum from the next packet to the end, with a thread for each core.
    ///
    /// # Errors
    ///
    /// If nothing could be read, or memory lacks. A report of a damaged capture holds what was
    /// found before the damage, and [`Report::error`] says so.
    pub fn check(&mut self) -> Result<Report, Error> {
        let options = sys::carry_capture_check_options { kept: KEPT, ..Default::default() };
        match self.0.check(&options) {
            (None, result) => Err(result.err().unwrap_or_else(|| ErrorCode::Memory.into())),
            (Some(_), Err(error)) if error.code == ErrorCode::Unrecognised => Err(error),
            (Some(summary), result) => Ok(Report { summary, error: result.err() }),
        }
    }
}

/// A packet of a capture, as long as no other is read.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a>(ffi::Packet<'a>);

impl<'a> Packet<'a> {
    /// The captured bytes, with the frame check sequence.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.0.bytes()
    }

    /// Its number, from 1.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.0 .0.number
    }

    /// When it was captured, where that is known.
    #[must_use]
    pub fn time(&self) -> Option<SystemTime> {
        let time = Duration::from_nanos(self.0 .0.time_ns);
        (!time.is_zero()).then(|| SystemTime::UNIX_EPOCH + time)
    }

    /// The offset of its first byte in the capture.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.0 .0.offset
    }

    /// Its frame, without its frame check sequence.
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

/// What a check found.
#[derive(Debug)]
pub struct Report {
    summary: ffi::Summary,
    error: Option<Error>,
}

impl Report {
    /// Why the capture was not read to its end.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// How many packets were checked.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.summary.totals().packets
    }

    /// How many bytes of packets the capture holds.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.summary.totals().bytes
    }

    /// How many checksums of a protocol have a verdict.
    #[must_use]
    pub fn count(&self, protocol: Protocol, verdict: Verdict) -> u64 {
        self.summary.count(protocol as u32, verdict as u32)
    }

    /// How many checksums of all protocols have one of these verdicts.
    #[must_use]
    pub fn total(&self, verdicts: &[Verdict]) -> u64 {
        self.summary.total(verdicts.iter().fold(0, |set, &verdict| set | 1 << verdict as u32))
    }

    /// How many checksums are bad or illegal.
    #[must_use]
    pub fn wrong(&self) -> u64 {
        self.total(&[Verdict::Bad, Verdict::Illegal])
    }

    /// The bad and illegal checksums in the order of the packets: the first 1,000.
    pub fn findings(&self) -> impl Iterator<Item = Finding<'_>> + '_ {
        (0..).map_while(move |index| self.summary.finding(index).map(Finding))
    }
}

/// A checksum that is bad or illegal.
#[derive(Clone, Copy)]
pub struct Finding<'a>(&'a sys::carry_capture_finding);

impl Finding<'_> {
    /// The checksum; its offsets count from the frame, or from the reassembled datagram.
    #[must_use]
    pub fn sum(&self) -> PacketSum {
        PacketSum::from_c(self.0.sum)
    }

    /// The number of the packet, from 1.
    #[must_use]
    pub fn packet(&self) -> u64 {
        self.0.number
    }

    /// The sender's address, where there is one.
    #[must_use]
    pub fn from(&self) -> Option<IpAddr> {
        address(&self.0.from)
    }

    /// The receiver's address, where there is one.
    #[must_use]
    pub fn to(&self) -> Option<IpAddr> {
        address(&self.0.to)
    }

    /// The ports of sender and receiver, where there are any.
    #[must_use]
    pub fn ports(&self) -> Option<(u16, u16)> {
        let port = |number: i32| u16::try_from(number).ok();
        port(self.0.from_port).zip(port(self.0.to_port))
    }

    /// The name of the cause, as far as other packets and the values show one.
    #[must_use]
    pub fn cause(&self) -> Option<&'static str> {
        (self.0.cause != sys::CARRY_CAPTURE_CAUSE_NONE).then(|| ffi::cause_name(self.0.cause))?
    }
}

impl fmt::Debug for Finding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "packet {}: {:?}", self.packet(), self.sum())
    }
}

fn address(address: &sys::carry_capture_address) -> Option<IpAddr> {
    let [a, b, c, d, ..] = address.bytes;
    match address.version {
        4 => Some([a, b, c, d].into()),
        6 => Some(address.bytes.into()),
        _ => None,
    }
}
