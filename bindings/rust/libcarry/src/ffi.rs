// SPDX-License-Identifier: MIT
//! libcarry's functions, with slices for pointers and sizes. All unsafe code is here, except in
//! `fault`.

#[cfg(feature = "std")]
pub mod callbacks;
#[cfg(feature = "std")]
pub mod capture;
pub mod fault;
pub mod patch;
#[cfg(feature = "std")]
pub mod results;
#[cfg(feature = "std")]
mod stream;
#[cfg(feature = "std")]
pub mod writer;

use crate::ErrorCode;
use core::mem::MaybeUninit;
use core::slice;
use core::str;
use libcarry_sys as sys;

/// Converts the result of a function that returns 0 or an error.
pub fn result(code: i32) -> Result<(), ErrorCode> {
    match code {
        0 => Ok(()),
        _ => Err(ErrorCode::from_number(code).unwrap_or(ErrorCode::Invalid)),
    }
}

/// Converts a static string of libcarry: all are ASCII. Returns `None` for NULL.
///
/// # Safety
///
/// `text` must be a static C string, or NULL.
unsafe fn text(text: *const sys::ctypes::c_char) -> Option<&'static str> {
    if text.is_null() {
        return None;
    }
    let mut size = 0;
    // SAFETY: the caller guarantees a C string, and the loop ends at its terminating 0.
    while unsafe { *text.add(size) } != 0 {
        size += 1;
    }
    // SAFETY: the string is static, and `size` bytes long.
    str::from_utf8(unsafe { slice::from_raw_parts(text.cast(), size) }).ok()
}

pub fn sum(bytes: &[u8], seed: u32) -> u32 {
    // SAFETY: the function reads only `bytes`.
    unsafe { sys::carry_sum_call(bytes.as_ptr().cast(), bytes.len(), seed) }
}

/// Copies `src` to `dst`; returns the sum of its bytes, added to `seed`. The slices must be equally
/// long.
pub fn sum_copy(dst: &mut [u8], src: &[u8], seed: u32) -> u32 {
    assert_eq!(dst.len(), src.len(), "source and destination differ in length");
    // SAFETY: both slices have this size, and a mutable slice overlaps no other.
    unsafe { sys::carry_sum_copy(dst.as_mut_ptr().cast(), src.as_ptr().cast(), src.len(), seed) }
}

pub fn pseudo4(src: [u8; 4], dst: [u8; 4], protocol: u8, size: u32) -> u32 {
    // SAFETY: the function reads 4 bytes of each address.
    unsafe { sys::carry_sum_pseudo4(src.as_ptr().cast(), dst.as_ptr().cast(), protocol, size, 0) }
}

pub fn pseudo6(src: [u8; 16], dst: [u8; 16], next_header: u8, size: u32) -> u32 {
    // SAFETY: the function reads 16 bytes of each address.
    unsafe {
        sys::carry_sum_pseudo6(src.as_ptr().cast(), dst.as_ptr().cast(), next_header, size, 0)
    }
}

pub fn crc32c(bytes: &[u8], seed: u32) -> u32 {
    // SAFETY: the function reads only `bytes`.
    unsafe { sys::carry_crc32c(bytes.as_ptr().cast(), bytes.len(), seed) }
}

/// Copies `src` to `dst`. The slices must be equally long.
pub fn copy(dst: &mut [u8], src: &[u8]) {
    assert_eq!(dst.len(), src.len(), "source and destination differ in length");
    // SAFETY: both slices have this size, and a mutable slice overlaps no other.
    unsafe { sys::carry_copy(dst.as_mut_ptr().cast(), src.as_ptr().cast(), src.len()) }
}

/// Copies `src` to `dst`, past the caches if it is large. The slices must be equally long.
pub fn copy_stream(dst: &mut [u8], src: &[u8]) {
    assert_eq!(dst.len(), src.len(), "source and destination differ in length");
    // SAFETY: both slices have this size, and a mutable slice overlaps no other.
    unsafe { sys::carry_copy_stream(dst.as_mut_ptr().cast(), src.as_ptr().cast(), src.len()) }
}

