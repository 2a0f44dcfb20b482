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
/// Each packet is written at once, by a few calls: put a [`BufWriter`](std::io::BufWriter) around
/// files. An error of the writer, or of memory, is final.
#[derive(Debug)]
pub struct Writer<W: Write>(ffi::Writer<W>);

impl<W: Write> Writer<W> {
    /// Begins a pcap file. Its first packet determines the link type.
    ///
    /// # Errors
    ///
    /// If there is no memory.
    pub fn pcap(to: W) -> Result<Self, Error> {
        Ok(Self(ffi::Writer::create(to, sys::CARRY_CAPTURE_FORMAT_PCAP, None)?))
    }

    /// Begins a pcapng file. `application` names the program that writes it, if given.
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
    /// [`ErrorCode::Invalid`] if the format cannot hold the packet, such as a packet of more than
    /// 16 MiB, or in pcap a packet whose link type differs from the first packet's: then nothing
    /// was written. [`ErrorCode::Write`] if writing fails.
    ///
    /// # Panics
    ///
    /// If the underlying writer panics.
    pub fn add(&mut self, packet: Packet<'_>) -> Result<(), Error> {
        self.0.add(packet.0, None)
    }

    /// Writes a packet with a comment. The pcap format has no place for comments.
    ///
    /// # Errors
    ///
    /// The errors of [`Writer::add`], and an error if the comment is longer than 65,535 bytes or
    /// holds a 0.
    ///
    /// # Panics
    ///
    /// If the underlying writer panics.
    pub fn add_with_comment(&mut self, packet: Packet<'_>, comment: &str) -> Result<(), Error> {
        self.0.add(packet.0, Some(&text(comment)?))
    }

    /// Names the interface with the number `interface`, in pcapng.
    ///
    /// # Errors
    ///
    /// If the number is 65,536 or more, if the interface has a name, or if the name is longer than
    /// 65,535 bytes or holds a 0.
    pub fn name(&mut self, interface: u32, name: &str) -> Result<(), Error> {
        self.0.name(interface, &text(name)?)
    }

    /// Writes the statistics of a named interface, in pcapng.
    ///
    /// # Errors
    ///
    /// If the interface has no name, or no packet of it was added; in pcap, always.
    ///
    /// # Panics
    ///
    /// If the underlying writer panics.
    pub fn statistics(&mut self, interface: u32, counted: &Statistics) -> Result<(), Error> {
        self.0.statistics(interface, &counted.to_c())
    }

    /// Ends the file, and returns the underlying writer. A file without packets gets its header
    /// now.
    ///
    /// # Errors
    ///
    /// If writing failed.
    ///
    /// # Panics
    ///
    /// If the underlying writer panics.
    pub fn finish(self) -> Result<W, Error> {
        self.0.finish()
    }
}

/// Statistics of an interface during a capture.
#[derive(Clone, Copy, Debug)]
pub struct Statistics {
    /// The time at which the packets were counted.
    pub time: SystemTime,
    /// The number of packets, including dropped ones.
    pub received: Option<u64>,
    /// The number of packets for which there was no room.
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

/// Returns the nanoseconds since 1970, or 0 for earlier times.
pub(super) fn nanoseconds(time: SystemTime) -> u64 {
    let since: Duration = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Converts a text to a C string.
fn text(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| ErrorCode::Invalid.into())
}
