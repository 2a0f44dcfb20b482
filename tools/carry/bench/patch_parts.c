/* SPDX-License-Identifier: MIT */
/* Writes instructions and records of texts, for all architectures. */
#include "bench/patch_code.h"

#include <string.h>

void patch_put(struct patch_maker *maker, const void *bytes, size_t size) {
    memcpy(maker->memory + maker->at, bytes, size);
    maker->at += size;
}

size_t patch_callee_at(const struct patch_maker *maker, size_t index) {
    return maker->layout.callees + index % maker->callee_count * PATCH_LINE_BYTES;
}

size_t patch_line_at(const struct patch_maker *maker, size_t index) {
    return maker->layout.lines + index % maker->line_count * PATCH_LINE_BYTES;
}

size_t patch_stub_at(const struct patch_maker *maker, size_t index) {
    return maker->layout.stubs + index * PATCH_LINE_BYTES;
}

void patch_put_record_of(struct patch_maker *maker, struct carry_site record, size_t site,
                         size_t key, size_t aux) {
    size_t at = maker->layout.records + maker->record_count++ * sizeof record;
    record.site = (int32_t)(site - (at + offsetof(struct carry_site, site)));
    record.key = (int32_t)(key - (at + offsetof(struct carry_site, key)));
    record.aux = (int32_t)(aux - (at + offsetof(struct carry_site, aux)));
    record.version = CARRY_SITE_VERSION;
    memcpy(maker->memory + at, &record, sizeof record);
}

void patch_put_record(struct patch_maker *maker, struct carry_site record, size_t key, size_t aux) {
    patch_put_record_of(maker, record, maker->at, key, aux);
}
