// SPDX-License-Identifier: MIT
//! Uses libcarry without std: ends with status 0 if all results are right.
#![no_std]
#![no_main]

use core::panic::PanicInfo;
use libcarry::fault::Recovery;
use libcarry::{copy, crc32c, patch, Frame, Sum, Verdict, LINK_IPV4};

extern "C" {
    fn abort() -> !;
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: the function of the C library has no arguments.
    unsafe { abort() }
}

/// Exists for lld: Rust's core library refers to it for unwinding, though no code unwinds.
#[no_mangle]
pub extern "C" fn rust_eh_personality() {}

#[no_mangle]
pub extern "C" fn main() -> i32 {
    let mut packet = *b"\x45\0\0\x20\0\0\0\0\x40\x11\0\0\x0a\0\0\x05\x0a\0\0\x09\
                        \x9c\x40\0\x35\0\x0c\0\0abcd";
    let filled = Frame::new(&mut packet, LINK_IPV4).fill().len();
    let mut frame = [0; 32];
    copy::copy(&mut frame, &packet);
    let sums = Frame::new(&frame, LINK_IPV4).check();
    let is_good = filled == 2 && sums.iter().all(|sum| sum.verdict() == Verdict::Good);
    let is_summed = Sum::of(&frame[..20]).finish() == [0, 0];
    let is_selected = patch::apply().is_ok() && Sum::select(Some("generic")).is_ok();
    let left = Recovery::acquire().map(|recovery| recovery.copy(&mut frame, core::ptr::null()));
    let is_crc = crc32c(b"123456789") == 0xe306_9283;
    i32::from(!(is_good && is_summed && is_selected && is_crc && left == Ok(32)))
}
