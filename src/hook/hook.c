/* SPDX-License-Identifier: MIT */
/* Hooks of calls and entries alike: detaching, and lists of places. */
#include "hook/hook_internal.h"

/* --- Detaching --- */

/*
 * Disables the callbacks of points and restores their places. Sets `planned`, which reserves the
 * points until free_points(). Returns 0 or an error.
 */
static int stop_points(struct carry_hook_point *points) {
    carry_host_text()->lock();
    for (struct carry_hook_point *point = points; point; point = point->next) {
        carry_point_stop(point);
        point->planned = true;
    }
    int error_of_calls = carry_slots_restore(points);
    int error_of_entries = carry_entries_restore(points);
    carry_host_text()->unlock();
    return error_of_calls ? error_of_calls : error_of_entries;
}

static void free_points(struct carry_hook_point *points) {
    for (const struct carry_hook_point *point = points; point; point = point->next)
        carry_point_wait(point);
    carry_host_text()->lock();
    for (struct carry_hook_point *point = points; point; point = point->next)
        point->planned = false;
    carry_host_text()->unlock();
}

int carry_hook_detach(struct carry_hook *hook) {
    carry_host_hook_thread.inside = true;
    int error = stop_points(hook->points);
    free_points(hook->points);
    hook->points = NULL;
    hook->attached = 0;
    for (struct carry_host_objects *next; hook->objects; hook->objects = next) {
        next = hook->objects->next;
        carry_host_hook()->release_all(hook->objects);
    }
    carry_host_hook_thread.inside = false;
    return error;
}

/* --- Lists --- */

int carry_hook_places(bool (*tell)(const struct carry_hook_place *place, void *user), void *user) {
    bool wants_more = true;
    if (!carry_stub_supported())
        return CARRY_ERROR_UNSUPPORTED;
    int error = carry_call_places(tell, user, &wants_more);
    if (error)
        return error;
    carry_host_text()->lock();
    carry_entry_places(tell, user, &wants_more);
    carry_host_text()->unlock();
    return CARRY_OK;
}
