// SPDX-License-Identifier: MIT
//! Defines the interface of a file with a peer in Rust: the result of its function `peer()`.

#[repr(C)]
#[derive(Clone, Copy)]
pub enum Peer {
    /// A function on packets, and a function that converts its result to a sum in memory order of a
    /// little-endian machine.
    Sum(fn(&[u8]) -> u16, fn(u16) -> u16),
    /// A function that passes the given number of branches, all off, and returns how many it
    /// passed.
    Branches(fn(usize) -> usize),
}
