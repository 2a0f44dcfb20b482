/* SPDX-License-Identifier: MIT */
/*
 * Compares the code of kernels in memory with the rows of proof/kernels/proven.def, by digests of
 * canonical bytes. proof/kernels/digest.py describes the canonical bytes and the digests.
 */
#include "selftest/proof.h"

#include <stdio.h>
#include <string.h>

#include <carry/cpu.h>
#include <sha2.h>

#include "harness/bail.h"
#include "harness/fault.h"

#define NAME_SIZE 64

/* The bits of a little-endian word that a linker fills in, and how many bytes one unit of their
 * value means. */
#define WORD   0xffffffff, 1
#define BRANCH 0x03ffffff, 4

/* An address of AArch64 in two words: adrp contains its page, add the offset in the page. */
#define PAGE_BYTES 4096
#define PAGES_BITS 0x60ffffe0
#define LOW_BITS   0x003ffc00

/* A reference in the code to a function, or to a table of `size` bytes. */
struct field {
    uint32_t at;
    int32_t addend;
    uint32_t mask; /* 0 ends the list */
    int32_t unit;
    uint32_t size;
    const char *function;
    uint32_t low; /* the place of the second word of an address, or 0 */
};

#define TABLE(at, addend, bits, size)        {at, addend, bits, size, NULL, 0},
#define FUNCTION(at, addend, bits, function) {at, addend, bits, sizeof #function - 1, #function, 0},
#define PAGES(at, addend, low, size)         {at, addend, PAGES_BITS, PAGE_BYTES, size, NULL, low},
#define LOW(at)                              {at, 0, LOW_BITS, 1, 0, NULL, 0},

struct proven {
    const char *arch;
    const char *function;
    const char *by;
    uint32_t size;
    const char *digest;
    const struct field *fields;
};

#define CARRY_PROVEN(arch, function, by, size, digest, ...)                                        \
    {#arch, #function, by, size, digest, (const struct field[]){__VA_ARGS__{0}}},
static const struct proven proven[] = {
#include "kernels/proven.def"
};
#undef CARRY_PROVEN

/* --- Canonical bytes --- */

struct reading {
    const struct proof *proof;
    const struct proven *proven;
    const unsigned char *code;
    char digest[2 * SHA256_DIGEST_LENGTH + 1]; /* hexadecimal */
};

static void function_name(char name[NAME_SIZE], const struct carry_kernel_code *code) {
    snprintf(name, NAME_SIZE, "carry_%s_%s", code->form, code->kernel);
}

/* Returns whether the library's function of this name starts at `start`. */
static bool starts_at(const struct proof *proof, const char *function, const void *start) {
    char name[NAME_SIZE];
    for (size_t i = 0; i < proof->count; i++) {
        function_name(name, &proof->rows[i].code);
        if (strcmp(name, function) == 0)
            return proof->rows[i].code.start == start;
    }
    return false;
}

static uint32_t word_at(const unsigned char *code) {
    uint32_t word;
    memcpy(&word, code, sizeof word);
    return word;
}

/* Hashes words as they are in memory: all architectures with rows are little-endian. */
static void hash_words(SHA2_CTX *hash, const uint32_t *words, size_t count) {
    SHA256Update(hash, (const uint8_t *)words, count * sizeof *words);
}

static void hash_code(SHA2_CTX *hash, const struct reading *reading) {
    uint32_t done = 0;
    for (const struct field *field = reading->proven->fields; field->mask; field++) {
        const uint32_t rest = word_at(reading->code + field->at) & ~field->mask;
        SHA256Update(hash, reading->code + done, field->at - done);
        hash_words(hash, &rest, 1);
        done = field->at + sizeof rest;
    }
    SHA256Update(hash, reading->code + done, reading->proven->size - done);
}

static int64_t sign_extended(uint32_t value, uint32_t mask) {
    const int64_t sign = (mask >> 1) + 1;
    return ((value & mask) ^ sign) - sign;
}

static const unsigned char *paged_target(const struct field *field, const unsigned char *code) {
    const uint32_t word = word_at(code + field->at);
    const int64_t pages = sign_extended((word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3), 0x1fffff);
    const uint32_t low = (word_at(code + field->low) & LOW_BITS) >> 10;
    const unsigned char *place = code + field->at;
    return place - (uintptr_t)place % PAGE_BYTES + pages * PAGE_BYTES + low - field->addend;
}

/* Returns the address that a field refers to. */
static const unsigned char *field_target(const struct field *field, const unsigned char *code) {
    if (field->low)
        return paged_target(field, code);
    const int64_t value = sign_extended(word_at(code + field->at), field->mask);
    return code + field->at + value * field->unit - field->addend;
}

static void hash_field(SHA2_CTX *hash, const struct reading *reading, const struct field *field) {
    const unsigned char *to = field_target(field, reading->code);
    const uint32_t head[] = {field->at, (uint32_t)field->addend, field->function != NULL,
                             field->size};
    hash_words(hash, head, sizeof head / sizeof *head);
    if (field->low)
        hash_words(hash, &field->low, 1);
    if (!field->function)
        SHA256Update(hash, to, field->size);
    else if (starts_at(reading->proof, field->function, to))
        SHA256Update(hash, (const uint8_t *)field->function, field->size);
}

static void hash_all(void *argument) {
    struct reading *reading = argument;
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA2_CTX hash;
    SHA256Init(&hash);
    hash_code(&hash, reading);
    for (const struct field *field = reading->proven->fields; field->mask; field++)
        hash_field(&hash, reading, field);
    SHA256Final(digest, &hash);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(reading->digest + 2 * i, 3, "%02x", digest[i]);
}

/* Returns whether the code at `start` is the code of a row. Catches faults, as the fields of other
 * code may refer to any address. */
static bool is_proven(const struct proof *proof, const struct proven *row, const void *start) {
    struct reading reading = {.proof = proof, .proven = row, .code = start};
    struct fault fault;
    return fault_catch(hash_all, &reading, &fault) && strcmp(reading.digest, row->digest) == 0;
}

/* --- The comparison --- */

static void compare_row(const struct proof *proof, struct proof_row *row) {
    char name[NAME_SIZE];
    function_name(name, &row->code);
    for (size_t i = 0; i < sizeof proven / sizeof *proven; i++) {
        const struct proven *other = &proven[i];
        if (strcmp(other->arch, carry_cpu_arch()) || strcmp(other->function, name))
            continue;
        row->state = PROOF_DIFFERENT;
        if (!is_proven(proof, other, row->code.start))
            continue;
        row->state = PROOF_PROVEN;
        row->by = other->by;
        row->size = other->size;
        return;
    }
}

static void add_kernel_codes(struct proof *proof, __typeof__(carry_sum_kernel_code) *list) {
    struct carry_kernel_code code;
    for (size_t i = 0; list(i, &code); i++) {
        if (proof->count == PROOF_ROWS_MAX)
            bail_out("too many kernels");
        proof->rows[proof->count++] = (struct proof_row){.code = code};
    }
}

bool proof_compare(const struct library *library, struct proof *proof) {
    *proof = (struct proof){.count = 0};
    add_kernel_codes(proof, library->carry_sum_kernel_code);
    add_kernel_codes(proof, library->carry_crc32c_kernel_code);
    add_kernel_codes(proof, library->carry_copy_kernel_code);
    for (size_t i = 0; i < proof->count; i++) {
        compare_row(proof, &proof->rows[i]);
        proof->states[proof->rows[i].state]++;
    }
    return true;
}
