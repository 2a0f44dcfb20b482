/* SPDX-License-Identifier: MIT */
/* Sums of bytes: <carry/sum.h> and <carry/crc.h>. */
#include "module.h"

#include <arpa/inet.h>
#include <string.h>

#include <carry/crc.h>
#include <carry/sum.h>

/*
 * The least number of bytes for which a sum releases the GIL. Releasing it takes 37 ns; a call that
 * sums one byte less, and keeps the GIL, takes 91 ns (Zen 1). hashlib has the same limit.
 */
#define SHARE_FROM 2048

/* Runs a statement, without the GIL if `size` is at least SHARE_FROM. */
#define SHARED(size, statement)                                                                    \
    do {                                                                                           \
        PyThreadState *thread_ = (size) >= SHARE_FROM ? PyEval_SaveThread() : NULL;                \
        statement;                                                                                 \
        if (thread_)                                                                               \
            PyEval_RestoreThread(thread_);                                                         \
    } while (0)

/* Converts a checksum between memory order and the big-endian number that packets show. */
static uint16_t swap_checksum(uint16_t check) {
    const union {
        uint16_t number;
        uint8_t bytes[2];
    } memory = {.number = check};
    return (uint16_t)(memory.bytes[0] << 8 | memory.bytes[1]);
}

/* Gets the optional argument `index`, a partial sum or a CRC. Returns false, with an exception set,
   if it is neither. */
static bool get_seed(PyObject *const *arguments, Py_ssize_t count, Py_ssize_t index,
                     uint32_t *sum) {
    uint64_t number = 0;
    if (count > index && !argument_number(arguments[index], "sum", UINT32_MAX, &number))
        return false;
    *sum = (uint32_t)number;
    return true;
}

/* --- One buffer --- */

/* Calls carry_sum_call() or carry_crc32c() for the arguments (data, sum=0). Returns false, with an
   exception set, if these are wrong. */
static bool sum_bytes(const char *name, carry_sum_fn *function, PyObject *const *arguments,
                      Py_ssize_t count, uint32_t *sum) {
    Py_buffer bytes;
    if (!argument_count(name, count, 1, 2) || !get_seed(arguments, count, 1, sum) ||
        !argument_bytes(arguments[0], &bytes))
        return false;
    SHARED(bytes.len, *sum = function(bytes.buf, (size_t)bytes.len, *sum));
    PyBuffer_Release(&bytes);
    return true;
}

static PyObject *py_sum(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    uint32_t sum;
    (void)module;
    return sum_bytes("sum", carry_sum_call, arguments, count, &sum) ? PyLong_FromUnsignedLong(sum)
                                                                    : NULL;
}

static PyObject *py_checksum(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    uint32_t sum;
    (void)module;
    return sum_bytes("checksum", carry_sum_call, arguments, count, &sum)
               ? PyLong_FromUnsignedLong(swap_checksum(carry_sum_finish(sum)))
               : NULL;
}

static PyObject *py_crc32c(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    uint32_t crc;
    (void)module;
    return sum_bytes("crc32c", carry_crc32c, arguments, count, &crc) ? PyLong_FromUnsignedLong(crc)
                                                                     : NULL;
}

static bool buffers_overlap(const Py_buffer *a, const Py_buffer *b) {
    const uintptr_t start_a = (uintptr_t)a->buf, start_b = (uintptr_t)b->buf;
    return start_a < start_b + (size_t)b->len && start_b < start_a + (size_t)a->len;
}

static PyObject *copy_buffers(const Py_buffer *to, const Py_buffer *from, uint32_t sum) {
    if (to->len != from->len)
        return PyErr_Format(PyExc_ValueError, "the target has %zd bytes, but the source %zd",
                            to->len, from->len);
    if (buffers_overlap(to, from))
        return PyErr_Format(PyExc_ValueError, "target and source overlap");
    SHARED(to->len, sum = carry_sum_copy(to->buf, from->buf, (size_t)to->len, sum));
    return PyLong_FromUnsignedLong(sum);
}

