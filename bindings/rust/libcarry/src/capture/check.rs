// SPDX-License-Identifier: MIT
//! Checks of captures, and their results.

use super::{Capture, Error, Packet};
use crate::ffi::callbacks::{Callbacks, OnFinding};
use crate::ffi::{capture as ffi, results};
use crate::packet::set_of;
use crate::{ErrorCode, Options, PacketSum, Protocol, Verdict};
use core::ops::ControlFlow;
use libcarry_sys as sys;
use std::boxed::Box;
use std::fmt;
use std::net::IpAddr;
use std::vec::Vec;

/// How many findings a report keeps by default.
const KEPT: u32 = 1000;

/// The offset of a field that is not in the capture, or not in one piece.
pub(super) const NOWHERE: u64 = u64::MAX;

/// The options of a check of a capture, and the closures that it calls.
///
/// ```
/// use libcarry::capture::{Capture, Check, Packet, Writer};
/// use libcarry::{Verdict, LINK_IPV4};
/// use std::ops::ControlFlow;
///
/// # fn main() -> Result<(), libcarry::capture::Error> {
/// let mut writer = Writer::pcapng(Vec::new(), None)?;
/// let header = b"\x45\0\0\x14\0\0\0\0\x40\xfd\xff\xff\x0a\0\0\x05\x0a\0\0\x09"; // a wrong one
/// writer.add(Packet::new(header, LINK_IPV4))?;
/// let file = writer.finish()?;
///
/// let mut bad = Vec::new();
/// let report = Check::new()
///     .threads(1)
///     .on_finding(|finding| {
///         bad.push((finding.packet(), finding.sum().verdict()));
///         ControlFlow::Continue(())
///     })
///     .run(&mut Capture::from_bytes(&file)?)?;
/// assert_eq!(report.wrong(), 1);
/// assert_eq!(bad, [(1, Verdict::Bad)]);
/// # Ok(())
/// # }
/// ```
///
/// The thread that runs the check calls the closures, in the order of the packets. A panic of a
/// closure cancels the check, and continues when the check has ended.
#[derive(Default)]
#[must_use]
pub struct Check<'f> {
    options: sys::carry_capture_check_options,
    protocols: Vec<u32>,
    callbacks: Callbacks<'f, OnFinding<'f>>,
}

impl<'f> Check<'f> {
    /// Makes a check of every checksum, with a thread for each core, that keeps 1,000 findings.
    pub fn new() -> Self {
        Self::default().keep(KEPT)
    }

    /// Sets how packets are judged.
    pub fn options(mut self, options: Options) -> Self {
        self.options.packet = options.to_c();
        self
    }

    /// Sets how many threads judge, including the calling one: at most 256.
    pub fn threads(mut self, count: u32) -> Self {
        self.options.threads = count;
        self
    }

    /// Makes the report keep the first `count` findings.
    pub fn keep(mut self, count: u32) -> Self {
        self.options.kept = count;
        self
    }

    /// Sets which verdicts are findings: some of bad, partial and illegal.
    pub fn list(mut self, verdicts: &[Verdict]) -> Self {
        self.options.listed = set_of(verdicts);
        self
    }

    /// Counts checksums of these protocols only.
    pub fn protocols(mut self, protocols: &[Protocol]) -> Self {
        self.protocols = protocols.iter().map(|&protocol| protocol as u32).collect();
        self
    }

    /// Ends the check after `count` packets.
    pub fn packets(mut self, count: u64) -> Self {
        self.options.packets = count;
        self
    }

    /// Judges fragments, and does not reassemble their datagrams.
    pub fn no_reassembly(mut self) -> Self {
        self.options.no_reassembly = true;
        self
    }

