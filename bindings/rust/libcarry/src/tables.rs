// SPDX-License-Identifier: MIT
// Made by scripts/make_rust.py: do not edit.

table! {
/// The protocols whose headers the walk knows.
pub enum Protocol: u8 {
    /// `ethernet`
    Ethernet = 0, "ethernet",
    /// `vlan`
    Vlan = 1, "vlan",
    /// `llc`
    Llc = 2, "llc",
    /// `sll`
    Sll = 3, "sll",
    /// `sll2`
    Sll2 = 4, "sll2",
    /// `raw`
    Raw = 5, "raw",
    /// `loopback`
    Loopback = 6, "loopback",
    /// `ip`
    Ip = 7, "ip",
    /// `ipv6`
    Ipv6 = 8, "ipv6",
    /// `ipv6_options`
    Ipv6Options = 9, "ipv6_options",
    /// `ipv6_routing`
    Ipv6Routing = 10, "ipv6_routing",
    /// `ipv6_fragment`
    Ipv6Fragment = 11, "ipv6_fragment",
    /// `ah`
    Ah = 12, "ah",
    /// `tcp`
    Tcp = 13, "tcp",
    /// `udp`
    Udp = 14, "udp",
    /// `udplite`
    Udplite = 15, "udplite",
    /// `icmp`
    Icmp = 16, "icmp",
    /// `icmpv6`
    Icmpv6 = 17, "icmpv6",
    /// `igmp`
    Igmp = 18, "igmp",
    /// `gre`
    Gre = 19, "gre",
    /// `erspan`
    Erspan = 20, "erspan",
    /// `vxlan`
    Vxlan = 21, "vxlan",
    /// `geneve`
    Geneve = 22, "geneve",
    /// `gtp`
    Gtp = 23, "gtp",
    /// `teredo`
    Teredo = 24, "teredo",
    /// `l2tp`
    L2tp = 25, "l2tp",
    /// `lisp`
    Lisp = 26, "lisp",
    /// `lisp_control`
    LispControl = 27, "lisp_control",
    /// `sctp`
    Sctp = 28, "sctp",
    /// `dccp`
    Dccp = 29, "dccp",
    /// `rsvp`
    Rsvp = 30, "rsvp",
    /// `eigrp`
    Eigrp = 31, "eigrp",
    /// `ospf`
    Ospf = 32, "ospf",
    /// `pim`
    Pim = 33, "pim",
    /// `vrrp`
    Vrrp = 34, "vrrp",
    /// `pgm`
    Pgm = 35, "pgm",
    /// `mipv6`
    Mipv6 = 36, "mipv6",
    /// `hip`
    Hip = 37, "hip",
    /// `ppp`
    Ppp = 38, "ppp",
    /// `pppoe`
    Pppoe = 39, "pppoe",
    /// `chdlc`
    Chdlc = 40, "chdlc",
    /// `ieee80211`
    Ieee80211 = 41, "ieee80211",
    /// `radiotap`
    Radiotap = 42, "radiotap",
    /// `prism`
    Prism = 43, "prism",
    /// `ppi`
    Ppi = 44, "ppi",
    /// `fddi`
    Fddi = 45, "fddi",
    /// `token_ring`
    TokenRing = 46, "token_ring",
    /// `nflog`
    Nflog = 47, "nflog",
    /// `ipoib`
    Ipoib = 48, "ipoib",
    /// `pktap`
    Pktap = 49, "pktap",
    /// `dsa`
    Dsa = 50, "dsa",
    /// `edsa`
    Edsa = 51, "edsa",
    /// `enc`
    Enc = 52, "enc",
    /// `mpls`
    Mpls = 53, "mpls",
    /// `itag`
    Itag = 54, "itag",
    /// `nsh`
    Nsh = 55, "nsh",
    /// `macsec`
    Macsec = 56, "macsec",
    /// `cisco_metadata`
    CiscoMetadata = 57, "cisco_metadata",
    /// `mpls_udp`
    MplsUdp = 58, "mpls_udp",
    /// `capwap`
    Capwap = 59, "capwap",
    /// `sctp_udp`
    SctpUdp = 60, "sctp_udp",
    /// `icmpext`
    Icmpext = 61, "icmpext",
    /// `brcm_prepend`
    BrcmPrepend = 62, "brcm_prepend",
    /// `frelay`
    Frelay = 63, "frelay",
    /// `frelay_with_dir`
    FrelayWithDir = 64, "frelay_with_dir",
    /// `chdlc_with_dir`
    ChdlcWithDir = 65, "chdlc_with_dir",
    /// `ppp_with_dir`
    PppWithDir = 66, "ppp_with_dir",
    /// `ppp_pppd`
    PppPppd = 67, "ppp_pppd",
    /// `slip`
    Slip = 68, "slip",
    /// `atm_rfc1483`
    AtmRfc1483 = 69, "atm_rfc1483",
    /// `atm_clip`
    AtmClip = 70, "atm_clip",
    /// `sunatm`
    Sunatm = 71, "sunatm",
    /// `arcnet`
    Arcnet = 72, "arcnet",
    /// `arcnet_linux`
    ArcnetLinux = 73, "arcnet_linux",
    /// `pflog`
    Pflog = 74, "pflog",
    /// `ieee1394`
    Ieee1394 = 75, "ieee1394",
    /// `ipfc`
    Ipfc = 76, "ipfc",
    /// `ipnet`
    Ipnet = 77, "ipnet",
    /// `netlink`
    Netlink = 78, "netlink",
    /// `docsis`
    Docsis = 79, "docsis",
    /// `erf`
    Erf = 80, "erf",
    /// `juniper_ethernet`
    JuniperEthernet = 81, "juniper_ethernet",
    /// `juniper_ppp`
    JuniperPpp = 82, "juniper_ppp",
    /// `juniper_frelay`
    JuniperFrelay = 83, "juniper_frelay",
    /// `juniper_chdlc`
    JuniperChdlc = 84, "juniper_chdlc",
    /// `juniper_atm1`
    JuniperAtm1 = 85, "juniper_atm1",
    /// `juniper_atm2`
    JuniperAtm2 = 86, "juniper_atm2",
    /// `mpacket`
    Mpacket = 87, "mpacket",
    /// `fabricpath`
    Fabricpath = 88, "fabricpath",
    /// `vntag`
    Vntag = 89, "vntag",
    /// `etag`
    Etag = 90, "etag",
    /// `arista_timestamp`
    AristaTimestamp = 91, "arista_timestamp",
    /// `etherip`
    Etherip = 92, "etherip",
    /// `gre_udp`
    GreUdp = 93, "gre_udp",
    /// `nhrp`
    Nhrp = 94, "nhrp",
    /// `ayiya`
    Ayiya = 95, "ayiya",
    /// `peekremote`
    Peekremote = 96, "peekremote",
    /// `aruba_erm`
    ArubaErm = 97, "aruba_erm",
    /// `hp_erm`
    HpErm = 98, "hp_erm",
    /// `tzsp`
    Tzsp = 99, "tzsp",
}
}

