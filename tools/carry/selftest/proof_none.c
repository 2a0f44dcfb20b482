/* SPDX-License-Identifier: MIT */
/* Replaces proof.c in builds without libmd, which computes digests. */
#include "selftest/proof.h"

bool proof_compare(const struct library *library, struct proof *proof) {
    (void)library, (void)proof;
    return false;
}
