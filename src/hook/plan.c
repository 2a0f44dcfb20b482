/* SPDX-License-Identifier: MIT */
/* Attaching to calls and entries alike: which places match, and plans. */
#include "hook/hook_internal.h"

/* --- Matching --- */

bool carry_is_same(const char *a, const char *b) {
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static const char *last_part(const char *path) {
    const char *part = path;
    for (; *path; path++)
        if (*path == '/')
            part = path + 1;
    return part;
}

bool carry_hook_matches(const struct carry_hook *hook, const struct carry_hook_place *place) {
    return (!hook->object || carry_is_same(hook->object, place->object) ||
            (*hook->object && carry_is_same(hook->object, last_part(place->object)))) &&
           (!hook->symbol || carry_is_same(hook->symbol, place->symbol)) &&
           (!hook->wants || hook->wants(place, hook->user));
}

int carry_hook_check(const struct carry_hook *hook) {
    if (!carry_stub_supported())
        return CARRY_ERROR_UNSUPPORTED;
    if ((!hook->enter && !hook->leave) || hook->stack_words > CARRY_STACK_WORDS_MAX)
        return CARRY_ERROR_INVALID;
    return carry_thunk_prepare();
}

/* --- Plans --- */

void carry_plan_start(struct carry_hook_plan *plan) {
    *plan = (struct carry_hook_plan){.first = NULL};
    plan->end = &plan->first;
}

void carry_plan_add(struct carry_hook_plan *plan, struct carry_hook_point *point,
                    const struct carry_hook *hook) {
    carry_point_set(point, hook);
    point->next = NULL;
    point->planned = true;
    *plan->end = point;
    plan->end = &point->next;
    plan->count++;
}

int carry_plan_finish(struct carry_hook_plan *plan, struct carry_hook *hook, int error) {
    for (struct carry_hook_point *point = plan->first; point; point = point->next) {
        point->planned = false;
        if (!error)
            carry_point_start(point);
    }
    hook->skipped = plan->skipped;
    if (!error && !plan->count && !plan->present)
        error = plan->skipped ? CARRY_ERROR_BUSY : CARRY_ERROR_UNKNOWN;
    if (error)
        return error;
    *plan->end = hook->points;
    hook->points = plan->first;
    hook->attached += plan->count;
    return CARRY_OK;
}
