/* SPDX-License-Identifier: MIT */
#include "sites/sites_machine.h"

static const struct machine *const machines[] = {&machine_x86_64, &machine_aarch64};

const struct machine *machine_of(uint16_t elf) {
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (machines[i]->elf == elf)
            return machines[i];
    return NULL;
}
