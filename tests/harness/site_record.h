/* SPDX-License-Identifier: MIT */
/* Makes records of sites at run time, as compilers do: with distances from the record. */
#ifndef CARRY_TESTS_HARNESS_SITE_RECORD_H
#define CARRY_TESTS_HARNESS_SITE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include <carry/patch.h>

static inline int32_t site_record_distance(const int32_t *here, uintptr_t target) {
    return (int32_t)(intptr_t)(target - (uintptr_t)here);
}

static inline void site_record_make(struct carry_site *record, enum carry_site_kind kind,
                                    uintptr_t address, uintptr_t key, const uint8_t *aux,
                                    size_t length, unsigned flags) {
    record->site = site_record_distance(&record->site, address);
    record->key = site_record_distance(&record->key, key);
    record->aux = site_record_distance(&record->aux, (uintptr_t)aux);
    record->kind = (uint8_t)kind;
    record->length = (uint8_t)length;
    record->flags = (uint8_t)flags;
    record->version = CARRY_SITE_VERSION;
}

#endif
