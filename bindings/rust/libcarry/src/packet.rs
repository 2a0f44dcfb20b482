// SPDX-License-Identifier: MIT
//! Finds, judges, repairs and fills in every checksum of a frame.

use crate::{ffi, Cause, List, Protocol, Reason, Sum, Verdict};
use core::fmt;
use core::ops::Range;
use libcarry_sys as sys;

/// The link type of frames that begin with an Ethernet header.
pub const LINK_ETHERNET: u32 = 1;
/// The link type of frames that begin with an IP header of either version.
pub const LINK_RAW: u32 = 101;
/// The link type of frames that begin with an IPv4 header.
pub const LINK_IPV4: u32 = 228;
/// The link type of frames that begin with an IPv6 header.
pub const LINK_IPV6: u32 = 229;

/// Options that determine how frames are judged and repaired.
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct Options(sys::carry_packet_options);

impl Options {
    /// Returns the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Examines no IP header inside another.
    pub fn no_tunnels(self) -> Self {
        self.with(sys::CARRY_PACKET_NO_TUNNELS)
    }

    /// Treats a UDP checksum of 0 over IPv6 as the sender's choice everywhere, not only in tunnels.
    pub fn udp6_zero_absent(self) -> Self {
        self.with(sys::CARRY_PACKET_UDP6_ZERO_ABSENT)
    }

    /// Treats a checksum of 0 in an IPv4 header as left to a network card.
    pub fn ip_zero_partial(self) -> Self {
        self.with(sys::CARRY_PACKET_IP_ZERO_PARTIAL)
    }

    /// Repairs checksums of these verdicts, instead of a function's default.
    pub fn repair(mut self, verdicts: &[Verdict]) -> Self {
        self.0.fix = set_of(verdicts);
        self
    }

    #[cfg(feature = "std")]
    pub(crate) fn to_c(self) -> sys::carry_packet_options {
        self.0
    }

    fn with(mut self, flag: sys::carry_packet_flag) -> Self {
        self.0.flags |= flag;
        self
    }
}

/// Converts verdicts to a bit set for C.
pub(crate) fn set_of(verdicts: &[Verdict]) -> u32 {
    verdicts.iter().fold(0, |set, &verdict| set | 1 << verdict as u32)
}

/// The bytes of a frame, its link type and its size on the wire.
///
/// ```
/// use libcarry::{Frame, Verdict};
///
/// let mut bytes = *b"\x45\0\0\x20\0\0\0\0\x40\x11\0\0\x0a\0\0\x05\x0a\0\0\x09\
///                    \x9c\x40\0\x35\0\x0c\0\0abcd";
/// let mut frame = Frame::new(&mut bytes, libcarry::LINK_IPV4);
/// let filled = frame.fill(); // as a network card does
/// assert_eq!(filled.len(), 2);
/// assert!(frame.check().iter().all(|sum| sum.verdict() == Verdict::Good));
/// ```
///
/// No function touches a byte outside the frame, whatever a header says. Headers that nest too
/// deeply are not examined: see [`Frame::is_deeper`].
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Frame<B> {
    bytes: B,
    about: ffi::About,
    options: Options,
}

impl<B: AsRef<[u8]>> Frame<B> {
    /// Makes a frame that begins with the header of `linktype`: a `LINKTYPE_` value of captures.
    pub fn new(bytes: B, linktype: u32) -> Self {
        let about = ffi::About { wire: 0, linktype };
        Self { bytes, about, options: Options::new() }
    }

    /// Makes a frame that begins with an Ethernet header, without its frame check sequence.
    pub fn ethernet(bytes: B) -> Self {
        Self::new(bytes, LINK_ETHERNET)
    }

    /// Sets how many bytes were on the wire, if a capture holds fewer.
    pub fn on_wire(mut self, size: u32) -> Self {
        self.about.wire = size;
        self
    }

