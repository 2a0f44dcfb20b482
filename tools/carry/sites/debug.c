/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sites/debug.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEBUG_FOLDER  "/usr/lib/debug"
#define CRC_BYTES     4
#define BUILD_ID_TYPE 3 /* NT_GNU_BUILD_ID */

/* --- Links to the debug file --- */

/* Reads a section .gnu_debuglink: a name without a folder, then the CRC, aligned to four bytes. */
static void read_debug_name(struct debug_link *link, const Elf_Data *data) {
    const uint8_t *bytes = data->d_buf;
    size_t length = bytes ? strnlen(data->d_buf, data->d_size) : 0;
    size_t crc_at = (length + CRC_BYTES) / CRC_BYTES * CRC_BYTES;
    if (!length || length >= DEBUG_NAME_SIZE || memchr(bytes, '/', length) ||
        crc_at + CRC_BYTES > data->d_size)
        return;
    memcpy(link->name, bytes, length + 1);
    for (size_t i = 0; i < CRC_BYTES; i++)
        link->crc |= (uint32_t)bytes[crc_at + i] << 8 * i;
}

static void read_notes(struct debug_link *link, Elf_Data *data) {
    GElf_Nhdr note;
    size_t name, id;
    for (size_t at = 0, next; (next = gelf_getnote(data, at, &note, &name, &id)) > 0; at = next) {
        const char *bytes = data->d_buf;
        if (note.n_type == BUILD_ID_TYPE && note.n_namesz == sizeof "GNU" &&
            memcmp(bytes + name, "GNU", sizeof "GNU") == 0 && note.n_descsz > 1 &&
            note.n_descsz <= DEBUG_BUILD_ID_SIZE) {
            memcpy(link->build_id, bytes + id, note.n_descsz);
            link->build_id_size = note.n_descsz;
        }
    }
}

void debug_link_read(struct debug_link *link, Elf_Scn *section, const char *name) {
    bool is_name = strcmp(name, ".gnu_debuglink") == 0;
    bool is_note = strcmp(name, ".note.gnu.build-id") == 0;
    Elf_Data *data = is_name   ? elf_rawdata(section, NULL)
                     : is_note ? elf_getdata(section, NULL)
                               : NULL;
    if (data && is_name && !*link->name)
        read_debug_name(link, data);
    else if (data && is_note)
        read_notes(link, data);
}

/* --- Places --- */

enum place { BY_BUILD_ID, BESIDE, IN_FOLDER, BELOW_DEBUG_FOLDER };

static char *path_by_build_id(const struct debug_link *link, const char *root) {
    char *path = NULL, hex[2 * DEBUG_BUILD_ID_SIZE + 1] = "";
    for (size_t i = 0; i < link->build_id_size; i++)
        snprintf(hex + 2 * i, 3, "%02x", link->build_id[i]);
    if (!link->build_id_size ||
        asprintf(&path, "%s" DEBUG_FOLDER "/.build-id/%.2s/%s.debug", root, hex, hex + 2) < 0)
        return NULL;
    return path;
}

/* Returns the path of a debug file by its name. If `root` is not "", `path` lies in it and contains
 * no symbolic links. */
static char *path_by_name(const struct debug_link *link, const char *root, const char *path,
                          enum place place) {
    static const char *const before[] = {
        [BESIDE] = "", [IN_FOLDER] = "", [BELOW_DEBUG_FOLDER] = DEBUG_FOLDER};
    char *whole = *root ? strdup(path) : realpath(path, NULL);
    char *slash = whole ? strrchr(whole, '/') : NULL;
    char *found = NULL;
    if (slash && *link->name &&
        asprintf(&found, "%s%s%.*s/%s%s", root, before[place], (int)(slash - whole), whole,
                 place == IN_FOLDER ? ".debug/" : "", link->name) < 0)
        found = NULL;
    free(whole);
    return found;
}

char *debug_link_place(const struct debug_link *link, const char *root, const char *path,
                       size_t index) {
    return index == BY_BUILD_ID ? path_by_build_id(link, root)
                                : path_by_name(link, root, path, index);
}

/* --- Verification --- */

/* Continues the CRC of Ethernet (IEEE 802.3, 3.2.9), which zlib's crc32() also computes. */
static uint32_t crc_of(uint32_t crc, const uint8_t *bytes, size_t size) {
    static uint32_t table[256];
    for (uint32_t i = 0; !table[255] && i < 256; i++) {
        uint32_t row = i;
        for (int bit = 0; bit < 8; bit++)
            row = row >> 1 ^ (row & 1 ? 0xedb88320 : 0);
        table[i] = row;
    }
    for (size_t i = 0; i < size; i++)
        crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
    return crc;
}

static bool has_crc(int file, uint32_t crc) {
    uint8_t bytes[65536];
    uint32_t sum = UINT32_MAX;
    ssize_t size;
    for (off_t at = 0; (size = pread(file, bytes, sizeof bytes, at)) > 0; at += size)
        sum = crc_of(sum, bytes, (size_t)size);
    return size == 0 && ~sum == crc;
}

bool debug_link_matches(const struct debug_link *link, const struct debug_link *own, int file,
                        size_t index) {
    if (index != BY_BUILD_ID)
        return has_crc(file, link->crc);
    return link->build_id_size == own->build_id_size &&
           memcmp(link->build_id, own->build_id, own->build_id_size) == 0;
}
