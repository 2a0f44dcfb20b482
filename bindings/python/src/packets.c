/* SPDX-License-Identifier: MIT */
/* Checksums of frames: <carry/packet.h>, for one frame and for many. */
#include "module.h"

#include <stdlib.h>

#include "packets.h"

/* --- One sum, as a named tuple --- */

#define SUM_FIELD(name, value, text) {#name, text},

static PyStructSequence_Field sum_fields[] = {
#include "packet_sum.def"
    {0},
};
#undef SUM_FIELD

#define SUM_FIELD(name, value, text) +1
static PyStructSequence_Desc sum_description = {
    "libcarry.PacketSum",
    "One checksum of a frame: where it is, what it holds, and its verdict.",
    sum_fields,
#include "packet_sum.def"
};
#undef SUM_FIELD

static PyObject *text_object(const char *name) {
    return PyUnicode_InternFromString(name);
}

static PyObject *number_object(uint32_t value) {
    return PyLong_FromUnsignedLong(value);
}

static PyObject *none_object(void) {
    Py_INCREF(Py_None);
    return Py_None;
}

PyObject *packet_sum_create(const struct module_state *state, const struct carry_packet_sum *sum) {
    PyObject *tuple = PyStructSequence_New(state->packet_sum);
    Py_ssize_t i = 0;
    if (!tuple)
        return NULL;
    const bool is_whole = true
#define SUM_FIELD(name, value, text) &&member_set(tuple, i++, value)
#include "packet_sum.def"
#undef SUM_FIELD
        ;
    if (!is_whole)
        Py_CLEAR(tuple);
    return tuple;
}

