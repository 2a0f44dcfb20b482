# SPDX-License-Identifier: MIT
# Settings of the kernel for AArch64.

ifeq ($(origin CC),default)
CC := aarch64-linux-gnu-gcc
endif
OBJCOPY       := aarch64-linux-gnu-objcopy
MACHINE_FLAGS := -mcmodel=small -mno-outline-atomics
ENTRY         := start
START         := 0x40200000
tests_of      := harness/patch_sites_aarch64.S

# Compiles kernels of sums and copies for vector registers: they are in C with intrinsics.
$(OUT)/src/sum/aarch64/neon.c.o $(OUT)/src/copy/aarch64/neon.c.o: \
    private KERNEL_FLAGS := $(filter-out -mgeneral-regs-only,$(KERNEL_FLAGS))
