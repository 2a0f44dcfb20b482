/* SPDX-License-Identifier: MIT */
#include "harness/sandbox.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#define RULE_STEPS 6
#define RULES_MAX  16

/* Arguments have 64 bits; rules check the lower half. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOWER_HALF 0
#else
#define LOWER_HALF 4
#endif

static void add_rule(struct sock_filter *filter, const struct sandbox_rule *rule) {
    uint32_t argument = (uint32_t)offsetof(struct seccomp_data, args) + 8 * rule->argument;
    const struct sock_filter steps[RULE_STEPS] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)rule->call, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument + LOWER_HALF),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, rule->mask),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rule->value, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)rule->error),
    };
    for (size_t i = 0; i < RULE_STEPS; i++)
        filter[i] = steps[i];
}

bool sandbox_filter(const struct sandbox_rule *rules, size_t count) {
    struct sock_filter filter[RULES_MAX * RULE_STEPS + 1];
    if (count > RULES_MAX)
        return false;
    for (size_t i = 0; i < count; i++)
        add_rule(filter + i * RULE_STEPS, &rules[i]);
    filter[count * RULE_STEPS] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {(unsigned short)(count * RULE_STEPS + 1), filter};
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