/// Moves `size` bytes from offset `src` to offset `dst`; both ranges must lie in `bytes`.
pub fn copy_within(bytes: &mut [u8], dst: usize, src: usize, size: usize) {
    let last = bytes.len().checked_sub(size).expect("more bytes than there are");
    assert!(src <= last && dst <= last, "a range ends beyond the bytes");
    let start = bytes.as_mut_ptr();
    // SAFETY: both ranges lie in `bytes`, and may overlap.
    unsafe { sys::carry_copy_move(start.add(dst).cast(), start.add(src).cast(), size) }
}

/// Returns the name of kernel `index`, whether this machine can run it, and whether it was chosen;
/// `None` if there are fewer kernels.
pub fn sum_kernel(index: usize) -> Option<(&'static str, bool, bool)> {
    let mut kernel = MaybeUninit::<sys::carry_sum_kernel>::uninit();
    // SAFETY: the function fills the structure with static strings if it returns true.
    unsafe {
        if !sys::carry_sum_kernel(index, kernel.as_mut_ptr()) {
            return None;
        }
        let kernel = kernel.assume_init();
        Some((text(kernel.name)?, kernel.missing.is_null(), kernel.chosen))
    }
}

/// Chooses the kernel `name`, which must end with a 0; `None` chooses the best kernel.
pub fn sum_select(name: Option<&[u8]>) -> Result<(), ErrorCode> {
    assert!(name.map_or(true, |name| name.last() == Some(&0)));
    let name = name.map_or(core::ptr::null(), <[u8]>::as_ptr);
    // SAFETY: the name is a C string, or NULL.
    result(unsafe { sys::carry_sum_select(name.cast()) })
}

/// The largest number of items that libcarry lists for a frame.
const CAPACITY: usize = sys::CARRY_PACKET_SUMS_MAX as usize;

/// The first items of an array that a C function filled.
#[derive(Clone, Copy)]
pub struct Items<T: Copy> {
    array: [MaybeUninit<T>; CAPACITY],
    count: usize,
}

impl<T: Copy> Items<T> {
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: the first `count` items are initialised: see listed().
        unsafe { slice::from_raw_parts(self.array.as_ptr().cast(), self.count) }
    }
}

/// The properties of a frame, except its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct About {
    pub wire: u32,
    pub linktype: u32,
}

impl About {
    fn frame(self, data: *const u8, size: usize) -> sys::carry_frame {
        let Self { wire, linktype } = self;
        let captured = u32::try_from(size).unwrap_or(u32::MAX); // no packet has more bytes
        sys::carry_frame { data: data.cast(), captured, wire, linktype, scope: 0 }
    }
}

/// A C function that lists the items that it finds, or changes, in a frame.
type Function<S> = unsafe extern "C" fn(
    *const sys::carry_frame,
    *const sys::carry_packet_options,
    *mut S,
    usize,
) -> usize;

/// Returns the items that a C function lists for a frame.
///
/// # Safety
///
/// The function must be declared in `carry/packet.h`: those functions write the items that they
/// count, and touch no byte outside the frame. `T` must be a `repr(transparent)` wrapper of `S`.
/// `data` must be valid for `size` bytes, and for writes if the function repairs.
unsafe fn listed<S, T: Copy>(
    function: Function<S>,
    (data, size): (*const u8, usize),
    about: About,
    options: &sys::carry_packet_options,
) -> Items<T> {
    let mut array = [MaybeUninit::uninit(); CAPACITY];
    let frame = about.frame(data, size);
    // SAFETY: the caller guarantees the function and the bytes; the array has this capacity.
    let count = unsafe { function(&frame, options, array.as_mut_ptr().cast(), CAPACITY) };
    Items { array, count: count.min(CAPACITY) }
}

