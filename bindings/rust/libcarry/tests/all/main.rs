// SPDX-License-Identifier: MIT
//! All tests of the public functions, as one program.

#[cfg(feature = "std")]
mod captures;
#[cfg(feature = "std")]
mod checks;
#[cfg(feature = "std")]
mod common;
#[cfg(feature = "std")]
mod compressed;
mod copies;
mod faults;
mod packets;
mod patches;
#[cfg(feature = "std")]
mod repairs;
mod sums;
#[cfg(feature = "std")]
mod writers;
