// SPDX-License-Identifier: MIT
//! Writes captures.

use super::{Error, Packet};
use crate::ffi::writer as ffi;
use crate::ErrorCode;
use libcarry_sys as sys;
use std::ffi::CString;
use std::io::Write;
use std::time::{Duration, SystemTime};

/// Writes a pcap or pcapng file, in this machine's byte order, with times in nanoseconds.
///
/// ```
/// use libcarry::capture::{Capture, Packet, Writer};
/// use libcarry::LINK_ETHERNET;
/// use std::time::SystemTime;
///
/// # fn main() -> Result<(), libcarry::capture::Error> {
/// let mut writer = Writer::pcapng(Vec::new(), Some("example 1.0"))?;
/// let packet = Packet::new(&[0; 60], LINK_ETHERNET).at(SystemTime::now());
/// writer.add_with_comment(packet, "the first")?;
/// let file = writer.finish()?;
/// assert_eq!(Capture::from_bytes(&file)?.frames().count(), 1);
/// # Ok(())
/// # }
/// ```
///
/// Each packet is written at once, in a few pieces: put a [`BufWriter`](std::io::BufWriter) around
/// files. An error of the writer, or of memory, is final.
#[derive(Debug)]
pub struct Writer<W: Write>(ffi::Writer<W>);

impl<W: Write> Writer<W> {
    /// Begins a pcap file, which has the link type of its first packet.
    ///
    /// # Errors
    ///
    /// If there is no memory.
    pub fn pcap(to: W) -> Result<Self, Error> {
        Ok(Self(ffi::Writer::create(to, sys::CARRY_CAPTURE_FORMAT_PCAP, None)?))
    }

    /// Begins a pcapng file, which may say what program writes it.
    ///
    /// # Errors
    ///
    /// If the program's name is longer than 65,535 bytes or holds a 0, or there is no memory.
    pub fn pcapng(to: W, application: Option<&str>) -> Result<Self, Error> {
        let application = application.map(text).transpose()?;
        let format = sys::CARRY_CAPTURE_FORMAT_PCAPNG;
        Ok(Self(ffi::Writer::create(to, format, application.as_deref())?))
    }

    /// Writes a packet.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::Invalid`] if the format cannot hold it, such as 16 MiB, or in pcap another link
    /// type than the first packet's: nothing was written then. [`ErrorCode::Write`] if writing
    /// fails.
    ///
    /// # Panics
    ///
    /// If what it writes to panics.
    pub fn add(&mut self, packet: Packet<'_>) -> Result<(), Error> {
        self.0.add(packet.0, None)
    }

    /// The same with a comment, which pcap has no place for.
    ///
    /// # Errors
    ///
    /// As of [`Writer::add`], or if the comment is longer than 65,535 bytes or holds a 0.
    ///
    /// # Panics
    ///
    /// As [`Writer::add`].
    pub fn add_with_comment(&mut self, packet: Packet<'_>, comment: &str) -> Result<(), Error> {
        self.0.add(packet.0, Some(&text(comment)?))
    }

    /// Names the interface of the packets that have this number as theirs, in pcapng.
    ///
    /// # Errors
    ///
    /// If the number is 65,536 or more, or has a name; if the name is longer than 65,535 bytes or
    /// holds a 0.
    pub fn name(&mut self, interface: u32, name: &str) -> Result<(), Error> {
        self.0.name(interface, &text(name)?)
    }

    /// Writes what was counted of a named interface, in pcapng.
    ///
    /// # Errors
    ///
    /// If the interface has no name, or no packet of it was added; in pcap, always.
    ///
    /// # Panics
    ///
    /// As [`Writer::add`].
    pub fn statistics(&mut self, interface: u32, counted: &Statistics) -> Result<(), Error> {
        self.0.statistics(interface, &counted.to_c())
    }

    /// Ends the file, and gives back what was written to. A file without packets gets its head now.
    ///
    /// # Errors
    ///
    /// If writing failed.
    ///
    /// # Panics
    ///
    /// As [`Writer::add`].
    pub fn finish(self) -> Result<W, Error> {
        self.0.finish()
    }
}

/// What was counted of an interface while it was captured from.
#[derive(Clone, Copy, Debug)]
pub struct Statistics {
    /// When.
    pub time: SystemTime,
    /// Packets, with those that were dropped.
    pub received: Option<u64>,
    /// Packets for which there was no room.
    pub dropped: Option<u64>,
}

impl Statistics {
    fn to_c(self) -> sys::carry_capture_statistics {
        let not_counted = u64::MAX;
        sys::carry_capture_statistics {
            time_ns: nanoseconds(self.time),
            received: self.received.unwrap_or(not_counted),
            dropped: self.dropped.unwrap_or(not_counted),
            ..Default::default()
        }
    }
}

/// Since 1970; 0 before it.
pub(super) fn nanoseconds(time: SystemTime) -> u64 {
    let since: Duration = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// A string of C.
fn text(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| ErrorCode::Invalid.into())
}
