-- SPDX-License-Identifier: MIT
-- The checksums of libcarry for LuaJIT, and the functions of libcarry-jit where it is installed.
--
--     local carry = require("carry")
--     local frame = carry.frame(data, size)
--     local sums, count = carry.check(frame)
--     for i = 0, count - 1 do
--         print(carry.protocols[sums[i].protocol], carry.verdicts[sums[i].verdict])
--     end
--
-- The contracts are those of <carry/sum.h>, <carry/packet.h> and <carry/jit.h>. Data is anything
-- that the FFI accepts as a pointer: cdata, or strings where nothing is written. Functions that can
-- fail return nil and a reason. A caller must keep data alive as long as a frame points to it.
local ffi = require("ffi")

-- The declarations of the headers, word for word: a test compares them.
ffi.cdef([[
typedef uint32_t carry_sum_fn(const void *data, size_t size, uint32_t sum);
typedef uint32_t carry_sum_copy_fn(void *dst, const void *src, size_t size, uint32_t sum);
uint32_t carry_sum_call(const void *data, size_t size, uint32_t sum);
uint32_t carry_sum_copy(void *dst, const void *src, size_t size, uint32_t sum);
uint16_t carry_sum_fold(uint32_t sum);
uint16_t carry_sum_finish(uint32_t sum);
uint16_t carry_sum_finish_nonzero(uint32_t sum);
uint32_t carry_sum_combine(uint32_t a, uint32_t b, size_t offset_of_b);
uint32_t carry_sum_pseudo4(const void *src, const void *dst, uint8_t protocol, uint32_t size,
                           uint32_t sum);
uint32_t carry_sum_pseudo6(const void *src, const void *dst, uint8_t next_header, uint32_t size,
                           uint32_t sum);
uint16_t carry_sum_update(uint16_t check, const void *from, const void *to, size_t size);

enum carry_verdict {
    CARRY_VERDICT_GOOD,
    CARRY_VERDICT_BAD,
    CARRY_VERDICT_PARTIAL,
    CARRY_VERDICT_ABSENT,
    CARRY_VERDICT_ILLEGAL,
    CARRY_VERDICT_UNVERIFIABLE,
    CARRY_VERDICT_COUNT
};
struct carry_frame {
    const void *data;
    uint32_t captured;
    uint32_t wire;
    uint32_t linktype;
    uint32_t scope;
};
struct carry_packet_sum {
    uint8_t protocol;
    uint8_t verdict;
    uint8_t reason;
    uint8_t version;
    uint8_t field_size;
    uint8_t gap_size;
    uint16_t gap_offset;
    uint8_t pseudo_protocol;
    uint8_t quoted;
    uint8_t cause;
    uint8_t reserved;
    uint32_t field_offset;
    uint32_t network_offset;
    uint32_t cover_offset;
    uint32_t cover_size;
    uint32_t pseudo;
    uint32_t pseudo_size;
    uint32_t stored;
    uint32_t expected;
};
struct carry_packet_options {
    uint32_t flags;
    uint32_t fix;
    uint32_t reserved[6];
};
static const int CARRY_PACKET_SUMS_MAX = 32;
size_t carry_packet_check(const struct carry_frame *frame,
                          const struct carry_packet_options *options,
                          struct carry_packet_sum *sums, size_t capacity);
size_t carry_packet_fix(const struct carry_frame *frame,
                        const struct carry_packet_options *options,
                        struct carry_packet_sum *changes, size_t capacity);
size_t carry_packet_fill(const struct carry_frame *frame,
                         const struct carry_packet_options *options,
                         struct carry_packet_sum *changes, size_t capacity);
const char *carry_packet_protocol_name(unsigned protocol);
const char *carry_packet_verdict_name(unsigned verdict);
const char *carry_packet_reason_name(unsigned reason);
const char *carry_packet_cause_name(unsigned cause);

enum carry_error {
    CARRY_OK = 0,
    CARRY_ERROR_INVALID = -1,
    CARRY_ERROR_UNKNOWN = -2,
    CARRY_ERROR_UNSUPPORTED = -3,
    CARRY_ERROR_BYTES = -4,
    CARRY_ERROR_PERMISSION = -5,
    CARRY_ERROR_NO_SYNC = -6,
    CARRY_ERROR_MEMORY = -7,
    CARRY_ERROR_BUSY = -8,
    CARRY_ERROR_SIZE = -9,
    CARRY_ERROR_CONTEXT = -10,
    CARRY_ERROR_UNRECOGNISED = -11,
    CARRY_ERROR_DAMAGED = -12,
    CARRY_ERROR_READ = -13,
    CARRY_ERROR_WRITE = -14,
    CARRY_ERROR_CANCELLED = -15,
    CARRY_ERROR_TOO_LARGE = -16,
};
const char *carry_error_name(int error);
const char *carry_error_text(int error);
unsigned carry_version(void);
const char *carry_version_text(void);

typedef int carry_jit_packet_fn(const struct carry_frame *frame, struct carry_packet_sum *sums,
                                size_t capacity);
static const int CARRY_JIT_OTHER_SHAPE = -1;
typedef void carry_jit_write_fn(void *packet, const void *values);
struct carry_jit {
    union {
        carry_sum_fn *sum;
        carry_sum_copy_fn *sum_copy;
        carry_jit_packet_fn *packet;
        carry_jit_write_fn *write;
    };
    size_t text_size;
};
void carry_jit_release(const struct carry_jit *jit);
enum carry_jit_sum_flag {
    CARRY_JIT_COPY = 1 << 0,
    CARRY_JIT_SEED = 1 << 1,
};
enum carry_jit_result {
    CARRY_JIT_PARTIAL,
    CARRY_JIT_FOLD,
    CARRY_JIT_FINISH,
    CARRY_JIT_FINISH_NONZERO,
    CARRY_JIT_RESULT_COUNT
};
struct carry_jit_sum_spec {
    size_t min_size, max_size;
    size_t multiple;
    size_t alignment;
    uint32_t flags;
    uint32_t result;
    uint32_t seed;
    uint32_t vector_bits;
    uint32_t reserved[4];
};
int carry_jit_sum(const struct carry_jit_sum_spec *spec, const struct carry_jit **jit);
const char *carry_jit_sum_error(const struct carry_jit_sum_spec *spec);
static const int CARRY_JIT_LAYERS_MAX = 16;
enum carry_jit_packet_flag {
    CARRY_JIT_FILL = 1 << 0,
};
struct carry_jit_packet_spec {
    uint32_t linktype;
    uint32_t flags;
    uint32_t count;
    uint8_t layers[16];
    uint32_t reserved[4];
};
int carry_jit_packet(const struct carry_jit_packet_spec *spec, const struct carry_jit **jit);
const char *carry_jit_packet_error(const struct carry_jit_packet_spec *spec);
int carry_jit_packet_shape(const struct carry_frame *frame, struct carry_jit_packet_spec *spec);
struct carry_jit_field {
    uint32_t offset;
    uint32_t size;
};
struct carry_jit_template_spec {
    struct carry_frame frame;
    const struct carry_jit_field *fields;
    size_t count;
    uint32_t reserved[4];
};
int carry_jit_template(const struct carry_jit_template_spec *spec, const struct carry_jit **jit);
const char *carry_jit_template_error(const struct carry_jit_template_spec *spec);
]])

