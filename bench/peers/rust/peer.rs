// SPDX-License-Identifier: MIT
//! What the function `peer()` of a file with a peer in Rust gives to the process around it.

#[repr(C)]
#[derive(Clone, Copy)]
pub enum Peer {
    /// A function on packets, and what makes a sum of what it returns: in memory order, on a
    /// little-endian machine.
    Sum(fn(&[u8]) -> u16, fn(u16) -> u16),
    /// Passes as many branches as told, all of them off, and says how many it passed.
    Branches(fn(usize) -> usize),
}
