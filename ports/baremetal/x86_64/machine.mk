# SPDX-License-Identifier: MIT
# Settings of the kernel for x86-64.

MACHINE_FLAGS := -mno-red-zone -mcmodel=small
ENTRY         := start32
START         := 0x100000
tests_of      := harness/patch_sites_x86_64.S unit/proof/meanings_x86_64.S

.PHONY: disk
disk: $(OUT)/disk.img

# Adds the trials that `trials` on the command line runs.
ifdef TRIALS
$(OUT)/x86_64/trials_data.S.o: KERNEL_FLAGS += -DTRIALS='"$(TRIALS)"'
$(OUT)/x86_64/trials_data.S.o: $(TRIALS)
endif

# Makes a disk that boots the kernel, with the size of a drive of 20 cylinders.
symbol = 0x$(shell nm $(IMAGE) | awk '$$3 == "$(1)" { print $$1 }')

$(OUT)/disk.img: x86_64/disk.S $(IMAGE)
	objcopy -O binary $(IMAGE) $(OUT)/kernel.bin
	truncate --size=%512 $(OUT)/kernel.bin
	$(CC) -c -DKERNEL_SECTORS=$$(($$(stat --format=%s $(OUT)/kernel.bin) / 512)) \
	    -DKERNEL_ENTRY=$(call symbol,start32) -DKERNEL_END=$(call symbol,kernel_end) \
	    -DCOMMAND_LINE='"$(OPTIONS)"' x86_64/disk.S -o $(OUT)/disk.o
	ld -Ttext=0x7c00 --oformat=binary $(OUT)/disk.o -o $@
	cat $(OUT)/kernel.bin >>$@
	truncate --size=10321920 $@