    /// Calls `call` for each finding; [`ControlFlow::Break`] cancels.
    pub fn on_finding(mut self, call: impl FnMut(Finding<'_>) -> ControlFlow<()> + 'f) -> Self {
        self.callbacks.each = Some(Box::new(call));
        self
    }

    /// Calls `call` about every 128 KiB of input, before waiting for input, and at the end;
    /// [`ControlFlow::Break`] cancels.
    pub fn on_progress(mut self, call: impl FnMut(Progress) -> ControlFlow<()> + 'f) -> Self {
        self.callbacks.progress = Some(Box::new(call));
        self
    }

    /// Checks only the packets for which `select` is true.
    pub fn select(mut self, select: impl FnMut(Packet<'_>) -> bool + 'f) -> Self {
        self.callbacks.select = Some(Box::new(select));
        self
    }

    /// Checks from the next packet to the end.
    ///
    /// # Errors
    ///
    /// If nothing could be read, there is no memory, or an option is out of range. If the capture
    /// is damaged, or a closure cancels ([`ErrorCode::Cancelled`]), the report holds the findings
    /// up to there, and [`Report::error`] returns the error. The capture must then be rewound.
    ///
    /// # Panics
    ///
    /// If a closure, or the capture's reader, panics.
    pub fn run(mut self, capture: &mut Capture<'_>) -> Result<Report, Error> {
        match capture.0.check(self.options, &self.protocols, &mut self.callbacks) {
            (None, result) => Err(result.err().unwrap_or_else(|| ErrorCode::Memory.into())),
            (Some(_), Err(error)) if is_about_nothing(error.code()) => Err(error),
            (Some(summary), result) => Ok(Report { summary, error: result.err() }),
        }
    }
}

/// Checks whether an error means that nothing was read.
fn is_about_nothing(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::Unrecognised | ErrorCode::Invalid)
}

impl fmt::Debug for Check<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").field("options", &self.options).finish_non_exhaustive()
    }
}

/// The progress of a check or repair of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Progress(pub(crate) sys::carry_capture_progress);

impl Progress {
    /// Returns how many bytes of the file were read.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.0.position
    }

    /// Returns how many packets were read.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.0.packets
    }

    /// Returns how many checksums are bad or illegal so far; always 0 in a repair, which does not
    /// count them.
    #[must_use]
    pub fn wrong(&self) -> u64 {
        self.0.wrong
    }
}

/// The results of a check.
#[derive(Debug)]
pub struct Report {
    summary: results::Summary,
    error: Option<Error>,
}

impl Report {
    /// Returns the reason why the capture was not read to its end.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Returns how many packets were checked.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.summary.totals().packets
    }

    /// Returns how many captured bytes the checked packets have.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.summary.totals().bytes
    }

    /// Returns how many checksums of a protocol have a verdict.
    #[must_use]
    pub fn count(&self, protocol: Protocol, verdict: Verdict) -> u64 {
        self.summary.count(protocol as u32, verdict as u32)
    }

    /// Returns how many checksums of all protocols have one of these verdicts.
    #[must_use]
    pub fn total(&self, verdicts: &[Verdict]) -> u64 {
        self.summary.total(set_of(verdicts))
    }

    /// Returns how many checksums are bad or illegal.
    #[must_use]
    pub fn wrong(&self) -> u64 {
        self.total(&[Verdict::Bad, Verdict::Illegal])
    }

    /// Iterates over the findings that the check kept, in the order of the packets.
    pub fn findings(&self) -> impl Iterator<Item = Finding<'_>> + '_ {
        (0..).map_while(move |index| self.summary.finding(index).map(Finding))
    }
}

/// A checksum with a verdict that the check lists: bad or illegal by default.
#[derive(Clone, Copy)]
pub struct Finding<'a>(pub(crate) &'a sys::carry_capture_finding);

impl Finding<'_> {
    /// Returns the checksum. Its offsets count from the start of the frame, or of the reassembled
    /// datagram.
    #[must_use]
    pub fn sum(&self) -> PacketSum {
        PacketSum::from_c(self.0.sum)
    }

    /// Returns the number of the packet, from 1.
    #[must_use]
    pub fn packet(&self) -> u64 {
        self.0.number
    }

    /// Returns the packet; `None` outside the closures of a check.
    pub fn captured(&self) -> Option<Packet<'_>> {
        ffi::finding_packet(self.0).map(Packet)
    }

    /// Returns the offset of the checksum's field, if the capture holds it in one piece.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        (self.0.offset != NOWHERE).then_some(self.0.offset)
    }

    /// Returns the sender's address, if there is one.
    #[must_use]
    pub fn from(&self) -> Option<IpAddr> {
        address(&self.0.from)
    }

    /// Returns the receiver's address, if there is one.
    #[must_use]
    pub fn to(&self) -> Option<IpAddr> {
        address(&self.0.to)
    }

    /// Returns the ports of sender and receiver, if there are any.
    #[must_use]
    pub fn ports(&self) -> Option<(u16, u16)> {
        let port = |number: i32| u16::try_from(number).ok();
        port(self.0.from_port).zip(port(self.0.to_port))
    }

    /// Returns the name of the cause, if the packet or other packets show one.
    #[must_use]
    pub fn cause(&self) -> Option<&'static str> {
        (self.0.cause != sys::CARRY_CAPTURE_CAUSE_NONE)
            .then(|| results::cause_name(self.0.cause))?
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
