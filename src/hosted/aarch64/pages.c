/* SPDX-License-Identifier: MIT */
/*
 * The protection of text. Pages may demand that indirect branches arrive at landing pads (BTI). The
 * dynamic linker, and Linux for programs without one, enables this if the object declares that it
 * has landing pads (ABI for the Arm 64-bit Architecture, "ELF", program property) and the CPU
 * supports BTI.
 */
#include "hosted/hosted_patch.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#ifndef PROT_BTI
#define PROT_BTI 0x10
#endif
#ifndef HWCAP2_BTI
#define HWCAP2_BTI (1 << 17)
#endif

/* A note with the name "GNU", followed by properties, each padded to a multiple of 8 bytes. */
#define HEAD_BYTES     (sizeof(Elf64_Nhdr) + sizeof "GNU")
#define PROPERTY_BYTES (2 * sizeof(uint32_t))
#define FEATURE_1_AND  UINT32_C(0xc0000000)
#define FEATURE_1_BTI  UINT32_C(1)

struct property {
    uint32_t type;
    uint32_t size;
    uint32_t features;
};

static bool has_pads(const uint8_t *properties, size_t size) {
    for (size_t at = 0; at < size && size - at >= sizeof(struct property);) {
        struct property property;
        memcpy(&property, properties + at, sizeof property);
        if (property.type == FEATURE_1_AND)
            return property.features & FEATURE_1_BTI;
        at += PROPERTY_BYTES + (property.size + UINT64_C(7)) / 8 * 8;
    }
    return false;
}

static bool demands_pads(const void *notes, size_t size) {
    Elf64_Nhdr head;
    if (!notes || size < HEAD_BYTES)
        return false;
    memcpy(&head, notes, sizeof head);
    return head.n_type == NT_GNU_PROPERTY_TYPE_0 && head.n_namesz == sizeof "GNU" &&
           has_pads((const uint8_t *)notes + HEAD_BYTES, size - HEAD_BYTES);
}

int carry_pages_protection(const void *properties, size_t size) {
    const bool guarded = getauxval(AT_HWCAP2) & HWCAP2_BTI && demands_pads(properties, size);
    return PROT_READ | PROT_EXEC | (guarded ? PROT_BTI : 0);
}
