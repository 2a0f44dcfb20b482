/* SPDX-License-Identifier: MIT */
/*
 * Checks, reads and repairs captures from paths, bytes and file objects, without the GIL; callbacks
 * acquire it while they call Python.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "errors.h"
#include "heap.h"
#include "parts.h"
#include "result.h"

#include "check/fix_report.h"
#include "check/source.h"
#include "common/file_name.h"

/* The number of objects that PyErr_Fetch() stores: type, value and traceback. */
#define KEPT 3

struct capture {
    PyObject_HEAD;
    struct carry_capture *capture; /* NULL: closed */
    PyObject *name;                /* shown in messages */
    Py_buffer bytes;               /* the capture, if it is in memory */
    PyObject *read;                /* read(size) of a file object, or NULL */
    PyObject *rewind;              /* rewinds the file object; NULL: it cannot be rewound */
    bool is_busy;                  /* a function of the library runs */
    PyThreadState *thread;         /* the calling thread, while it has released the GIL */
    PyObject *error[KEPT];         /* the exception that a callback raised */
    PyObject *progress;            /* function to call with the progress, or NULL */
    struct relatives *relatives;   /* on_related_packet() adds to it */
    PyObject *write;               /* write(bytes) of the target of a copy, or NULL */
    uint64_t last;                 /* when progress and signals were last due, in ns */
    bool waits;                    /* reading may wait for a writer */
};

/* --- The GIL --- */

static void release_gil(struct capture *self) {
    self->thread = PyEval_SaveThread();
}

static void acquire_gil(struct capture *self) {
    PyEval_RestoreThread(self->thread);
}

/* Keeps the exception until the library has returned; drops it if one is already kept. */
static void keep_exception(struct capture *self) {
    if (!self->error[0])
        PyErr_Fetch(&self->error[0], &self->error[1], &self->error[2]);
    else
        PyErr_Clear();
}

/* Raises the exception of a callback again; returns false if there is none. */
static bool raise_kept_exception(struct capture *self) {
    if (!self->error[0])
        return false;
    PyErr_Restore(self->error[0], self->error[1], self->error[2]);
    memset(self->error, 0, sizeof self->error);
    return true;
}

/* Checks that the capture is open, and that no call uses it. If not, sets an exception and returns
   false. */
static bool check_usable(const struct capture *self) {
    if (!self->is_busy && self->capture)
        return true;
    PyErr_SetString(self->is_busy ? PyExc_RuntimeError : PyExc_ValueError,
                    self->is_busy ? "the capture is in use by another call"
                                  : "the capture is closed");
    return false;
}

static void begin_call(struct capture *self) {
    self->is_busy = true;
    self->last = 0;
    release_gil(self);
}

static void end_call(struct capture *self) {
    acquire_gil(self);
    self->is_busy = false;
}

/* --- Reading from a file object --- */

/* Copies the bytes that read() returned. Returns their number, or -1 with an exception set. */
static int64_t copy_read_bytes(PyObject *read, void *buffer, size_t size) {
    Py_buffer bytes;
    if (read == Py_None) {
        PyErr_SetString(PyExc_BlockingIOError, "the file object has no bytes yet: it must wait");
        return -1;
    }
    if (!argument_bytes(read, &bytes))
        return -1;
    const int64_t count = bytes.len;
    if ((size_t)count <= size)
        memcpy(buffer, bytes.buf, (size_t)count);
    else
        PyErr_Format(PyExc_ValueError, "read(%zu) returned %zd bytes", size, bytes.len);
    PyBuffer_Release(&bytes);
    return PyErr_Occurred() ? -1 : count;
}

static int64_t read_object(void *user, void *buffer, size_t size) {
    struct capture *self = user;
    int64_t count = -1;
    acquire_gil(self);
    PyObject *read = PyObject_CallFunction(self->read, "n", (Py_ssize_t)size);
    if (read)
        count = copy_read_bytes(read, buffer, size);
    Py_XDECREF(read);
    if (count < 0)
        keep_exception(self);
    release_gil(self);
    return count < 0 ? -EIO : count;
}

static int rewind_object(void *user) {
    struct capture *self = user;
    acquire_gil(self);
    PyObject *at = PyObject_CallNoArgs(self->rewind);
    if (!at)
        keep_exception(self);
    const bool done = at;
    Py_XDECREF(at);
    release_gil(self);
    return done ? 0 : -EIO;
}