/// Defines functions on the bytes of a frame, which are a slice or a mutable slice.
macro_rules! on_frames {
    ($($name:ident($bytes:ty, $pointer:ident) -> $item:ident = $function:ident;)*) => {
        $(pub fn $name(
            bytes: $bytes,
            about: About,
            options: &sys::carry_packet_options,
        ) -> Items<crate::$item> {
            let bytes = (bytes.$pointer() as *const u8, bytes.len());
            // SAFETY: `bytes` may be written where the function repairs, and the item is a
            // `repr(transparent)` wrapper of the C structure that the function lists.
            unsafe { listed(sys::$function, bytes, about, options) }
        })*
    };
}

on_frames! {
    check(&[u8], as_ptr) -> PacketSum = carry_packet_check;
    walk(&[u8], as_ptr) -> PacketSum = carry_packet_walk;
    layers(&[u8], as_ptr) -> Layer = carry_packet_layers;
    fix(&mut [u8], as_mut_ptr) -> PacketSum = carry_packet_fix;
    fill(&mut [u8], as_mut_ptr) -> PacketSum = carry_packet_fill;
}

/// Returns the outermost fragment of a frame, without summing any byte.
pub fn fragment(
    bytes: &[u8],
    about: About,
    options: &sys::carry_packet_options,
) -> sys::carry_packet_fragment {
    let frame = about.frame(bytes.as_ptr(), bytes.len());
    let mut fragment = sys::carry_packet_fragment::default();
    let none = core::ptr::null_mut();
    // SAFETY: the function reads only the frame's bytes; with a capacity of 0 it lists nothing.
    unsafe { sys::carry_packet_check_fragment(&frame, options, none, 0, &mut fragment) };
    fragment
}

pub fn knows_link(linktype: u32) -> bool {
    // SAFETY: the function only looks a number up.
    unsafe { sys::carry_packet_knows_link(linktype) }
}

#[cfg(test)]
mod tests {
    //! Tests that call no C, for Miri.

    use super::*;
    use crate::{Layer, List, Protocol};

    /// Lists one layer for each captured byte, up to the capacity.
    unsafe extern "C" fn layers_of_bytes(
        frame: *const sys::carry_frame,
        _: *const sys::carry_packet_options,
        layers: *mut sys::carry_packet_layer,
        capacity: usize,
    ) -> usize {
        // SAFETY: listed() passes a frame.
        let count = unsafe { (*frame).captured };
        for offset in 0..count.min(capacity as u32) {
            let layer = sys::carry_packet_layer { protocol: Protocol::Tcp as u32, offset };
            // SAFETY: the array that listed() passes has this capacity.
            unsafe { layers.add(offset as usize).write(layer) };
        }
        count as usize
    }

    fn list(bytes: &[u8]) -> List<Layer> {
        let (about, options) = Default::default();
        let bytes = (bytes.as_ptr(), bytes.len());
        // SAFETY: the function writes the layers that it counts, as libcarry's functions do.
        List { items: unsafe { listed(layers_of_bytes, bytes, about, &options) } }
    }

    #[test]
    fn lists_hold_what_was_written() {
        for (size, count) in [(0, 0), (1, 1), (CAPACITY, CAPACITY), (CAPACITY + 1, CAPACITY)] {
            let list = list(&[0; CAPACITY + 1][..size]);
            assert_eq!(list.len(), count);
            assert_eq!(list.clone().into_iter().len(), count);
            assert!(list.iter().map(Layer::offset).eq(0..count));
            assert!(list.into_iter().all(|layer| layer.protocol() == Protocol::Tcp));
        }
    }

    #[test]
    fn texts_end_at_the_first_zero() {
        // SAFETY: the pointers are static C strings and NULL.
        unsafe {
            assert_eq!(text(b"avx2\0rest\0".as_ptr().cast()), Some("avx2"));
            assert_eq!(text(b"\0".as_ptr().cast()), Some(""));
            assert_eq!(text(core::ptr::null()), None);
        }
    }
}
