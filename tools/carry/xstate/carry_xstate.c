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
             "Finds code that leaves vector registers of x86-64 dirty, and measures the cost.\n"
             "Each context switch saves and loads the registers of all components in use. On\n"
             "some CPUs dirty upper halves (AVX, ZMM_HI256) slow down SSE code, such as libm,\n"
             "until something executes vzeroupper.\n"
             "\n"
             "Parts:\n",
    .outro = "\n"
             "carry xstate PART --help lists the options of a part.\n"
             "\n"
             "Exit status, except where the help of a part differs:\n"
             "  0  nothing wrong     1  dirty upper halves were found\n"
             "  3  wrong usage, not an x86-64 CPU, or no permission to read a process\n"
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