/* --- Opening --- */

static struct capture *create_capture(struct module_state *state, PyObject *name) {
    struct capture *self = PyObject_GC_New(struct capture, state->capture);
    if (!self)
        return NULL;
    memset((char *)self + sizeof(PyObject), 0, sizeof *self - sizeof(PyObject));
    Py_INCREF(name);
    self->name = name;
    PyObject_GC_Track((PyObject *)self);
    return self;
}

static PyObject *finish_open(struct module_state *state, struct capture *self,
                             const struct carry_capture_error *error) {
    if (self->capture) {
        self->waits = !carry_capture_can_rewind(self->capture);
        return (PyObject *)self;
    }
    errors_raise(state, error, self->name, NULL);
    Py_DECREF(self);
    return NULL;
}

/* Implements open_path(path of a regular file as bytes, name). */
static PyObject *open_path_capture(PyObject *module, PyObject *arguments) {
    struct carry_capture_error error;
    const char *path;
    PyObject *name;
    if (!PyArg_ParseTuple(arguments, "yO", &path, &name))
        return NULL;
    struct capture *self = create_capture(module_state(module), name);
    if (!self)
        return NULL;
    carry_capture_open_path(path, &self->capture, &error);
    return finish_open(module_state(module), self, &error);
}

/* Implements open_bytes(bytes, name). */
static PyObject *open_bytes_capture(PyObject *module, PyObject *arguments) {
    struct carry_capture_error error;
    PyObject *bytes, *name;
    if (!PyArg_ParseTuple(arguments, "OO", &bytes, &name))
        return NULL;
    struct capture *self = create_capture(module_state(module), name);
    if (!self)
        return NULL;
    if (!argument_bytes(bytes, &self->bytes)) {
        Py_DECREF(self);
        return NULL;
    }
    carry_capture_open_memory(self->bytes.buf, (size_t)self->bytes.len, &self->capture, &error);
    return finish_open(module_state(module), self, &error);
}

/* Implements open_object(function that reads, name, function that rewinds or None, size of the file
   or 0). */
static PyObject *open_object_capture(PyObject *module, PyObject *arguments) {
    struct carry_capture_error error;
    PyObject *read, *name, *rewind;
    unsigned long long size;
    if (!PyArg_ParseTuple(arguments, "OOOK", &read, &name, &rewind, &size))
        return NULL;
    struct capture *self = create_capture(module_state(module), name);
    if (!self)
        return NULL;
    self->read = Py_NewRef(read);
    self->rewind = rewind == Py_None ? NULL : Py_NewRef(rewind);
    carry_capture_open_source(
        &(struct carry_capture_source){
            read_object, rewind == Py_None ? NULL : rewind_object, self, size, {0}},
        &self->capture, &error);
    return finish_open(module_state(module), self, &error);
}

static void close_capture(struct capture *self) {
    carry_capture_close(self->capture);
    self->capture = NULL;
    PyBuffer_Release(&self->bytes);
    Py_CLEAR(self->read);
    Py_CLEAR(self->rewind);
    for (size_t i = 0; i < KEPT; i++)
        Py_CLEAR(self->error[i]);
}

static PyObject *capture_close(PyObject *object, PyObject *none) {
    struct capture *self = (struct capture *)object;
    (void)none;
    if (self->is_busy && !check_usable(self))
        return NULL;
    close_capture(self);
    Py_RETURN_NONE;
}

/* Visits the objects that a capture refers to: a file object may refer to the frames that are read
   from it, and so to its capture. */
static int capture_traverse(PyObject *object, visitproc visit, void *arg) {
    const struct capture *self = (const struct capture *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->name);
    Py_VISIT(self->bytes.obj);
    Py_VISIT(self->read);
    Py_VISIT(self->rewind);
    for (size_t i = 0; i < KEPT; i++)
        Py_VISIT(self->error[i]);
    return 0;
}

static int capture_clear(PyObject *object) {
    close_capture((struct capture *)object);
    return 0;
}

