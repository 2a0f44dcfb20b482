// SPDX-License-Identifier: MIT
//! Repairs of captures.

use super::check::NOWHERE;
use super::{Capture, Error, Packet, Progress};
use crate::ffi::callbacks::{Callbacks, OnChange};
use crate::ffi::results;
use crate::{ErrorCode, Options, PacketSum, Protocol, Verdict};
use core::ops::{ControlFlow, Range};
use libcarry_sys as sys;
use std::boxed::Box;
use std::fmt;
use std::io::{Seek, Write};
use std::vec::Vec;

/// The options of a repair of a capture, and the closures that it calls.
///
/// ```
/// use libcarry::capture::{Capture, Fix, Packet, Writer};
/// use libcarry::LINK_IPV4;
///
/// # fn main() -> Result<(), libcarry::capture::Error> {
/// let mut writer = Writer::pcapng(Vec::new(), None)?;
/// let header = b"\x45\0\0\x14\0\0\0\0\x40\xfd\xff\xff\x0a\0\0\x05\x0a\0\0\x09"; // a wrong one
/// writer.add(Packet::new(header, LINK_IPV4))?;
/// let file = writer.finish()?;
///
/// let mut repaired = Vec::new();
/// let repairs = Fix::new().run(&mut Capture::from_bytes(&file)?, &mut repaired)?;
/// assert_eq!((repairs.total(), repairs.left_wrong()), (1, 0));
/// assert_eq!(Capture::from_bytes(&repaired)?.check()?.wrong(), 0);
/// # Ok(())
/// # }
/// ```
///
/// Every byte outside repaired checksums is copied unchanged, including damage and the bytes after
/// it. A compressed capture is written uncompressed. The capture must be new or rewound: no packet
/// may have been read before.
///
/// The thread that runs the repair calls the closures. A panic of a closure cancels the repair, and
/// continues when the repair has ended.
#[derive(Default)]
#[must_use]
pub struct Fix<'f> {
    options: sys::carry_capture_fix_options,
    callbacks: Callbacks<'f, OnChange<'f>>,
}

impl<'f> Fix<'f> {
    /// Makes a repair of all bad, partial and illegal checksums.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how packets are judged, and which verdicts are repaired: see [`Options::repair`].
    pub fn options(mut self, options: Options) -> Self {
        self.options.packet = options.to_c();
        self
    }

    /// Calls `call` for each checksum that was repaired or is left wrong;
    /// [`ControlFlow::Break`] cancels.
    pub fn on_change(mut self, call: impl FnMut(Change<'_>) -> ControlFlow<()> + 'f) -> Self {
        self.callbacks.each = Some(Box::new(call));
        self
    }

    /// Calls `call` about every 128 KiB of input, and before waiting for input;
    /// [`ControlFlow::Break`] cancels.
    pub fn on_progress(mut self, call: impl FnMut(Progress) -> ControlFlow<()> + 'f) -> Self {
        self.callbacks.progress = Some(Box::new(call));
        self
    }

    /// Repairs only the packets for which `select` is true, and copies the others.
    pub fn select(mut self, select: impl FnMut(Packet<'_>) -> bool + 'f) -> Self {
        self.callbacks.select = Some(Box::new(select));
        self
    }

    /// Writes the repaired capture to a stream. A datagram keeps its checksum if its first
    /// fragments are written before its last fragment arrives: see [`Fix::run_seekable`].
    ///
    /// # Errors
    ///
    /// If the copy is not complete. A damaged capture is not an error: all of its bytes were
    /// written, and [`Repairs::error`] returns the damage.
    ///
    /// # Panics
    ///
    /// If a closure, the capture's reader or the writer panics.
    pub fn run(mut self, capture: &mut Capture<'_>, to: impl Write) -> Result<Repairs, Error> {
        repairs(capture.0.fix(self.options, &mut self.callbacks, to))
    }

    /// Writes the repaired capture to a file, or to another writer that can seek. The copy begins
    /// at the position of `to`.
    ///
    /// # Errors
    ///
    /// The errors of [`Fix::run`], and an error if `to` does not report its position.
    ///
    /// # Panics
    ///
    /// If a closure, the capture's reader or the writer panics.
    pub fn run_seekable(
        mut self,
        capture: &mut Capture<'_>,
        to: impl Write + Seek,
    ) -> Result<Repairs, Error> {
        repairs(capture.0.fix_seekable(self.options, &mut self.callbacks, to)?)
    }

    /// Finds the checksums that a repair would change, and writes nothing.
    ///
    /// # Errors
    ///
    /// If the capture cannot be read. A damaged capture is not an error.
    ///
    /// # Panics
    ///
    /// If a closure or the capture's reader panics.
    pub fn plan(mut self, capture: &mut Capture<'_>) -> Result<Repairs, Error> {
        repairs(capture.0.fix_nowhere(self.options, &mut self.callbacks))
    }
}

fn repairs(made: (Option<results::Repairs>, Result<(), Error>)) -> Result<Repairs, Error> {
    match made {
        (Some(made), Ok(())) => Ok(Repairs { made, error: None }),
        (Some(made), Err(error)) if error.code() == ErrorCode::Damaged => {
            Ok(Repairs { made, error: Some(error) })
        }
        (_, result) => Err(result.err().unwrap_or_else(|| ErrorCode::Memory.into())),
    }
}

impl fmt::Debug for Fix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fix").field("options", &self.options).finish_non_exhaustive()
    }
}