table! {
/// Verdicts on checksums.
pub enum Verdict: u8 {
    /// It verifies.
    Good = 0, "good",
    /// It does not verify.
    Bad = 1, "bad",
    /// Transmit offload leaves it for the network card to complete: not damage.
    Partial = 2, "partial",
    /// The sender chose to send none, such as UDP 0 over IPv4 and over IPv6 on a tunnel's port.
    Absent = 3, "absent",
    /// There is none, though the protocol demands one, such as any other UDP 0 over IPv6.
    Illegal = 4, "illegal",
    /// It cannot be verified: see the reason.
    Unverifiable = 5, "unverifiable",
}
}

table! {
/// Reasons why a checksum is unverifiable.
pub enum Reason: u8 {
    /// Covered bytes were not captured.
    Snaplen = 1, "snaplen",
    /// It covers a datagram of which this frame holds one fragment.
    Fragment = 2, "fragment",
    /// An IP length goes beyond the wire, or beyond the layer around it.
    Length = 3, "length",
    /// A header contradicts itself, or its own IP header.
    Malformed = 4, "malformed",
    /// In a packet that an ICMP error quotes: routers cut and edit it.
    Quoted = 5, "quoted",
    /// A routing header of an unknown type hides the final destination.
    Routing = 6, "routing",
}
}

table! {
/// Causes of verdicts.
pub enum Cause: u8 {
    /// An IPv4 header's sum holds 0, as if left to a network card: PARTIAL if a sum in the same
    /// packet is partial, or UNVERIFIABLE (SNAPLEN) if the bytes that would decide this were not
    /// captured.
    Header = 1, "header",
    /// A BAD sum of SCTP verifies as Adler-32: SCTP's first checksum (RFC 2960), which no
    /// receiver has accepted since RFC 3309.
    Adler32 = 2, "adler32",
}
}

table! {
/// Errors that functions return.
pub enum ErrorCode: i32 {
    /// Invalid argument.
    Invalid = -1, "invalid argument",
    /// Unknown name.
    Unknown = -2, "unknown name",
    /// Not supported on this machine, or in this process.
    Unsupported = -3, "not supported on this machine, or in this process",
    /// The text does not hold the expected instructions.
    Bytes = -4, "the text does not hold the expected instructions",
    /// The system does not permit it.
    Permission = -5, "the system does not permit it",
    /// The system cannot synchronise the cores that run threads.
    NoSync = -6, "the system cannot synchronise the cores that run threads",
    /// Out of memory.
    Memory = -7, "out of memory",
    /// In use: do without it, or try again.
    Busy = -8, "in use: do without it, or try again",
    /// A buffer is too small.
    Size = -9, "a buffer is too small",
    /// Must not be called from this context.
    Context = -10, "must not be called from this context",
    /// Unknown format.
    Unrecognised = -11, "unknown format",
    /// The input contradicts its format.
    Damaged = -12, "the input contradicts its format",
    /// Reading failed.
    Read = -13, "reading failed",
    /// Writing failed.
    Write = -14, "writing failed",
    /// A callback cancelled it.
    Cancelled = -15, "a callback cancelled it",
    /// Larger than is safe.
    TooLarge = -16, "larger than is safe",
}
}