-- Loads by soname: files without a version number are installed only with the headers.
local C = ffi.load("libcarry.so.0")
local has_jit, J = pcall(ffi.load, "libcarry-jit.so.0")

local carry = {
    C = C,
    has_jit = has_jit,
    -- <carry/sum.h>: carry_sum() itself is an inline function.
    sum = function(data, size, seed)
        return C.carry_sum_call(data, size, seed or 0)
    end,
    sum_copy = function(dst, src, size, seed)
        return C.carry_sum_copy(dst, src, size, seed or 0)
    end,
    combine = C.carry_sum_combine,
    fold = C.carry_sum_fold,
    finish = C.carry_sum_finish,
    finish_nonzero = C.carry_sum_finish_nonzero,
    pseudo4 = C.carry_sum_pseudo4,
    pseudo6 = C.carry_sum_pseudo6,
    update = C.carry_sum_update,
    OTHER_SHAPE = C.CARRY_JIT_OTHER_SHAPE,
    SUMS_MAX = C.CARRY_PACKET_SUMS_MAX,
}

-- The version of the loaded library, in the form "1.2.3".
carry.version = ffi.string(C.carry_version_text())

-- Returns the name of a status, such as "CARRY_ERROR_INVALID"; error_text() describes the status in
-- one line.
function carry.error_name(status)
    return ffi.string(C.carry_error_name(status))
end

function carry.error_text(status)
    return ffi.string(C.carry_error_text(status))
end