static PyObject *sums_list(const struct module_state *state, const struct carry_packet_sum *sums,
                           size_t count) {
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *sum = packet_sum_create(state, &sums[i]);
        if (!sum || PyList_SetItem(list, (Py_ssize_t)i, sum) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* --- One frame --- */

/* The type of carry_packet_check(), carry_packet_fix() and carry_packet_fill(). */
typedef size_t packet_fn(const struct carry_frame *frame,
                         const struct carry_packet_options *options, struct carry_packet_sum *sums,
                         size_t capacity);

/* The arguments of the functions in this file, except the bytes. */
struct request {
    uint32_t linktype;
    PyObject *wire; /* bytes on the wire: a number for one frame, or an array for many */
    unsigned flags, fix;
};

static PyObject *apply_to_frame(struct module_state *state, packet_fn *function,
                                const Py_buffer *bytes, const struct request *request) {
    const struct carry_packet_options options = {.flags = request->flags, .fix = request->fix};
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    uint64_t wire = (uint64_t)bytes->len;
    if (bytes->len > UINT32_MAX)
        return PyErr_Format(PyExc_ValueError, "a frame has at most %u bytes", UINT32_MAX);
    if (request->wire != Py_None && !argument_number(request->wire, "wire", UINT32_MAX, &wire))
        return NULL;
    const struct carry_frame frame = {bytes->buf, (uint32_t)bytes->len, (uint32_t)wire,
                                      request->linktype, 0};
    return sums_list(state, sums, function(&frame, &options, sums, CARRY_PACKET_SUMS_MAX));
}

/* Converts a link type, for "O&" of PyArg_ParseTuple(): "I" would truncate larger numbers. */
static int convert_linktype(PyObject *object, void *linktype) {
    uint64_t number;
    if (!argument_number(object, "linktype", UINT32_MAX, &number))
        return 0;
    *(uint32_t *)linktype = (uint32_t)number;
    return 1;
}

static PyObject *process_packet(PyObject *module, PyObject *arguments, packet_fn *function,
                                bool writes) {
    struct request request = {0};
    PyObject *data, *result;
    Py_buffer bytes;
    if (!PyArg_ParseTuple(arguments, "OO&OII", &data, convert_linktype, &request.linktype,
                          &request.wire, &request.flags, &request.fix) ||
        !(writes ? argument_writable : argument_bytes)(data, &bytes))
        return NULL;
    result = apply_to_frame(module_state(module), function, &bytes, &request);
    PyBuffer_Release(&bytes);
    return result;
}

static PyObject *packet_check(PyObject *module, PyObject *arguments) {
    return process_packet(module, arguments, carry_packet_check, false);
}

static PyObject *packet_fix(PyObject *module, PyObject *arguments) {
    return process_packet(module, arguments, carry_packet_fix, true);
}

static PyObject *packet_fill(PyObject *module, PyObject *arguments) {
    return process_packet(module, arguments, carry_packet_fill, true);
}

/* --- Many frames --- */

/* Sums of many frames, in the order of the frames. */
struct packet_sums {
    PyObject_HEAD;
    struct packet_sum_of {
        struct carry_packet_sum sum;
        uint64_t frame; /* index of the frame, from 0 */
    } * sums;
    size_t count, room;
};

static bool add_sums(struct packet_sums *all, const struct carry_packet_sum *sums, size_t count,
                     uint64_t frame) {
    if (all->count + count > all->room) {
        const size_t room = 2 * all->room + CARRY_PACKET_SUMS_MAX;
        struct packet_sum_of *more = realloc(all->sums, room * sizeof *more);
        if (!more)
            return false;
        all->sums = more;
        all->room = room;
    }
    for (size_t i = 0; i < count; i++)
        all->sums[all->count++] = (struct packet_sum_of){sums[i], frame};
    return true;
}

/* Applies a function to all frames, without the GIL. Returns false if there is no memory. */
static bool apply_to_frames(struct packet_sums *all, packet_fn *function, const struct runs *runs,
                            const struct numbers *wires, const struct request *request) {
    const struct carry_packet_options options = {.flags = request->flags, .fix = request->fix};
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct run run;
    for (Py_ssize_t i = 0; i < runs->count; i++) {
        run_at(runs, i, &run);
        const uint64_t wire = wires->count ? numbers_at(wires, i) : run.size;
        const struct carry_frame frame = {run.data, (uint32_t)run.size, (uint32_t)wire,
                                          request->linktype, 0};
        const size_t count = function(&frame, &options, sums, CARRY_PACKET_SUMS_MAX);
        if (!add_sums(all, sums, count, (uint64_t)i))
            return false;
    }
    return true;
}

static struct packet_sums *sums_create(const struct module_state *state) {
    struct packet_sums *all = PyObject_New(struct packet_sums, state->packet_sums);
    if (all) {
        all->sums = NULL;
        all->count = all->room = 0;
    }
    return all;
}

static PyObject *apply_to_runs(struct module_state *state, packet_fn *function,
                               const struct runs *runs, const struct request *request) {
    struct packet_sums *all = sums_create(state);
    struct numbers wires;
    bool done = false;
    if (!all || !numbers_open_for_each(&wires, request->wire, "wires", runs->count)) {
        Py_XDECREF((PyObject *)all);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    done = apply_to_frames(all, function, runs, &wires, request);
    Py_END_ALLOW_THREADS;
    numbers_close(&wires);
    if (done)
        return (PyObject *)all;
    Py_DECREF((PyObject *)all);
    return PyErr_NoMemory();
}

static PyObject *process_packets(PyObject *module, PyObject *arguments, packet_fn *function,
                                 bool writes) {
    struct request request = {0};
    PyObject *data, *offsets, *sizes, *result;
    struct runs runs;
    if (!PyArg_ParseTuple(arguments, "OOOO&OII", &data, &offsets, &sizes, convert_linktype,
                          &request.linktype, &request.wire, &request.flags, &request.fix) ||
        !runs_open(&runs, data, offsets, sizes, writes))
        return NULL;
    if (runs.bytes.len > UINT32_MAX)
        result =
            PyErr_Format(PyExc_ValueError, "a buffer of frames has at most %u bytes", UINT32_MAX);
    else
        result = apply_to_runs(module_state(module), function, &runs, &request);
    runs_close(&runs);
    return result;
}

static PyObject *packet_check_many(PyObject *module, PyObject *arguments) {
    return process_packets(module, arguments, carry_packet_check, false);
}

static PyObject *packet_fix_many(PyObject *module, PyObject *arguments) {
    return process_packets(module, arguments, carry_packet_fix, true);
}

static PyObject *packet_fill_many(PyObject *module, PyObject *arguments) {
    return process_packets(module, arguments, carry_packet_fill, true);
}

static PyObject *knows_link(PyObject *module, PyObject *argument) {
    uint64_t linktype;
    (void)module;
    return argument_number(argument, "linktype", UINT32_MAX, &linktype)
               ? PyBool_FromLong(carry_packet_knows_link((uint32_t)linktype))
               : NULL;
}

static void sums_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    free(((struct packet_sums *)self)->sums);
    PyObject_Free(self);
    Py_DECREF(type);
}

static Py_ssize_t sums_length(PyObject *self) {
    return (Py_ssize_t)((struct packet_sums *)self)->count;
}

/* Returns item `index`: (frame, PacketSum). */
static PyObject *sums_item(PyObject *self, Py_ssize_t index) {
    const struct packet_sums *all = (const struct packet_sums *)self;
    if (index < 0 || (size_t)index >= all->count) {
        PyErr_SetString(PyExc_IndexError, "there are fewer sums");
        return NULL;
    }
    const struct packet_sum_of *of = &all->sums[index];
    return Py_BuildValue("KN", (unsigned long long)of->frame,
                         packet_sum_create(module_state_of(Py_TYPE(self)), &of->sum));
}

/* Defines a function that returns one member of all sums, as an array. */
#define COLUMN(name, format, type, value)                                                          \
    static PyObject *column_##name(PyObject *self, void *closure) {                                \
        const struct packet_sums *all = (const struct packet_sums *)self;                          \
        void *numbers;                                                                             \
        (void)closure;                                                                             \
        PyObject *array = numbers_create(format, (Py_ssize_t)all->count, &numbers);                \
        for (size_t i = 0; array && i < all->count; i++)                                           \
            ((type *)numbers)[i] = (type)(all->sums[i].value);                                     \
        return array;                                                                              \
    }

COLUMN(frame, 'Q', uint64_t, frame)
COLUMN(protocol, 'B', uint8_t, sum.protocol)
COLUMN(verdict, 'B', uint8_t, sum.verdict)
COLUMN(reason, 'B', uint8_t, sum.reason)
COLUMN(offset, 'I', uint32_t, sum.field_offset)
COLUMN(stored, 'I', uint32_t, sum.stored)
COLUMN(expected, 'I', uint32_t, sum.expected)
#undef COLUMN

static PyGetSetDef sums_columns[] = {
    {"frame", column_frame, NULL, "Which frame each sum is of, from 0.", NULL},
    {"protocol", column_protocol, NULL, "The place of each sum's protocol in PROTOCOLS.", NULL},
    {"verdict", column_verdict, NULL, "The place of each sum's verdict in VERDICTS.", NULL},
    {"reason", column_reason, NULL, "The place of each sum's reason in REASONS.", NULL},
    {"offset", column_offset, NULL, "Where the field is in its frame.", NULL},
    {"stored", column_stored, NULL, "What the field holds, big-endian.", NULL},
    {"expected", column_expected, NULL, "What it should hold; 0 if that is not known.", NULL},
    {0},
};

static PyType_Slot sums_slots[] = {
    {Py_tp_doc, "Sums of many frames: a sequence of (frame, PacketSum), and arrays of columns."},
    {Py_tp_dealloc, sums_free},
    {Py_tp_getset, sums_columns},
    {Py_sq_length, sums_length},
    {Py_sq_item, sums_item},
    {0, NULL},
};

static PyType_Spec sums_spec = {
    .name = "libcarry.PacketSums",
    .basicsize = sizeof(struct packet_sums),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = sums_slots,
};

bool packet_types(PyObject *module, struct module_state *state) {
    state->packet_sum = PyStructSequence_NewType(&sum_description);
    state->packet_sums = module_type(module, &sums_spec, "PacketSums");
    return state->packet_sum && state->packet_sums &&
           PyModule_AddObjectRef(module, "PacketSum", (PyObject *)state->packet_sum) == 0;
}

#define METHOD(name)                                                                               \
    { #name, name, METH_VARARGS, NULL }

/* The functions that packets.py wraps, with their documentation and defaults; and knows_link(). */
PyMethodDef packet_methods[] = {
    METHOD(packet_check),
    METHOD(packet_fix),
    METHOD(packet_fill),
    METHOD(packet_check_many),
    METHOD(packet_fix_many),
    METHOD(packet_fill_many),
    {"knows_link", knows_link, METH_O,
     "knows_link(linktype, /)\n--\n\nTrue if packets of this LINKTYPE_ are examined."},
    {0},
};
#undef METHOD
