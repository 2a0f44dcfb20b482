// SPDX-License-Identifier: MIT
//! Patches the library's own sites.

use libcarry::{patch, Sum};

#[test]
fn the_sites_of_the_library_are_patched() {
    let is_applied = patch::apply().is_ok();
    let counts = patch::counts();
    let has_sites = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    assert_eq!(counts.sites > 0, has_sites);
    if is_applied && counts.sites > 0 {
        assert!(counts.unpatched < counts.sites && counts.written > 0);
        assert_ne!(counts.backend, "none");
    }
    assert_eq!(Sum::of(&[0x12, 0x34]).finish(), [0xed, 0xcb]);
}