static PyObject *py_copy_sum(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    Py_buffer to, from;
    PyObject *result = NULL;
    uint32_t sum;
    (void)module;
    if (!argument_count("copy_sum", count, 2, 3) || !get_seed(arguments, count, 2, &sum) ||
        !argument_writable(arguments[0], &to))
        return NULL;
    if (argument_bytes(arguments[1], &from)) {
        result = copy_buffers(&to, &from, sum);
        PyBuffer_Release(&from);
    }
    PyBuffer_Release(&to);
    return result;
}

/* --- Operations on sums --- */

static PyObject *py_finish(PyObject *module, PyObject *argument) {
    uint64_t sum;
    (void)module;
    return argument_number(argument, "sum", UINT32_MAX, &sum)
               ? PyLong_FromUnsignedLong(swap_checksum(carry_sum_finish((uint32_t)sum)))
               : NULL;
}

static PyObject *py_finish_nonzero(PyObject *module, PyObject *argument) {
    uint64_t sum;
    (void)module;
    return argument_number(argument, "sum", UINT32_MAX, &sum)
               ? PyLong_FromUnsignedLong(swap_checksum(carry_sum_finish_nonzero((uint32_t)sum)))
               : NULL;
}

static PyObject *py_combine(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    uint64_t a, b, offset;
    (void)module;
    if (!argument_count("combine", count, 3, 3) ||
        !argument_number(arguments[0], "a", UINT32_MAX, &a) ||
        !argument_number(arguments[1], "b", UINT32_MAX, &b) ||
        !argument_number(arguments[2], "offset_of_b", UINT64_MAX, &offset))
        return NULL;
    return PyLong_FromUnsignedLong(
        carry_sum_combine((uint32_t)a, (uint32_t)b, (size_t)(offset & 1)));
}

static PyObject *update_checksum(uint16_t check, const Py_buffer *old, const Py_buffer *new) {
    if (old->len != new->len || old->len % 2)
        return PyErr_Format(PyExc_ValueError,
                            "the bytes before and after must be equally many, and an even number "
                            "(%zd and %zd given)",
                            old->len, new->len);
    return PyLong_FromUnsignedLong(swap_checksum(
        carry_sum_update(swap_checksum(check), old->buf, new->buf, (size_t)old->len)));
}

static PyObject *py_update(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    Py_buffer old, new;
    uint64_t check;
    PyObject *result = NULL;
    (void)module;
    if (!argument_count("update", count, 3, 3) ||
        !argument_number(arguments[0], "check", UINT16_MAX, &check) ||
        !argument_bytes(arguments[1], &old))
        return NULL;
    if (argument_bytes(arguments[2], &new)) {
        result = update_checksum((uint16_t)check, &old, &new);
        PyBuffer_Release(&new);
    }
    PyBuffer_Release(&old);
    return result;
}

/* --- Pseudo-headers --- */

static bool address_problem(PyObject *object, size_t size) {
    PyErr_Format(PyExc_ValueError,
                 "%R is no address of IPv%d: give text, %zu bytes, or an object "
                 "of ipaddress",
                 object, size == 4 ? 4 : 6, size);
    return false;
}

static bool address_text_bytes(PyObject *text, uint8_t *address, size_t size) {
    const char *utf8 = argument_text(text);
    if (!utf8)
        return false;
    return inet_pton(size == 4 ? AF_INET : AF_INET6, utf8, address) == 1 ||
           address_problem(text, size);
}

static bool address_raw(PyObject *object, uint8_t *address, size_t size) {
    Py_buffer bytes;
    if (!argument_bytes(object, &bytes))
        return false;
    bool fits = (size_t)bytes.len == size;
    if (fits)
        memcpy(address, bytes.buf, size);
    PyBuffer_Release(&bytes);
    return fits || address_problem(object, size);
}

/* Converts an address, which may be text, bytes, or an object of ipaddress. Returns false, with an
   exception set, if the object is not an address of `size` bytes. */
static bool address_bytes(PyObject *object, uint8_t *address, size_t size) {
    if (PyUnicode_Check(object))
        return address_text_bytes(object, address, size);
    if (PyObject_CheckBuffer(object))
        return address_raw(object, address, size);
    PyObject *packed = PyObject_GetAttrString(object, "packed");
    if (!packed)
        return PyErr_ExceptionMatches(PyExc_AttributeError) && address_problem(object, size);
    bool fits = address_raw(packed, address, size);
    Py_DECREF(packed);
    return fits;
}

