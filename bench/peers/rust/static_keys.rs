// SPDX-License-Identifier: MIT
//! The static-keys crate: branches that are off from the start.

use std::arch::asm;

use static_keys::{define_static_key_false, static_branch_unlikely};

use crate::peer::Peer;

define_static_key_false!(RARE);

macro_rules! branches {
    ($($number:literal)*) => {
        $(
            let _ = $number;
            if static_branch_unlikely!(RARE) {
                return 0;
            }
        )*
    };
}

/// Passes `calls` branches, sixteen in a row, like c/branches.h: the cost of the loop does not hide
/// the cost of the branches. Returns `calls`, or 0 if the key is on.
fn pass(calls: usize) -> usize {
    let mut done = 0;
    while calls - done >= 16 {
        // SAFETY: the text contains no instruction. It hides the number from the compiler.
        unsafe { asm!("/* {0} */", inout(reg) done) };
        branches!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
        done += 16;
    }
    while done < calls {
        branches!(1);
        done += 1;
    }
    done
}

/// Returns the peer. The key keeps its first state: on a Zen 5, code in pages that the crate has
/// written is slower.
pub fn peer() -> Peer {
    static_keys::global_init();
    Peer::Branches(pass)
}
