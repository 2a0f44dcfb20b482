/* SPDX-License-Identifier: MIT */
/* `carry xstate`: picks a part from the table. */
#include "common/command.h"
#include "common/subcommand.h"
#include "xstate/parts.h"

static const struct subcommand parts[] = {
#define CARRY_XSTATE_PART(name, summary) {#name, "xstate " #name, summary, xstate_##name},
#include "xstate/parts.def"
#undef CARRY_XSTATE_PART
};

static const struct subcommands commands = {
    .kind = "part",
    .intro = "Usage: carry xstate PART [OPTION]...\n"
             "\n"
             "The vector state of x86-64: who leaves it dirty, and what that costs here.\n"
             "Registers of a component that is in use are saved and loaded at each switch.\n"
             "Dirty upper halves (AVX, ZMM_HI256) slow SSE code down, libm too, on CPUs that\n"
             "have a penalty for it, until something executes vzeroupper.\n"
             "\n"
             "Parts:\n",
    .outro = "\n"
             "carry xstate PART --help tells the options of one.\n"
             "\n"
             "Exit status of each part, unless it says more:\n"
             "  0  nothing wrong     1  dirty upper halves were found\n"
             "  3  wrong usage, the CPU is no x86-64, or a process may not be read\n"
             "\n"
             "Examples:\n"
             "  carry xstate who $(pidof server)\n"
             "  carry xstate cost\n"
             "  carry xstate prof -- ./server\n"
             "  carry xstate leavers -- ./server\n",
    .rows = parts,
    .count = sizeof parts / sizeof *parts,
};

int command_xstate(int argc, char **argv) {
    return subcommand_run(&commands, argc, argv);
}
