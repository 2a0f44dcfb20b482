-- SPDX-License-Identifier: MIT
-- An app for Snabb (like its apps/*/*.lua). It checks packets from its link `input`, and sends them
-- to `output` or drops them; or it fills in their checksums.
--
--     config.app(c, "checksum", require("checksum_app").ChecksumApp, {mode = "check"})
--
-- A function generated for the shape of the last packet processes packets of the same shape, and
-- the library processes others. Without Snabb, `luajit checksum_app.lua` sends some packets through
-- two of these apps, with the replacements for Snabb's links and packets below.
local ffi = require("ffi")
local carry = require("carry")

-- --- Replacements: the functions of Snabb's core.packet and core.link that apps use ---

local function stand_ins()
    ffi.cdef("struct packet { uint16_t length; uint8_t data[10240]; };")
    local packet, link = {}, {}

    function packet.from_string(bytes)
        local p = ffi.new("struct packet")
        p.length = #bytes
        ffi.copy(p.data, bytes, #bytes)
        return p
    end

    function packet.free() end

    function link.new()
        return { first = 1, last = 0 }
    end

    function link.empty(l)
        return l.last < l.first
    end

    function link.receive(l)
        local p = l[l.first]
        l[l.first] = nil
        l.first = l.first + 1
        return p
    end

    function link.transmit(l, p)
        l.last = l.last + 1
        l[l.last] = p
    end

    return packet, link
end

local is_snabb, packet = pcall(require, "core.packet")
local link = is_snabb and require("core.link")
if not is_snabb then
    packet, link = stand_ins()
end

-- --- The app ---

local ChecksumApp = {}
ChecksumApp.__index = ChecksumApp

-- Creates an app. The mode "check" drops packets with a bad checksum; "fill" fills in checksums.
function ChecksumApp:new(conf)
    local app = {
        fills = conf.mode == "fill",
        frame = carry.frame(nil, 0),
        sums = carry.new_sums(carry.SUMS_MAX),
        counters = { generated = 0, library = 0, dropped = 0 },
    }
    return setmetatable(app, ChecksumApp)
end

-- Gets the sums of the packet with the generated function. If the packet has another shape, gets
-- them with the library, and generates a function for this shape. Returns the number of sums.
function ChecksumApp:look()
    if self.made then
        local count = self.made.packet(self.frame, self.sums, carry.SUMS_MAX)
        if count ~= carry.OTHER_SHAPE then
            self.counters.generated = self.counters.generated + 1
            return count
        end
    end
    self.made = carry.jit_packet({ frame = self.frame, fill = self.fills })
    self.counters.library = self.counters.library + 1
    local look = self.fills and carry.fill or carry.check
    local _, count = look(self.frame, nil, self.sums, carry.SUMS_MAX)
    return count
end

function ChecksumApp:is_bad(count)
    for i = 0, count - 1 do
        if self.sums[i].verdict == carry.verdicts.bad then
            return true
        end
    end
    return false
end

function ChecksumApp:push()
    local input, output = self.input.input, self.output.output
    while not link.empty(input) do
        local p = link.receive(input)
        self.frame.data, self.frame.captured, self.frame.wire = p.data, p.length, p.length
        local count = self:look()
        if not self.fills and self:is_bad(count) then
            self.counters.dropped = self.counters.dropped + 1
            packet.free(p)
        else
            link.transmit(output, p)
        end
    end
end

-- --- Without Snabb ---

local function bytes(hex)
    return (hex:gsub("%s", ""):gsub("%x%x", function(byte)
        return string.char(tonumber(byte, 16))
    end))
end

-- Ethernet, IPv4, and TCP or UDP, without checksums.
local ETHERNET = "020000000001 020000000002 0800"
local TCP = ETHERNET
    .. "4500002b 12340000 4006 0000 c0000201 c6336407"
    .. "0050c001 01020304 00000000 5010ffff 0000 0000 313845"
local UDP = ETHERNET
    .. "4500001f 12340000 4011 0000 c0000201 c6336407"
    .. "30390035 000b ffff 313845"

local function connect(app, input, output)
    app.input, app.output = { input = input }, { output = output }
end

local function main()
    local first, middle, last = link.new(), link.new(), link.new()
    local fill = ChecksumApp:new({ mode = "fill" })
    local check = ChecksumApp:new({ mode = "check" })
    connect(fill, first, middle)
    connect(check, middle, last)
    for i = 1, 100 do
        link.transmit(first, packet.from_string(bytes(i % 10 == 0 and UDP or TCP)))
    end
    fill:push()
    middle[42].data[50] = middle[42].data[50] + 1 -- damage on the way
    check:push()
    local received = 0
    while not link.empty(last) do
        link.receive(last)
        received = received + 1
    end
    for _, app in ipairs({ fill, check }) do
        local n = app.counters
        print(("%s: %d by a function made for them, %d by the library, %d dropped"):format(
            app.fills and "fill" or "check", n.generated, n.library, n.dropped))
    end
    print(("%d of 100 packets arrived"):format(received))
    return received == 99
end

if not is_snabb and arg and arg[0] and arg[0]:match("checksum_app%.lua$") then
    os.exit(main() and 0 or 1)
end

return { ChecksumApp = ChecksumApp }
