/* SPDX-License-Identifier: MIT */
/* The entry that libFuzzer and standalone.c call. */
#ifndef CARRY_FUZZ_H
#define CARRY_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