typedef uint32_t pseudo_fn(const void *src, const void *dst, uint8_t protocol, uint32_t size,
                           uint32_t sum);

static PyObject *pseudo_header_sum(const char *name, pseudo_fn *function, size_t address_size,
                                   PyObject *const *arguments, Py_ssize_t count) {
    uint8_t src[16], dst[16];
    uint64_t protocol, size;
    uint32_t sum;
    if (!argument_count(name, count, 4, 5) || !address_bytes(arguments[0], src, address_size) ||
        !address_bytes(arguments[1], dst, address_size) ||
        !argument_number(arguments[2], "protocol", UINT8_MAX, &protocol) ||
        !argument_number(arguments[3], "size", UINT32_MAX, &size) ||
        !get_seed(arguments, count, 4, &sum))
        return NULL;
    return PyLong_FromUnsignedLong(function(src, dst, (uint8_t)protocol, (uint32_t)size, sum));
}

static PyObject *py_pseudo4(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    return pseudo_header_sum("pseudo4", carry_sum_pseudo4, 4, arguments, count);
}

static PyObject *py_pseudo6(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    return pseudo_header_sum("pseudo6", carry_sum_pseudo6, 16, arguments, count);
}

/* --- Many runs in one buffer --- */

/* The array of results: the caller's, or a new one. */
struct results {
    PyObject *object;
    Py_buffer view; /* view of the caller's array */
    void *numbers;
};

static bool results_fit(struct results *results, Py_ssize_t count, Py_ssize_t size) {
    bool is_signed;
    if (numbers_are_integers(&results->view, &is_signed) && results->view.itemsize == size &&
        results->view.len == count * size)
        return true;
    PyErr_Format(PyExc_ValueError,
                 "out must be an array of %zd integers of %zd bytes in the byte order of this "
                 "machine",
                 count, size);
    PyBuffer_Release(&results->view);
    return false;
}

static bool results_open(struct results *results, PyObject *out, char format, Py_ssize_t count) {
    *results = (struct results){0};
    if (out == Py_None) {
        results->object = numbers_create(format, count, &results->numbers);
        return results->object;
    }
    if (PyObject_GetBuffer(out, &results->view, PyBUF_WRITABLE | PyBUF_FORMAT | PyBUF_ND) < 0 ||
        !results_fit(results, count, format == 'I' ? 4 : 2))
        return false;
    Py_INCREF(out);
    results->object = out;
    results->numbers = results->view.buf;
    return true;
}

static PyObject *results_close(struct results *results) {
    PyBuffer_Release(&results->view);
    return results->object;
}

/* Sums all runs, each with its seed, or with seed 0. */
static void sum_runs(const struct runs *runs, const struct numbers *seeds, bool is_finished,
                     void *results) {
    struct run run;
    for (Py_ssize_t i = 0; i < runs->count; i++) {
        const uint32_t start = seeds->count ? (uint32_t)numbers_at(seeds, i) : 0;
        run_at(runs, i, &run);
        const uint32_t sum = carry_sum_call(run.data, run.size, start);
        if (is_finished)
            ((uint16_t *)results)[i] = swap_checksum(carry_sum_finish(sum));
        else
            ((uint32_t *)results)[i] = sum;
    }
}

static PyObject *sum_many_runs(const struct runs *runs, PyObject *sums, PyObject *out,
                               bool is_finished) {
    struct numbers seeds;
    struct results results;
    PyObject *object = NULL;
    if (!numbers_open_for_each(&seeds, sums, "sums", runs->count))
        return NULL;
    if (results_open(&results, out, is_finished ? 'H' : 'I', runs->count)) {
        SHARED(runs->bytes.len, sum_runs(runs, &seeds, is_finished, results.numbers));
        object = results_close(&results);
    }
    numbers_close(&seeds);
    return object;
}

static PyObject *sum_many_arguments(PyObject *arguments, PyObject *keywords, bool is_finished) {
    static char *const names[] = {"data", "offsets", "sizes", "sums", "out", NULL};
    PyObject *data, *offsets, *sizes, *sums = Py_None, *out = Py_None, *result;
    struct runs runs;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOO|$OO", (char **)names, &data,
                                     &offsets, &sizes, &sums, &out) ||
        !runs_open(&runs, data, offsets, sizes, false))
        return NULL;
    result = sum_many_runs(&runs, sums, out, is_finished);
    runs_close(&runs);
    return result;
}