-- Returns a table of names by number and numbers by name; the first "unknown" name ends the list.
local function names(name_of)
    local both = {}
    for number = 0, 255 do
        local name = ffi.string(name_of(number))
        if name == "unknown" then
            break
        end
        both[number], both[name] = name, number
    end
    return both
end

carry.protocols = names(C.carry_packet_protocol_name)
carry.verdicts = names(C.carry_packet_verdict_name)
carry.reasons = names(C.carry_packet_reason_name)
carry.causes = names(C.carry_packet_cause_name)

-- --- Packets ---

-- Returns a frame of `captured` bytes; by default, `wire` equals `captured`, and `linktype` is
-- Ethernet.
function carry.frame(data, captured, wire, linktype)
    return ffi.new("struct carry_frame", data, captured, wire or captured, linktype or 1)
end

carry.new_sums = ffi.typeof("struct carry_packet_sum[?]")
carry.options = ffi.typeof("struct carry_packet_options")
local sums_here = carry.new_sums(carry.SUMS_MAX)

-- Returns a function that returns an array of sums and their number. If the caller passes no array,
-- the function uses a shared one, which the next call overwrites.
local function lister(list)
    return function(frame, options, sums, capacity)
        if not sums then
            sums, capacity = sums_here, carry.SUMS_MAX
        end
        return sums, tonumber(list(frame, options, sums, capacity))
    end
end

carry.check = lister(C.carry_packet_check)
carry.fix = lister(C.carry_packet_fix)
carry.fill = lister(C.carry_packet_fill)

-- --- Functions generated at run time ---

-- Returns a generated object. Its member is the function to call. The object is released when
-- nothing refers to it. The caller must keep it: the member does not keep the function alive.
local function make(maker, error_of, spec)
    if not has_jit then
        return nil, "libcarry-jit is not there: " .. J
    end
    local jit = ffi.new("const struct carry_jit *[1]")
    local status = J[maker](spec, jit)
    if status == C.CARRY_OK then
        return ffi.gc(jit[0], J.carry_jit_release)
    end
    local text = J[error_of](spec)
    return nil, text ~= nil and ffi.string(text) or carry.error_text(status)
end

-- Generates a sum: jit_sum{size = 1460} or jit_sum{min_size = 20, max_size = 60, multiple = 4}.
-- Call the member `sum` of the result, or `sum_copy` with flags = C.CARRY_JIT_COPY.
function carry.jit_sum(spec)
    local c = ffi.new("struct carry_jit_sum_spec")
    for member, value in pairs(spec) do
        if member == "size" then
            c.min_size, c.max_size = value, value
        else
            c[member] = value
        end
    end
    return make("carry_jit_sum", "carry_jit_sum_error", c)
end

-- Generates a check: jit_packet{layers = {"ethernet", "ip", "tcp"}}, or jit_packet{frame = frame}
-- for the shape of a frame. With fill = true, the generated function fills in checksums. Call the
-- member `packet` of the result.
function carry.jit_packet(spec)
    local c = ffi.new("struct carry_jit_packet_spec")
    c.flags = spec.fill and C.CARRY_JIT_FILL or 0
    if spec.frame then
        if has_jit and J.carry_jit_packet_shape(spec.frame, c) ~= C.CARRY_OK then
            return nil, carry.error_text(C.CARRY_ERROR_UNSUPPORTED)
        end
        return make("carry_jit_packet", "carry_jit_packet_error", c)
    end
    c.linktype, c.count = spec.linktype or 1, #spec.layers
    for i, name in ipairs(spec.layers) do
        if not carry.protocols[name] or i > C.CARRY_JIT_LAYERS_MAX then
            return nil, "layers: " .. (carry.protocols[name] and "too many" or "no " .. name)
        end
        c.layers[i - 1] = carry.protocols[name]
    end
    return make("carry_jit_packet", "carry_jit_packet_error", c)
end

-- Keeps the fields of specs alive: the garbage collector ignores the pointer in a spec.
local fields_of = setmetatable({}, { __mode = "k" })

-- Generates a template: jit_template{frame = frame, fields = {{offset, size}, ...}}. Call the
-- member `write` of the result.
function carry.jit_template(spec)
    local fields = ffi.new("struct carry_jit_field[?]", #spec.fields, spec.fields)
    local c = ffi.new("struct carry_jit_template_spec", spec.frame, fields, #spec.fields)
    fields_of[c] = fields
    return make("carry_jit_template", "carry_jit_template_error", c)
end

return carry