/// A checksum field, or the part of it in one fragment, that was repaired or is left wrong.
#[derive(Clone, Copy)]
pub struct Change<'a>(&'a sys::carry_capture_change, PacketSum);

impl<'a> Change<'a> {
    pub(crate) fn new(change: &'a sys::carry_capture_change, sum: &sys::carry_packet_sum) -> Self {
        Self(change, PacketSum::from_c(*sum))
    }

    /// Returns the checksum as it was judged: before its repair or, if it is left, in the copy.
    #[must_use]
    pub fn sum(&self) -> PacketSum {
        self.1
    }

    /// Returns the number of the packet under which a check reports the checksum.
    #[must_use]
    pub fn packet(&self) -> u64 {
        self.0.number
    }

    /// Returns the number of the packet that holds the field, if that is known.
    #[must_use]
    pub fn field_packet(&self) -> Option<u64> {
        (self.0.field_number != 0).then_some(self.0.field_number)
    }

    /// Returns the offset of the field, if the capture holds it in one piece.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        (self.0.offset != NOWHERE).then_some(self.0.offset)
    }

    /// Returns which bytes of the field were changed or left: all, unless the field is divided
    /// between fragments.
    #[must_use]
    pub fn part(&self) -> Range<usize> {
        let skip = self.0.skip as usize;
        skip..skip + self.0.size as usize
    }

    /// Returns the reason why the checksum is left, or `None` if it was repaired.
    #[must_use]
    pub fn left(&self) -> Option<Left> {
        self.0.is_left.then_some(Left(self.0.left))
    }
}

impl fmt::Debug for Change<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "packet {}: {:?}, left: {:?}", self.packet(), self.sum(), self.left())
    }
}

/// The reason why a wrong checksum is left as it is. `Display` writes the reason in words.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Left(u32);

impl Left {
    /// Returns the name of the reason, such as `quoted`.
    #[must_use]
    pub fn name(self) -> &'static str {
        results::left_texts(self.0).map_or("", |(name, _)| name)
    }
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(results::left_texts(self.0).map_or("", |(_, text)| text))
    }
}

impl fmt::Debug for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The results of a repair.
#[derive(Debug)]
pub struct Repairs {
    made: results::Repairs,
    error: Option<Error>,
}

impl Repairs {
    /// Returns the damage of the capture, if any. All bytes were written nevertheless.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Returns how many packets were selected.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.made.totals().packets
    }

    /// Returns in how many packets a checksum was repaired.
    #[must_use]
    pub fn changed_packets(&self) -> u64 {
        self.made.totals().changed_packets
    }

    /// Returns how many checksums were repaired.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.made.totals().repaired
    }

    /// Returns how many checksums are bad or illegal in the copy.
    #[must_use]
    pub fn left_wrong(&self) -> u64 {
        self.made.totals().left_wrong
    }

    /// Returns how many checksums of a protocol with this verdict were repaired.
    #[must_use]
    pub fn repaired(&self, protocol: Protocol, verdict: Verdict) -> u64 {
        self.made.repaired(protocol as u32, verdict as u32)
    }

    /// Returns how many checksums of a protocol are left with this verdict.
    #[must_use]
    pub fn left(&self, protocol: Protocol, verdict: Verdict) -> u64 {
        self.made.left(protocol as u32, verdict as u32)
    }

    /// Returns the checksums that are left, by protocol, verdict and reason.
    #[must_use]
    pub fn groups(&self) -> Vec<LeftGroup> {
        let mut groups = Vec::new();
        for &protocol in Protocol::ALL {
            for &verdict in Verdict::ALL {
                groups.extend(self.groups_of(protocol, verdict));
            }
        }
        groups
    }

    fn groups_of(
        &self,
        protocol: Protocol,
        verdict: Verdict,
    ) -> impl Iterator<Item = LeftGroup> + '_ {
        let lefts =
            if self.left(protocol, verdict) == 0 { 0 } else { sys::CARRY_CAPTURE_LEFT_COUNT };
        let group = move |left| (left, self.made.group(protocol as u32, verdict as u32, left));
        (0..lefts).map(group).filter(|(_, group)| group.count != 0).map(move |(left, group)| {
            let packets = group.frames.iter().take(group.count.try_into().unwrap_or(usize::MAX));
            let packets = packets.copied().collect();
            LeftGroup { protocol, verdict, left: Left(left), count: group.count, packets }
        })
    }
}

/// The checksums of a protocol and verdict that are left for one reason.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LeftGroup {
    /// The protocol.
    pub protocol: Protocol,
    /// The verdict in the copy.
    pub verdict: Verdict,
    /// The reason.
    pub left: Left,
    /// The number of these checksums.
    pub count: u64,
    /// The numbers of the first packets that hold such a checksum.
    pub packets: Vec<u64>,
}