static PyObject *py_sum_many(PyObject *module, PyObject *arguments, PyObject *keywords) {
    (void)module;
    return sum_many_arguments(arguments, keywords, false);
}

static PyObject *py_checksum_many(PyObject *module, PyObject *arguments, PyObject *keywords) {
    (void)module;
    return sum_many_arguments(arguments, keywords, true);
}

/* --- The functions --- */

#define FAST(name, function, text)                                                                 \
    { name, (PyCFunction)(void (*)(void))(function), METH_FASTCALL, text }
#define KEYWORDS(name, function, text)                                                             \
    { name, (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS, text }

PyMethodDef sum_methods[] = {
    FAST("sum", py_sum,
         "sum(data, sum=0, /)\n--\n\n"
         "The partial sum (RFC 1071) of the bytes of `data`, added to the partial sum `sum`.\n\n"
         "Any object with contiguous bytes will do: bytes, bytearray, memoryview, mmap, a NumPy\n"
         "array. finish() turns a partial sum into a checksum. Sums of chunks of an even size\n"
         "may be passed on; combine() joins others."),
    FAST("checksum", py_checksum,
         "checksum(data, sum=0, /)\n--\n\n"
         "finish(sum(data, sum)): the Internet checksum, as the number that packets show.\n\n"
         "It is 0 if `data` includes its own checksum and that is right."),
    FAST("crc32c", py_crc32c,
         "crc32c(data, crc=0, /)\n--\n\n"
         "The CRC32c of the bytes that gave `crc`, followed by those of `data`."),
    FAST("copy_sum", py_copy_sum,
         "copy_sum(target, source, sum=0, /)\n--\n\n"
         "Copies all bytes of `source` to `target`, of the same size, and returns their partial\n"
         "sum, added to `sum`, in one pass. The two must not overlap."),
    {"finish", py_finish, METH_O,
     "finish(sum, /)\n--\n\n"
     "The checksum of a partial sum, as the number that packets show: store it big-endian,\n"
     "as check.to_bytes(2, 'big') or struct's '!H'."},
    {"finish_nonzero", py_finish_nonzero, METH_O,
     "finish_nonzero(sum, /)\n--\n\n"
     "finish(), with 0xffff for 0: in UDP a stored 0 means that there is no checksum."},
    FAST("combine", py_combine,
         "combine(a, b, offset_of_b, /)\n--\n\n"
         "Joins the partial sums of two neighbouring runs. `b` starts `offset_of_b` bytes after\n"
         "the start of `a`; only whether that is odd matters."),
    FAST("update", py_update,
         "update(check, old, new, /)\n--\n\n"
         "The checksum after a change (RFC 1624) of covered bytes from `old` to `new`, at an\n"
         "even offset. `check` and the result are numbers as packets show them."),
    FAST("pseudo4", py_pseudo4,
         "pseudo4(src, dst, protocol, size, sum=0, /)\n--\n\n"
         "The partial sum of the pseudo-header of IPv4, added to `sum`. Addresses are text,\n"
         "4 bytes, or objects of ipaddress. `size` counts the transport header and its data."),
    FAST("pseudo6", py_pseudo6,
         "pseudo6(src, dst, next_header, size, sum=0, /)\n--\n\n"
         "The same for IPv6, with addresses of 16 bytes."),
    KEYWORDS(
        "sum_many", py_sum_many,
        "sum_many(data, offsets, sizes, *, sums=None, out=None)\n--\n\n"
        "The partial sums of many runs of bytes in one buffer: run i has sizes[i] bytes, from\n"
        "offsets[i] on. Returns `out`, or a new memoryview of uint32. `offsets`, `sizes` and\n"
        "`sums`, to which the sums are added, are arrays of integers of 4 or 8 bytes. `out` must\n"
        "not overlap the other arrays: the sums would be wrong."),
    KEYWORDS(
        "checksum_many", py_checksum_many,
        "checksum_many(data, offsets, sizes, *, sums=None, out=None)\n--\n\n"
        "sum_many(), finished: checksums as the numbers that packets show, in a memoryview of\n"
        "uint16."),
    {0},
};
