-- SPDX-License-Identifier: MIT
-- Tests the binding for LuaJIT: each function in `tests` is a test. Prints TAP.
local ffi = require("ffi")
local carry = require("carry")

local function bytes(hex)
    return (hex:gsub("%s", ""):gsub("%x%x", function(byte)
        return string.char(tonumber(byte, 16))
    end))
end

-- Returns writable memory.
local function buffer(text)
    local data = ffi.new("uint8_t[?]", #text)
    ffi.copy(data, text, #text)
    return data, #text
end

local ETHERNET = "020000000001 020000000002 0800"
local IP = "4500002b 12340000 40 06 0000 c0000201 c6336407"
local TCP = "0050c001 01020304 00000000 5010ffff 0000 0000 313845"
local PACKET = bytes(ETHERNET .. IP .. TCP)

local function equal(found, expected)
    if found ~= expected then
        error(("%s instead of %s"):format(tostring(found), tostring(expected)), 2)
    end
end

-- Returns the verdicts as text, such as "ip good, tcp bad".
local function described(sums, count)
    local texts = {}
    for i = 0, tonumber(count) - 1 do
        texts[i + 1] = carry.protocols[sums[i].protocol] .. " " .. carry.verdicts[sums[i].verdict]
    end
    return table.concat(texts, ", ")
end

local function filled()
    local data, size = buffer(PACKET)
    carry.fill(carry.frame(data, size))
    return data, size
end

-- Converts a value in memory order to a number.
local function stored(check)
    local word = ffi.new("uint16_t[1]", check)
    local pair = ffi.cast("uint8_t *", word)
    return pair[0] * 256 + pair[1]
end

-- Returns VmSize in KiB.
local function memory()
    for line in io.lines("/proc/self/status") do
        local size = line:match("^VmSize:%s*(%d+)")
        if size then
            return tonumber(size)
        end
    end
end

local tests = {}

-- Computes the sums of the example in RFC 1071, section 3.
function tests.sums()
    local data = bytes("0001 f203 f4f5 f6f7")
    equal(stored(carry.fold(carry.sum(data, 8))), 0xddf2)
    equal(stored(carry.finish(carry.sum(data, 8))), 0x220d)
    local rest = carry.sum(data:sub(4), 5)
    equal(stored(carry.fold(carry.combine(carry.sum(data, 3), rest, 3))), 0xddf2)
    equal(carry.finish_nonzero(carry.sum("\255\255", 2)), 0xffff)
    local copy = ffi.new("uint8_t[8]")
    equal(stored(carry.fold(carry.sum_copy(copy, data, 8))), 0xddf2)
    equal(ffi.string(copy, 8), data)
    equal(stored(carry.update(carry.finish(carry.sum(data, 8)), "\0\1", "\0\2", 2)), 0x220c)
end

function tests.packets()
    local data, size = buffer(PACKET)
    local frame = carry.frame(data, size)
    equal(described(carry.check(frame)), "ip bad, tcp bad")
    equal(described(carry.fill(frame)), "tcp bad, ip bad")
    equal(described(carry.check(frame)), "ip good, tcp good")
    data[size - 1] = data[size - 1] + 1
    equal(described(carry.check(frame)), "ip good, tcp bad")
    equal(described(carry.fix(frame)), "tcp bad")
    local sums, count = carry.check(frame, nil, carry.new_sums(1), 1)
    equal(described(sums, count), "ip good")
end

function tests.names()
    equal(carry.protocols[carry.protocols.tcp], "tcp")
    equal(carry.verdicts.good, 0)
    equal(carry.reasons.snaplen, 1)
    equal(carry.causes.header, 1)
end

function tests.jit_sum()
    local size = #PACKET
    local made = assert(carry.jit_sum({ size = size }))
    equal(carry.fold(made.sum(PACKET, size, 7)), carry.fold(carry.sum(PACKET, size, 7)))
    local range = assert(carry.jit_sum({ min_size = 20, max_size = 60, multiple = 4 }))
    equal(carry.fold(range.sum(PACKET, 24, 7)), carry.fold(carry.sum(PACKET, 24, 7)))
end

function tests.jit_sum_copy()
    local size, flags = #PACKET, carry.C.CARRY_JIT_COPY
    local made = assert(carry.jit_sum({ size = size, flags = flags }))
    local copy = ffi.new("uint8_t[?]", size)
    equal(carry.fold(made.sum_copy(copy, PACKET, size, 0)), carry.fold(carry.sum(PACKET, size)))
    equal(ffi.string(copy, size), PACKET)
end

function tests.names()
    equal(carry.version:match("^%d+%.%d+%.%d+$"), carry.version)
    equal(carry.C.carry_version() >= 1000, true)
    equal(carry.error_name(carry.C.CARRY_ERROR_SIZE), "CARRY_ERROR_SIZE")
    equal(carry.error_text(-99), "unknown")
    equal(carry.verdicts[#carry.verdicts], "unverifiable")
    equal(carry.protocols.unknown, nil)
end

function tests.jit_errors()
    local made, why = carry.jit_sum({ size = 9, multiple = 2 })
    equal(made, nil)
    equal(why, "min_size: not a multiple of `multiple`")
    made, why = carry.jit_packet({ layers = { "ethernet", "nonsense" } })
    equal(made, nil)
    equal(why, "layers: no nonsense")
    made, why = carry.jit_template({ frame = carry.frame(PACKET, #PACKET), fields = { { 12, 2 } } })
    equal(made, nil)
    equal(why, "fields: a field that determines the shape of the packet")
end

function tests.jit_packet()
    local data, size = filled()
    local frame, sums = carry.frame(data, size), carry.new_sums(carry.SUMS_MAX)
    local made = assert(carry.jit_packet({ layers = { "ethernet", "ip", "tcp" } }))
    equal(described(sums, made.packet(frame, sums, carry.SUMS_MAX)), "ip good, tcp good")
    data[22] = data[22] - 1
    equal(described(sums, made.packet(frame, sums, carry.SUMS_MAX)), "ip bad, tcp good")
    local fill = assert(carry.jit_packet({ frame = frame, fill = true }))
    fill.packet(frame, sums, carry.SUMS_MAX)
    equal(described(carry.check(frame)), "ip good, tcp good")
    data[23] = 17
    equal(made.packet(frame, sums, carry.SUMS_MAX), carry.OTHER_SHAPE)
end

-- Writes time to live, addresses and sequence number.
function tests.jit_template()
    local data, size = filled()
    local frame = carry.frame(data, size)
    local fields = { { 22, 1 }, { 26, 8 }, { 38, 4 } }
    local made = assert(carry.jit_template({ frame = frame, fields = fields }))
    for i = 1, 1000 do
        made.write(data, ("%c%08d%04d"):format(i % 256, i, i))
        equal(described(carry.check(frame)), "ip good, tcp good")
    end
    equal(ffi.string(data + 26, 8), "00001000")
    equal(ffi.string(data + 38, 4), "1000")
end

-- jit_template() uses the given fields, even if garbage is collected all the time.
function tests.jit_template_and_garbage()
    local frame = carry.frame(PACKET, #PACKET)
    local pause, multiplier = collectgarbage("setpause", 0), collectgarbage("setstepmul", 1e6)
    for _ = 1, 1000 do
        assert(carry.jit_template({ frame = frame, fields = { { 22, 1 }, { 26, 8 } } }))
    end
    collectgarbage("setpause", pause)
    collectgarbage("setstepmul", multiplier)
end

-- Functions to which nothing refers are released: thousands of them need no more memory.
function tests.jit_release()
    local function make_many(first)
        for size = first, first + 1999 do
            assert(carry.jit_sum({ size = size, vector_bits = 64 }))
            if size % 100 == 0 then
                collectgarbage()
            end
        end
    end
    make_many(2000)
    local before = memory()
    make_many(4000)
    local grown = memory() - before
    if grown > 1024 then
        error(("%d KiB more than before"):format(grown))
    end
end

-- --- Running the tests ---

-- Returns why functions cannot be made here, which is not a failure.
local function obstacle()
    if not carry.has_jit then
        return "no libcarry-jit"
    end
    local _, why = carry.jit_sum({ size = 8 })
    local unsupported = carry.error_text(carry.C.CARRY_ERROR_UNSUPPORTED)
    return why == unsupported and "no generator for this architecture" or nil
end

local order = {}
for name in pairs(tests) do
    order[#order + 1] = name
end
table.sort(order)

local failed = false
print("TAP version 13")
for i, name in ipairs(order) do
    if name:match("^jit") and obstacle() then
        print(("ok %d - %s # SKIP %s"):format(i, name, obstacle()))
    else
        local ok, why = xpcall(tests[name], debug.traceback)
        print(("%s %d - %s"):format(ok and "ok" or "not ok", i, name))
        if not ok then
            failed = true
            print("# " .. why:gsub("\n", "\n# "))
        end
    end
end
print("1.." .. #order)
os.exit(failed and 1 or 0)
