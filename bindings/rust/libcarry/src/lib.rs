// SPDX-License-Identifier: MIT
//! Finds, computes, verifies and fills in the checksums of packets, at the speed that the machine
//! allows: [libcarry] for Rust.
//!
//! ```
//! use libcarry::{Frame, Sum, Verdict};
//!
//! // An IPv4 header as captured; its checksum is in bytes 10 and 11.
//! let header = [
//!     0x45, 0x00, 0x00, 0x3c, 0x1c, 0x46, 0x40, 0x00, 0x40, 0x06, 0xb1, 0xe6, 0xac, 0x10, 0x0a,
//!     0x63, 0xac, 0x10, 0x0a, 0x0c,
//! ];
//! assert_eq!(Sum::of(&header).finish(), [0, 0]); // it verifies
//!
//! // The same as a frame of which 20 bytes were captured: TCP's bytes are missing.
//! let sums = Frame::new(&header, libcarry::LINK_IPV4).on_wire(60).check();
//! assert_eq!(sums[0].verdict(), Verdict::Good);
//! assert_eq!(sums[1].to_string(), "tcp: unverifiable (snaplen)");
//! ```
//!
//! | I want to | use |
//! |---|---|
//! | compute a checksum, in parts too, or while copying | [`Sum`] |
//! | update a checksum after a change of the header | [`update`] |
//! | compute the CRC of SCTP or iSCSI | [`Crc32c`] |
//! | judge, repair or fill in all checksums of a packet | [`Frame`] |
//! | copy bytes | [`copy`] |
//! | copy memory that may vanish during the copy | [`fault`] |
//! | see which call sites of the process are patched | [`patch`] |
//! | read, check, repair and write captures (feature `std`) | `capture` |
//!
//! Without features the crate is `no_std` and never allocates. Feature `std` adds captures; `gzip`,
//! `zstd`, `xz`, `lz4` and `bzip2` read compressed ones; `system` links the system's libraries
//! instead of compiling them. The crate needs Linux and a C compiler.
//!
//! A checksum is `[u8; 2]`, the bytes of the header, so that no byte order has to be chosen.
//! The Internet checksum detects accidents, not attacks.
//!
//! The file docs/rust.md of libcarry lists the functions of C that this crate lacks, with the
//! reasons.
//! The headers in [`libcarry_sys`] are for use from C.
//!
//! [libcarry]: https://docs.rs/libcarry
#![no_std]
#![deny(unsafe_code, unsafe_op_in_unsafe_fn, missing_docs)]

#[cfg(feature = "std")]
extern crate std;

#[macro_use]
mod table;

#[cfg(feature = "std")]
pub mod capture;
pub mod copy;
mod crc;
pub mod fault;
#[allow(unsafe_code)]
mod ffi;
mod list;
mod packet;
pub mod patch;
mod sum;
mod tables;

pub use crc::{crc32c, Crc32c};
pub use list::{IntoIter, List};
pub use packet::{
    Fragment, Frame, Layer, Options, PacketSum, LINK_ETHERNET, LINK_IPV4, LINK_IPV6, LINK_RAW,
};
pub use sum::{update, Kernels, Sum};
pub use tables::{Cause, ErrorCode, Protocol, Reason, Verdict};