    /// Sets how to judge and repair the frame.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Returns the bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Judges each checksum, from the outermost header inwards.
    pub fn check(&self) -> List<PacketSum> {
        List { items: ffi::check(self.bytes(), self.about, &self.options.0) }
    }

    /// Finds each checksum without summing any byte: verdicts that depend on a sum are
    /// [`Verdict::Unverifiable`], without a reason.
    pub fn walk(&self) -> List<PacketSum> {
        List { items: ffi::walk(self.bytes(), self.about, &self.options.0) }
    }

    /// Lists the headers, with or without a checksum.
    pub fn layers(&self) -> List<Layer> {
        List { items: ffi::layers(self.bytes(), self.about, &self.options.0) }
    }

    /// Returns the outermost fragment, if the frame holds one.
    #[must_use]
    pub fn fragment(&self) -> Option<Fragment> {
        let found = ffi::fragment(self.bytes(), self.about, &self.options.0);
        (found.version != 0).then_some(Fragment(found))
    }

    /// Returns whether the frame has headers that nest too deeply to be examined.
    #[must_use]
    pub fn is_deeper(&self) -> bool {
        ffi::fragment(self.bytes(), self.about, &self.options.0).deeper
    }

    /// Returns whether libcarry supports the frame's link type.
    #[must_use]
    pub fn is_known(&self) -> bool {
        ffi::knows_link(self.about.linktype)
    }
}

#[cfg(feature = "std")]
impl Frame<&[u8]> {
    /// Converts the frame to one that owns a copy of the bytes.
    pub(crate) fn into_owned(self) -> Frame<std::vec::Vec<u8>> {
        Frame { bytes: self.bytes.into(), about: self.about, options: self.options }
    }
}

impl<B: AsMut<[u8]>> Frame<B> {
    /// Repairs bad, partial and illegal checksums in place, from the innermost outwards. Lists the
    /// changes, with the verdicts before them. No good checksum becomes bad.
    pub fn fix(&mut self) -> List<PacketSum> {
        List { items: ffi::fix(self.bytes.as_mut(), self.about, &self.options.0) }
    }

    /// Fills in the checksums of a frame about to be sent, as transmit offload does: the fields may
    /// hold anything.
    pub fn fill(&mut self) -> List<PacketSum> {
        List { items: ffi::fill(self.bytes.as_mut(), self.about, &self.options.0) }
    }
}

/// Returns a range of a frame. It may go beyond the frame, if headers claim so.
fn range(offset: u32, size: u32) -> Range<usize> {
    offset as usize..offset as usize + size as usize
}

/// One checksum field of a frame.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct PacketSum(sys::carry_packet_sum);

impl PacketSum {
    #[cfg(feature = "std")]
    pub(crate) const fn from_c(sum: sys::carry_packet_sum) -> Self {
        Self(sum)
    }