static void capture_free(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    struct capture *self = (struct capture *)object;
    PyObject_GC_UnTrack(object);
    close_capture(self);
    Py_CLEAR(self->name);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

/* --- Progress and signals --- */

#define LOOK_NS 50000000

static uint64_t monotonic_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Checks whether progress and signals are due: often enough for Ctrl-C, but rarely enough not to
   wait for the GIL all the time. They are always due if a signal may have interrupted a wait. */
static bool is_progress_due(struct capture *self) {
    const uint64_t now = monotonic_ns();
    if (!self->waits && now - self->last < LOOK_NS)
        return false;
    self->last = now;
    return true;
}

static bool call_progress(const struct capture *self,
                          const struct carry_capture_progress *progress) {
    if (!self->progress)
        return true;
    PyObject *result = PyObject_CallFunction(
        self->progress, "KKK", (unsigned long long)progress->position,
        (unsigned long long)progress->packets, (unsigned long long)progress->wrong);
    Py_XDECREF(result);
    return result;
}

static bool on_progress(void *user, const struct carry_capture_progress *progress) {
    struct capture *self = user;
    if (!is_progress_due(self))
        return true;
    acquire_gil(self);
    const bool goes_on = PyErr_CheckSignals() == 0 && call_progress(self, progress);
    if (!goes_on)
        keep_exception(self);
    release_gil(self);
    return goes_on;
}

/* --- Checking --- */

/* Returns a Result, or raises the exception of a callback or the error of the library. Damage is
   raised only if `raises`. */
static PyObject *finish_check(struct capture *self, struct module_state *state, struct found *found,
                              int code, bool raises) {
    if (raise_kept_exception(self)) {
        found_release(found);
        return NULL;
    }
    if (code != CARRY_OK) {
        found->error = code == CARRY_ERROR_MEMORY || code == CARRY_ERROR_INVALID
                           ? (struct carry_capture_error){.code = code}
                           : source_error(self->capture);
        if (!source_is_damaged(code))
            raises = true;
    }
    const struct carry_capture_error error = found->error;
    PyObject *result = result_create(state, found);
    if (result && code != CARRY_OK && raises) {
        errors_raise(state, &error, self->name, result);
        Py_CLEAR(result);
    }
    return result;
}

/* Stores the protocols of a tuple of numbers. Returns their number, or -1 with an exception set. */
static Py_ssize_t get_protocols(PyObject *tuple, enum carry_protocol *protocols) {
    const Py_ssize_t count = PyTuple_Size(tuple);
    for (Py_ssize_t i = 0; i < count && i < CARRY_PROTOCOL_COUNT; i++) {
        uint64_t number;
        if (!argument_number(PyTuple_GetItem(tuple, i), "protocol", CARRY_PROTOCOL_COUNT - 1,
                             &number))
            return -1;
        protocols[i] = (enum carry_protocol)number;
    }
    return count < CARRY_PROTOCOL_COUNT ? count : CARRY_PROTOCOL_COUNT;
}

/* Checks like carry_capture_check(), but reuses the summary of an earlier check if there is one. */
static int check_reusing_summary(struct carry_capture *capture,
                                 const struct carry_capture_check_options *options,
                                 struct carry_capture_summary **summary) {
    struct carry_capture_checker *checker;
    int code = carry_capture_checker_create(options, &checker);
    *summary = checker ? found_summary() : carry_capture_summary_create();
    if (checker && *summary)
        code = carry_capture_checker_run(checker, capture, *summary);
    carry_capture_checker_free(checker);
    return code;
}

static struct found *run_check(struct capture *self,
                               const struct carry_capture_check_options *options, int *code) {
    struct carry_capture_summary *summary;
    const uint64_t size = carry_capture_size(self->capture);
    const char *name = argument_text(self->name);
    if (!name)
        return NULL;
    begin_call(self);
    *code = check_reusing_summary(self->capture, options, &summary);
    end_call(self);
    struct found *found = summary ? found_create(summary, name) : NULL;
    if (!found) {
        PyErr_NoMemory();
        return NULL;
    }
    found->wrong = options->wrong;
    found->listed = options->listed;
    found->size = size;
    return found;
}

/* Implements check(threads, wrong, listed, kept, packets, flags, reassemble, protocols, progress,
   raises). */
static PyObject *capture_check(PyObject *object, PyObject *arguments) {
    struct capture *self = (struct capture *)object;
    struct carry_capture_check_options options = {.progress = on_progress, .user = self};
    enum carry_protocol protocols[CARRY_PROTOCOL_COUNT];
    unsigned long long packets;
    PyObject *selected, *progress;
    int reassemble, raises, code;
    if (!PyArg_ParseTuple(arguments, "IIIIKIpO!Op", &options.threads, &options.wrong,
                          &options.listed, &options.kept, &packets, &options.packet.flags,
                          &reassemble, &PyTuple_Type, &selected, &progress, &raises) ||
        !check_usable(self))
        return NULL;
    const Py_ssize_t count = get_protocols(selected, protocols);
    if (count < 0)
        return NULL;
    options.packets = packets;
    options.no_reassembly = !reassemble;
    options.protocols = count ? protocols : NULL;
    options.protocol_count = (size_t)count;
    self->progress = progress == Py_None ? NULL : progress;
    struct found *found = run_check(self, &options, &code);
    self->progress = NULL;
    return found ? finish_check(self, module_state_of(Py_TYPE(object)), found, code, raises) : NULL;
}

/* --- Checking a part of a capture --- */

static bool on_related_packet(void *user, const struct carry_capture_packet *packet) {
    return relatives_add(((struct capture *)user)->relatives, packet);
}

/* Returns (result, related packets), or (result, None) if there was no room for the packets. */
static PyObject *related_tuple(PyObject *result, const struct relatives *relatives) {
    if (!result)
        return NULL;
    if (relatives->is_full)
        return Py_BuildValue("(NO)", result, Py_None);
    return Py_BuildValue("(Ny#)", result, relatives->heap.size ? relatives->heap.data : "",
                         (Py_ssize_t)relatives->heap.size);
}

/* Implements check_part(wrong, listed, kept, flags, most bytes of related packets, progress):
   checks each packet alone, in this thread. */
static PyObject *capture_check_part(PyObject *object, PyObject *arguments) {
    struct capture *self = (struct capture *)object;
    struct carry_capture_check_options options = {.threads = 1,
                                                  .alone = true,
                                                  .progress = on_progress,
                                                  .related = on_related_packet,
                                                  .user = self};
    struct relatives relatives = {0};
    PyObject *progress;
    Py_ssize_t most;
    int code;
    if (!PyArg_ParseTuple(arguments, "IIIInO", &options.wrong, &options.listed, &options.kept,
                          &options.packet.flags, &most, &progress) ||
        !check_usable(self))
        return NULL;
    relatives.most = (size_t)most;
    self->progress = progress == Py_None ? NULL : progress;
    self->relatives = &relatives;
    struct found *found = run_check(self, &options, &code);
    self->progress = NULL;
    self->relatives = NULL;
    if (relatives.is_full && !self->error[0])
        code = CARRY_OK; /* rather than CARRY_ERROR_CANCELLED */
    PyObject *result =
        found ? finish_check(self, module_state_of(Py_TYPE(object)), found, code, false) : NULL;
    PyObject *tuple = related_tuple(result, &relatives);
    free(relatives.heap.data);
    return tuple;
}

/* --- The position, also while a callback runs --- */

typedef uint64_t count_fn(const struct carry_capture *capture);

static PyObject *read_position(PyObject *object, count_fn *count) {
    const struct capture *self = (const struct capture *)object;
    if (!self->capture) {
        check_usable(self);
        return NULL;
    }
    return PyLong_FromUnsignedLongLong(count(self->capture));
}

static PyObject *capture_offset(PyObject *self, PyObject *none) {
    (void)none;
    return read_position(self, carry_capture_offset);
}

static PyObject *capture_descriptions(PyObject *self, PyObject *none) {
    (void)none;
    return read_position(self, carry_capture_descriptions);
}

/* --- Packets --- */

/* The values of each packet in a batch, besides its bytes: one array for each value. */
enum { OFFSETS, SIZES, WIRES, NUMBERS, TIMES, LINKTYPES, ARRAYS };

static const char formats[ARRAYS] = {'Q', 'I', 'I', 'Q', 'Q', 'I'};

struct batch {
    struct heap bytes;
    struct heap values; /* uint64_t, ARRAYS for each packet */
    size_t count, most;
    size_t most_bytes;
};

/* Adds a packet to the batch. Returns false if there is no memory. */
static bool batch_add(struct batch *batch, const struct carry_capture_packet *packet) {
    const struct carry_frame frame = carry_capture_frame(packet);
    const uint64_t values[ARRAYS] = {batch->bytes.size, frame.captured,  frame.wire,
                                     packet->number,    packet->time_ns, packet->linktype};
    if (!heap_append(&batch->bytes, frame.data, frame.captured) ||
        !heap_append(&batch->values, values, sizeof values))
        return false;
    batch->count++;
    return true;
}

/* Reads packets until the batch is full, the capture ends, or an error occurs; returns the last
   code. If the source may wait for a writer, a batch has one packet. */
static int batch_read(struct capture *self, struct batch *batch) {
    const struct carry_capture_packet *packet;
    int code = CARRY_CAPTURE_PACKET;
    while (code == CARRY_CAPTURE_PACKET && batch->count < batch->most &&
           batch->bytes.size < batch->most_bytes && !(self->waits && batch->count)) {
        code = carry_capture_next(self->capture, &packet);
        if (code == CARRY_CAPTURE_PACKET && !batch_add(batch, packet))
            code = CARRY_ERROR_MEMORY;
    }
    return code;
}

static PyObject *batch_array(const struct batch *batch, unsigned which) {
    const uint64_t *values = batch->values.data;
    void *numbers;
    PyObject *array = numbers_create(formats[which], (Py_ssize_t)batch->count, &numbers);
    for (size_t i = 0; array && i < batch->count; i++) {
        const uint64_t value = values[ARRAYS * i + which];
        if (formats[which] == 'Q')
            ((uint64_t *)numbers)[i] = value;
        else
            ((uint32_t *)numbers)[i] = (uint32_t)value;
    }
    return array;
}

/* Returns part `which` of the tuple: the bytes, or an array. */
static PyObject *batch_part(const struct batch *batch, unsigned which) {
    return which ? batch_array(batch, which - 1)
                 : PyBytes_FromStringAndSize(batch->bytes.data, (Py_ssize_t)batch->bytes.size);
}

/* Returns (bytes, offsets, sizes, wires, numbers, times, linktypes). */
static PyObject *batch_tuple(const struct batch *batch) {
    PyObject *tuple = PyTuple_New(1 + ARRAYS);
    for (unsigned i = 0; tuple && i < 1 + ARRAYS; i++) {
        PyObject *part = batch_part(batch, i);
        if (!part || PyTuple_SetItem(tuple, i, part) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *raise_batch_error(struct capture *self, int code) {
    struct carry_capture_error error = {.code = code};
    if (raise_kept_exception(self))
        return NULL;
    if (code != CARRY_ERROR_MEMORY)
        error = source_error(self->capture);
    return errors_raise(module_state_of(Py_TYPE((PyObject *)self)), &error, self->name, NULL);
}

/* Checks whether to raise an error now. If the batch has packets, an error of the library can wait:
   the library returns it again in the next call. An error of memory cannot wait, because a packet
   was lost. */
static bool must_raise_now(const struct capture *self, const struct batch *batch, int code) {
    return code < 0 && (!batch->count || code == CARRY_ERROR_MEMORY || self->error[0]);
}

/* Implements batch(packets, bytes): returns batch_tuple() of at most `packets` packets, or None at
   the end. Adds no packet to a batch that has `bytes` bytes or more. */
static PyObject *capture_batch(PyObject *object, PyObject *arguments) {
    struct capture *self = (struct capture *)object;
    struct batch batch = {0};
    PyObject *result = NULL;
    Py_ssize_t packets, bytes;
    if (!PyArg_ParseTuple(arguments, "nn", &packets, &bytes) || !check_usable(self))
        return NULL;
    batch.most = (size_t)packets;
    batch.most_bytes = (size_t)bytes;
    begin_call(self);
    const int code = batch_read(self, &batch);
    end_call(self);
    if (must_raise_now(self, &batch, code))
        result = raise_batch_error(self, code);
    else if (batch.count)
        result = batch_tuple(&batch);
    else
        result = Py_NewRef(Py_None);
    free(batch.values.data);
    free(batch.bytes.data);
    return result;
}

/* --- Repairing --- */

/* Returns how many bytes write() accepted: all if it returned None. Returns 0 with an exception set
   if it accepted none, or returned more than `size`. */
static size_t count_written(PyObject *written, size_t size) {
    const size_t count = written == Py_None ? size : PyLong_AsSize_t(written);
    if (PyErr_Occurred())
        return 0;
    if (count && count <= size)
        return count;
    PyErr_Format(PyExc_OSError, "write() took %zu of %zu bytes", count, size);
    return 0;
}

static size_t write_some_bytes(struct capture *self, const char *bytes, size_t size) {
    PyObject *written = PyObject_CallFunction(self->write, "y#", bytes, (Py_ssize_t)size);
    const size_t count = written ? count_written(written, size) : 0;
    Py_XDECREF(written);
    return count;
}

/* Writes all bytes, in several calls if a raw stream accepts fewer at once. */
static bool write_object(struct capture *self, const char *bytes, size_t size) {
    size_t done = 0, count;
    while (done < size && (count = write_some_bytes(self, bytes + done, size - done)))
        done += count;
    return done == size;
}

static int write_to_object(void *user, const void *bytes, size_t size) {
    struct capture *self = user;
    acquire_gil(self);
    const bool done = write_object(self, bytes, size);
    if (!done)
        keep_exception(self);
    release_gil(self);
    return done ? 0 : -EIO;
}

static PyObject *repairs_json(const struct fix_report *report) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return PyErr_NoMemory();
    fix_report_json(out, report);
    const bool whole = fclose(out) == 0;
    PyObject *json =
        whole ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace") : PyErr_NoMemory();
    free(text);
    return json;
}

static PyObject *finish_fix(struct capture *self, const struct carry_capture_repairs *repairs,
                            int code, const char *output) {
    struct fix_report report = {NULL, output, repairs, {.code = CARRY_OK}};
    if (raise_kept_exception(self))
        return NULL;
    if (code != CARRY_OK)
        report.error = code == CARRY_ERROR_MEMORY ? (struct carry_capture_error){.code = code}
                                                  : source_error(self->capture);
    if (code != CARRY_OK && code != CARRY_ERROR_DAMAGED)
        return errors_raise(module_state_of(Py_TYPE((PyObject *)self)), &report.error, self->name,
                            NULL);
    report.input = argument_text(self->name);
    return report.input ? repairs_json(&report) : NULL;
}

/* Implements fix(descriptor or -1, function that writes or None, flags, verdicts, progress,
   output): returns the JSON of the tool. Without descriptor and function, writes nothing. */
static PyObject *capture_fix(PyObject *object, PyObject *arguments) {
    struct capture *self = (struct capture *)object;
    struct carry_capture_fix_options options = {.progress = on_progress, .user = self};
    struct carry_capture_repairs *repairs = NULL;
    PyObject *write, *progress;
    const char *output;
    int descriptor;
    if (!PyArg_ParseTuple(arguments, "iOIIOz", &descriptor, &write, &options.packet.flags,
                          &options.packet.fix, &progress, &output) ||
        !check_usable(self))
        return NULL;
    const struct carry_capture_sink other = {write_to_object, NULL, self, {0}};
    const struct carry_capture_sink *sink = write != Py_None ? &other : NULL;
    self->write = write;
    self->progress = progress == Py_None ? NULL : progress;
    begin_call(self);
    const int code = descriptor >= 0
                         ? carry_capture_fix_fd(self->capture, &options, descriptor, &repairs)
                         : carry_capture_fix(self->capture, &options, sink, &repairs);
    end_call(self);
    self->write = self->progress = NULL;
    PyObject *json = repairs ? finish_fix(self, repairs, code, output)
                             : (raise_kept_exception(self) ? NULL : PyErr_NoMemory());
    carry_capture_repairs_free(repairs);
    return json;
}

/* --- The type --- */

static PyMethodDef methods[] = {
    {"check", capture_check, METH_VARARGS, NULL},
    {"check_part", capture_check_part, METH_VARARGS, NULL},
    {"offset", capture_offset, METH_NOARGS, NULL},
    {"descriptions", capture_descriptions, METH_NOARGS, NULL},
    {"batch", capture_batch, METH_VARARGS, NULL},
    {"fix", capture_fix, METH_VARARGS, NULL},
    {"close", capture_close, METH_NOARGS, NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, capture_free},
    {Py_tp_traverse, capture_traverse},
    {Py_tp_clear, capture_clear},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "libcarry._carry.Capture",
    .basicsize = sizeof(struct capture),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

bool capture_types(PyObject *module, struct module_state *state) {
    return (state->capture = module_type(module, &spec, "Capture"));
}

static PyObject *is_capture_name(PyObject *module, PyObject *name) {
    const char *text = argument_text(name);
    (void)module;
    return text ? PyBool_FromLong(file_name_is_capture(text)) : NULL;
}

PyMethodDef capture_methods[] = {
    {"open_path", open_path_capture, METH_VARARGS, NULL},
    {"open_bytes", open_bytes_capture, METH_VARARGS, NULL},
    {"open_object", open_object_capture, METH_VARARGS, NULL},
    {"is_capture_name", is_capture_name, METH_O, NULL},
    {0},
};
