/* SPDX-License-Identifier: MIT */
/* A tool without libmd computes no digests. */
#include "selftest/proof.h"

bool proof_compare(const struct library *library, struct proof *proof) {
    (void)library, (void)proof;
    return false;
}