    /// Returns the protocol whose header holds the checksum.
    ///
    /// # Panics
    ///
    /// Never: the library that is linked has the version of this crate.
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        Protocol::from_number(self.0.protocol).expect("a protocol of this version")
    }

    /// Returns the verdict on the checksum.
    ///
    /// # Panics
    ///
    /// Never: see [`PacketSum::protocol`].
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        Verdict::from_number(self.0.verdict).expect("a verdict of this version")
    }

    /// Returns the reason why the checksum is unverifiable.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        Reason::from_number(self.0.reason)
    }

    /// Returns the cause of the verdict, if it is known.
    #[must_use]
    pub fn cause(&self) -> Option<Cause> {
        Cause::from_number(self.0.cause)
    }

    /// Returns the version of the checksum's IP header: 4 or 6.
    #[must_use]
    pub fn ip_version(&self) -> Option<u8> {
        (self.0.version != 0).then_some(self.0.version)
    }

    /// Returns the offset of the checksum's IP header.
    #[must_use]
    pub fn network_offset(&self) -> usize {
        self.0.network_offset as usize
    }

    /// Returns the range of the field in the frame.
    #[must_use]
    pub fn field(&self) -> Range<usize> {
        range(self.0.field_offset, self.0.field_size.into())
    }

    /// Returns the range of the covered bytes according to the headers. It may go beyond the
    /// captured bytes.
    #[must_use]
    pub fn covered(&self) -> Range<usize> {
        range(self.0.cover_offset, self.0.cover_size)
    }

    /// Returns the range of covered bytes that do not count, such as OSPF's authentication.
    #[must_use]
    pub fn gap(&self) -> Option<Range<usize>> {
        let offset = self.0.cover_offset + u32::from(self.0.gap_offset);
        (self.0.gap_size != 0).then(|| range(offset, self.0.gap_size.into()))
    }

    /// Returns the sum of the pseudo-header, if there is one.
    #[must_use]
    pub fn pseudo(&self) -> Option<Sum> {
        (self.0.pseudo_protocol != 0).then(|| Sum::from_partial(self.0.pseudo))
    }

    /// Returns whether the checksum is in a packet that an ICMP error quotes.
    #[must_use]
    pub fn is_quoted(&self) -> bool {
        self.0.quoted != 0
    }

    /// Returns the field as a big-endian number, or 0 if it was not captured.
    #[must_use]
    pub fn stored(&self) -> u32 {
        self.0.stored
    }

    /// Returns the value that makes the checksum good, if it is known.
    #[must_use]
    pub fn expected(&self) -> Option<u32> {
        let is_known = match self.verdict() {
            Verdict::Good | Verdict::Bad | Verdict::Partial => true,
            Verdict::Illegal => self.0.expected != 0,
            _ => self.cause() == Some(Cause::Header),
        };
        is_known.then_some(self.0.expected)
    }
}

impl fmt::Display for PacketSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.protocol(), self.verdict())?;
        match self.reason() {
            Some(reason) => write!(f, " ({reason})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for PacketSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PacketSum")
            .field("protocol", &self.protocol())
            .field("verdict", &self.verdict())
            .field("reason", &self.reason())
            .field("field", &self.field())
            .field("stored", &self.stored())
            .field("expected", &self.expected())
            .finish_non_exhaustive()
    }
}

/// One header of a frame.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Layer(sys::carry_packet_layer);

impl Layer {
    /// Returns the protocol of the header.
    ///
    /// # Panics
    ///
    /// Never: see [`PacketSum::protocol`].
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        let number = u8::try_from(self.0.protocol).ok();
        number.and_then(Protocol::from_number).expect("a protocol of this version")
    }

    /// Returns the offset of the header's first byte.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.0.offset as usize
    }
}

impl fmt::Debug for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.protocol(), self.offset())
    }
}

/// The part of a datagram that a frame holds.
#[derive(Clone, Copy, Debug)]
pub struct Fragment(sys::carry_packet_fragment);

impl Fragment {
    /// Returns the offset of the IP header.
    #[must_use]
    pub fn network_offset(&self) -> usize {
        self.0.network_offset as usize
    }

    /// Returns the range of the part's bytes. It may go beyond the captured bytes.
    #[must_use]
    pub fn content(&self) -> Range<usize> {
        range(self.0.content_offset, self.0.size)
    }

    /// Returns the offset of the part in the content of the datagram.
    #[must_use]
    pub fn place(&self) -> usize {
        self.0.place as usize
    }

    /// Returns the identification of the datagram, and a digest of the tags, labels and tunnels
    /// around it. Both are equal for all fragments of a datagram.
    #[must_use]
    pub fn identity(&self) -> (u32, u32) {
        (self.0.identification, self.0.scope)
    }

    /// Returns the IP protocol number of the first header in the datagram's content.
    #[must_use]
    pub fn protocol(&self) -> u8 {
        self.0.protocol
    }

    /// Returns whether further fragments follow.
    #[must_use]
    pub fn is_more(&self) -> bool {
        self.0.more
    }
}
