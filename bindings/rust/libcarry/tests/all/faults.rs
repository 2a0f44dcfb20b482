// SPDX-License-Identifier: MIT
//! Tests copies from and to memory that is not mapped.

use libcarry::fault::Recovery;
use libcarry::Sum;
use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::os::unix::io::AsRawFd;
use std::{env, fs, process, ptr, slice};

const PAGE: usize = 65_536; // the largest page size of any supported architecture
const PROT_NONE: i32 = 0;
const PROT_READ: i32 = 1;
const PROT_WRITE: i32 = 2;
const MAP_SHARED: i32 = 1;

extern "C" {
    fn mmap(at: *mut c_void, size: usize, prot: i32, flags: i32, fd: i32, from: i64)
        -> *mut c_void;
    fn munmap(at: *mut c_void, size: usize) -> i32;
    fn mprotect(at: *mut c_void, size: usize, prot: i32) -> i32;
}

/// A mapping of two pages of a file.
struct Mapping {
    file: File,
    start: *mut u8,
}

impl Mapping {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("libcarry-{}-{name}", process::id()));
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(&path).unwrap();
        fs::remove_file(path).unwrap();
        file.set_len(2 * PAGE as u64).unwrap();
        let prot = PROT_READ | PROT_WRITE;
        // SAFETY: the mapping is new, and replaces no other.
        let start =
            unsafe { mmap(ptr::null_mut(), 2 * PAGE, prot, MAP_SHARED, file.as_raw_fd(), 0) };
        assert_ne!(start as isize, -1);
        let start = start.cast::<u8>();
        for at in 0..2 * PAGE {
            // SAFETY: the mapping has these bytes.
            unsafe { start.add(at).write(byte(at)) };
        }
        Self { file, start }
    }

    fn at(&self, offset: usize) -> *mut u8 {
        self.start.wrapping_add(offset)
    }

    /// Removes the second page: truncates the file, or forbids access to the page.
    fn cut(&self, truncate: bool) {
        if truncate {
            self.file.set_len(PAGE as u64).unwrap();
        } else {
            // SAFETY: nothing refers to the page.
            assert_eq!(unsafe { mprotect(self.at(PAGE).cast(), PAGE, PROT_NONE) }, 0);
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: no code refers to the mapping any more.
        unsafe { munmap(self.start.cast(), 2 * PAGE) };
    }
}

fn byte(offset: usize) -> u8 {
    (offset * 7 + offset / 256) as u8
}

fn expected(from: usize, size: usize) -> Vec<u8> {
    (from..from + size).map(byte).collect()
}

#[test]
fn bytes_left_are_exact() {
    for truncate in [false, true] {
        let mapping = Mapping::new(&format!("left-{truncate}"));
        let recovery = Recovery::acquire().unwrap();
        mapping.cut(truncate);
        for (before, size) in
            [(0, 1), (1, 1), (1, 2), (33, 100), (100, 100), (700, 1500), (9, 70_000)]
        {
            let mut copy = vec![0xee; size];
            let left = recovery.copy(&mut copy, mapping.at(PAGE - before));
            assert_eq!(left, size.saturating_sub(before));
            assert_eq!(copy[..size - left], expected(PAGE - before, size - left));
            assert!(copy[size - left..].iter().all(|&byte| byte == 0xee));
            let (sum, sum_left) = recovery.sum_copy(&mut copy, mapping.at(PAGE - before));
            assert_eq!(sum.finish(), Sum::of(&copy[..size - left]).finish());
            assert_eq!(sum_left, left);
        }
    }
}

#[test]
fn writes_end_with_the_memory() {
    let mapping = Mapping::new("writes");
    let recovery = Recovery::acquire().unwrap();
    mapping.cut(true);
    // SAFETY: only this test uses the first page; the other addresses are inaccessible.
    unsafe {
        assert_eq!(recovery.copy_to(mapping.at(PAGE - 3), b"abcdefgh"), 5);
        assert_eq!(slice::from_raw_parts(mapping.at(PAGE - 3), 3), b"abc");
        assert!(recovery.write(mapping.at(0).cast(), 0x1234_5678_u32));
        assert!(!recovery.write(mapping.at(PAGE).cast(), 1_u64));
        assert_eq!(recovery.copy_to(ptr::null_mut(), b"abc"), 3);
    }
    assert_eq!(recovery.read(mapping.at(0).cast::<u32>()), Some(0x1234_5678));
    assert_eq!(recovery.read(mapping.at(1).cast::<u8>()), Some(0x1234_5678_u32.to_ne_bytes()[1]));
    assert_eq!(recovery.read(mapping.at(PAGE).cast::<u64>()), None);
}

#[test]
fn any_address_is_accepted() {
    let recovery = Recovery::acquire().unwrap();
    for address in [0, 1, 1 << 47, 1 << 63, usize::MAX - 7, usize::MAX] {
        let mut copy = [7; 8];
        assert_eq!(recovery.copy(&mut copy, address as *const u8), 8, "{address:x}");
        assert_eq!(copy, [7; 8]);
        assert_eq!(recovery.read(address as *const u8), None, "{address:x}");
    }
    assert_eq!(recovery.copy(&mut [], ptr::null()), 0);
}

#[test]
#[should_panic(expected = "overlap")]
fn ranges_must_be_apart() {
    let mut bytes = [0; 8];
    let src = bytes.as_ptr().wrapping_add(4);
    let _ = Recovery::acquire().unwrap().copy(&mut bytes[..5], src);
}

#[test]
fn one_recovery_outlives_another() {
    let mapping = Mapping::new("outlives");
    mapping.cut(false);
    let first = Recovery::acquire().unwrap();
    drop(Recovery::acquire().unwrap());
    assert_eq!(first.copy(&mut [0; 8], mapping.at(PAGE)), 8);
    let address = mapping.at(PAGE) as usize;
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(first.copy(&mut [0; 8], address as *const u8), 8));
        }
    });
}

/// Overflows the stack. The next test runs this one in a process of its own.
#[test]
#[ignore = "overflows the stack"]
fn overflows_the_stack() {
    fn deeper(depth: &mut [u64; 64]) -> u64 {
        let mut deepest = depth.map(|number| number + 1);
        depth[7] + if depth[0] == u64::MAX { 0 } else { deeper(&mut deepest) }
    }
    let recovery = Recovery::acquire().unwrap();
    assert_eq!(recovery.copy(&mut [0; 8], ptr::null()), 8);
    assert_eq!(deeper(&mut [0; 64]), 0);
}

#[test]
#[cfg(target_arch = "x86_64")] // tests for other CPUs are emulated, and cannot start themselves
fn other_faults_reach_the_handler_of_rust() {
    let mut command = process::Command::new(env::current_exe().unwrap());
    command.args(["--exact", "faults::overflows_the_stack", "--ignored", "--nocapture"]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("has overflowed its stack"), "{said}");
}
