/* SPDX-License-Identifier: MIT */
/* The sizes and packets that `carry bench jit` times. */
#include "bench/bench_jit.h"

const size_t jit_sizes[JIT_SIZES] = {20, 40, 44, 64, 128, 550, 1500};

const struct jit_packet jit_packets[JIT_PACKETS] = {
    {"check", 64, JIT_CHECK},
    {"check", 550, JIT_CHECK},
    {"check", 1500, JIT_CHECK},
    {"write", 64, JIT_WRITE},
};
