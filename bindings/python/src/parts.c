/* SPDX-License-Identifier: MIT */
#include "parts.h"

#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "result.h"

/* --- Packets as bytes: the structure of each packet, then its bytes --- */

bool relatives_add(struct relatives *relatives, const struct carry_capture_packet *packet) {
    struct heap *heap = &relatives->heap;
    const size_t size = sizeof *packet + packet->captured;
    struct carry_capture_packet bare = *packet;
    bare.data = NULL;
    relatives->is_full = heap->size + size > relatives->most ||
                         !heap_append(heap, &bare, sizeof bare) ||
                         !heap_append(heap, packet->data, packet->captured);
    return !relatives->is_full;
}

/* Reads a packet from the bytes and skips it; returns false if the bytes are truncated. */
static bool read_packet(struct run *bytes, struct carry_capture_packet *packet) {
    if (bytes->size < sizeof *packet)
        return false;
    memcpy(packet, bytes->data, sizeof *packet);
    packet->data = bytes->data + sizeof *packet;
    if (bytes->size - sizeof *packet < packet->captured)
        return false;
    bytes->data = packet->data + packet->captured;
    bytes->size -= sizeof *packet + packet->captured;
    return true;
}

/* --- Checking related packets --- */

#define PACKETS_AT_ONCE 128

/* The packets of a part, and the position of the part in the capture. */
struct part {
    Py_buffer bytes;
    unsigned long long packets; /* number of packets before the part */
    unsigned long long offset;  /* number to add to offsets in the part */
};

/* Adds some packets to the check. Returns true if no packets remain, or if *code is an error. */
static bool add_some_packets(struct carry_capture_checker *checker, const struct part *part,
                             struct run *bytes, int *code) {
    struct carry_capture_packet packets[PACKETS_AT_ONCE];
    size_t count = 0;
    for (; count < PACKETS_AT_ONCE && bytes->size; count++) {
        if (!read_packet(bytes, &packets[count])) {
            *code = CARRY_ERROR_DAMAGED;
            return true;
        }
        packets[count].number += part->packets;
        packets[count].offset += part->offset;
    }
    *code = carry_capture_checker_add(checker, packets, count);
    return *code != CARRY_OK || !bytes->size;
}

static int add_part(struct carry_capture_checker *checker, const struct part *part) {
    struct run bytes = {part->bytes.buf, (size_t)part->bytes.len};
    int code;
    Py_BEGIN_ALLOW_THREADS;
    while (!add_some_packets(checker, part, &bytes, &code))
        ;
    Py_END_ALLOW_THREADS;
    return code;
}

/* Adds the packets of a tuple to the check. Returns false, with an exception set, if that fails. */
static bool add_part_tuple(struct carry_capture_checker *checker, PyObject *tuple) {
    struct part part;
    if (!PyArg_ParseTuple(tuple, "y*KK", &part.bytes, &part.packets, &part.offset))
        return false;
    const int code = add_part(checker, &part);
    PyBuffer_Release(&part.bytes);
    if (code == CARRY_ERROR_DAMAGED)
        PyErr_SetString(PyExc_ValueError, "the bytes of related packets are cut");
    else if (code != CARRY_OK)
        PyErr_NoMemory();
    return code == CARRY_OK;
}

static bool add_parts(struct carry_capture_checker *checker, PyObject *parts) {
    const Py_ssize_t count = PyList_Size(parts);
    for (Py_ssize_t i = 0; i < count; i++)
        if (!add_part_tuple(checker, PyList_GetItem(parts, i)))
            return false;
    return true;
}

static bool check_parts(const struct carry_capture_check_options *options,
                        struct carry_capture_summary *summary, PyObject *parts) {
    struct carry_capture_checker *checker;
    int code = carry_capture_checker_create(options, &checker);
    if (code == CARRY_OK)
        code = carry_capture_checker_begin(checker, summary);
    if (code != CARRY_OK)
        PyErr_NoMemory();
    const bool done = code == CARRY_OK && add_parts(checker, parts);
    if (done)
        carry_capture_checker_end(checker);
    carry_capture_checker_free(checker);
    return done;
}

/* Implements check_related(list of (bytes, packets before, offset), wrong, listed, kept, flags,
   alone, name). */
static PyObject *check_related(PyObject *module, PyObject *arguments) {
    struct carry_capture_check_options options = {.threads = 1};
    PyObject *parts;
    const char *name;
    int alone;
    if (!PyArg_ParseTuple(arguments, "O!IIIIps", &PyList_Type, &parts, &options.wrong,
                          &options.listed, &options.kept, &options.packet.flags, &alone, &name))
        return NULL;
    options.alone = alone;
    struct carry_capture_summary *summary = carry_capture_summary_create();
    if (!summary)
        return PyErr_NoMemory();
    if (!check_parts(&options, summary, parts)) {
        carry_capture_summary_free(summary);
        return NULL;
    }
    struct found *found = found_create(summary, name);
    if (!found)
        return PyErr_NoMemory();
    found->wrong = options.wrong;
    found->listed = options.listed;
    return result_create(module_state(module), found);
}

PyMethodDef part_methods[] = {
    {"check_related", check_related, METH_VARARGS, NULL},
    {0},
};
