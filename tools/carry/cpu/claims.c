/* SPDX-License-Identifier: MIT */
/* Lists the works that show what preferences claim. Works with other work beside them come first:
 * they decide before the speed of loops does. */
#include "cpu/claims.h"

#include <string.h>

static const struct claim claims[] = {
    {"prefer512",
     CLAIM_SUM,
     "+prefer_multiply,+prefer_masks",
     {{"1,500 bytes, beside", "beside", 1500, 0},
      {"9,000 bytes, beside", "beside", 9000, 0},
      {"1,500 bytes", "hot", 1500, 0},
      {"9,000 bytes", "hot", 9000, 0},
      {"random, 1 to 1,500 bytes", "mixed1500", 0, 0}}},
    {"prefer512_copies",
     CLAIM_COPY,
     "+prefer_masks,early_rep",
     {{"512 bytes, beside", "beside", 512, 0},
      {"1,500 bytes, beside", "beside", 1500, 0},
      {"512 bytes", "hot", 512, 0},
      {"1,500 bytes", "hot", 1500, 0}}},
    {"prefer_multiply",
     CLAIM_SUM,
     "prefer512,prefer_masks",
     {{"1,500 bytes, beside", "beside", 1500, 0},
      {"9,000 bytes, beside", "beside", 9000, 0},
      {"1,500 bytes", "hot", 1500, 0},
      {"9,000 bytes", "hot", 9000, 0}}},
    {"prefer_masks",
     CLAIM_SUM,
     "prefer512,+prefer_multiply",
     {{"random, 1 to 64 bytes", "mixed64", 0, 0}}},
    {"early_rep",
     CLAIM_COPY,
     "prefer512_copies",
     {{"3,000 bytes", "hot", 3000, 0}, {"3,000 bytes from 1 on", "hot", 3000, 1}}},
    {"fast_xgetbv1",
     CLAIM_THUNK,
     "",
     {{"thunk, SSE in use", "SSE", 0, 0}, {"thunk, SSE and AVX in use", "AVX", 0, 0}}},
};

const struct claim *claim_of(const char *preference) {
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++)
        if (strcmp(claims[i].preference, preference) == 0)
            return &claims[i];
    return NULL;
}
