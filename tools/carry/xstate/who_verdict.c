/* SPDX-License-Identifier: MIT */
/* The verdicts of `carry xstate who`, and the components that lead to each. */
#include "xstate/xstate_who.h"

#include <carry/xstate.h>

#define BIT(name) CARRY_XSTATE_BIT(name)

const struct who_verdict_row who_verdicts[WHO_VERDICTS] = {
    [WHO_DIRTY_ZMM] = {"dirty ZMM", BIT(ZMM_HI256)},
    [WHO_DIRTY_YMM] = {"dirty YMM", BIT(AVX)},
    [WHO_TILES] = {"tiles", BIT(TILEDATA)},
    [WHO_MASKS] = {"masks", BIT(OPMASK) | BIT(HI16_ZMM)},
    [WHO_CLEAN] = {"clean", 0},
};

enum who_verdict who_verdict(uint64_t in_use) {
    enum who_verdict verdict = 0;
    while (verdict < WHO_CLEAN && !(who_verdicts[verdict].components & in_use))
        verdict++;
    return verdict;
}
