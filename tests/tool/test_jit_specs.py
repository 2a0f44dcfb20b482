# SPDX-License-Identifier: MIT
"""Calls functions that are generated for random specs, through the C interface: sums and stacks of
headers.

Generated code must return the results of the library, or of a sum in Python; a contradictory spec
must be refused, with the name of a member. CARRY_TEST_LEVEL sets the number of specs. They are the
same each time, unless CARRY_TEST_SEED selects others.
"""

from __future__ import annotations

import ctypes as c
import os
import struct
from collections.abc import Callable
from typing import Any

import pytest
from captures import fold

pytest.importorskip("hypothesis", reason="python3-hypothesis is not installed")

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from jit_ffi import (
    COPY,
    FILL,
    FINISH,
    FINISH_NONZERO,
    FOLD,
    INVALID,
    LAYERS_MAX,
    OK,
    OTHER_SHAPE,
    PACKET,
    PARTIAL,
    PROTOCOLS,
    SEED,
    SUM,
    SUM_BYTES,
    SUM_COPY,
    SUMS_MAX,
    UNSUPPORTED,
    Frame,
    Made,
    PacketSpec,
    Sums,
    SumSpec,
    jit,
    library,
)

LEVELS = {"short": 30, "medium": 200, "long": 5000}
RANDOM = os.environ.get("CARRY_TEST_SEED")
SETTINGS = settings(
    max_examples=LEVELS[os.environ.get("CARRY_TEST_LEVEL", "medium")],
    derandomize=RANDOM is None,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def repeated(*strategies: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Any]:
    """Works like `given`, with the number of examples and the seed that the environment sets."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        run = SETTINGS(given(*strategies)(test))
        return seed(int(RANDOM, 0))(run) if RANDOM else run

    return decorate


# --- Sums ---

words = st.sampled_from((0, 2**32 - 1)) | st.integers(0, 2**32 - 1)


@st.composite
def sum_specs(draw: st.DrawFn) -> SumSpec:
    """Returns a valid spec."""
    multiple = draw(st.sampled_from((0, 1, 1, 1, 2, 4, 8, 13, 64, 100)))
    low, more = draw(st.integers(0, 300)), draw(st.sampled_from((0, 0, 1, 7, 64, 3000)))
    flags = draw(st.integers(0, COPY | SEED))
    return SumSpec(
        min_size=low * max(multiple, 1),
        max_size=(low + more) * max(multiple, 1),
        multiple=multiple,
        alignment=draw(st.sampled_from((0, 1, 2, 8, 16, 64, 4096))),
        flags=flags,
        result=draw(st.integers(PARTIAL, FINISH_NONZERO)),
        seed=draw(words) if flags & SEED else 0,
        vector_bits=draw(st.sampled_from((0, 0, 64, 128, 256, 512))),
    )


def stored(total: int) -> int:
    """Converts a 16-bit sum to a number in memory order."""
    return struct.unpack("=H", struct.pack(">H", total))[0]


def result_of(partial: int, result: int) -> int:
    """Returns the result that the library computes from a partial sum."""
    folded = fold(struct.pack("=L", partial))
    match result:
        case x if x == FINISH:
            folded ^= 0xFFFF
        case x if x == FINISH_NONZERO:
            folded = folded ^ 0xFFFF or 0xFFFF
    return stored(folded)


def expect_sum(spec: SumSpec, address: int, size: int, at: int, data: bytes, start: int) -> None:
    source, target = (c.create_string_buffer(size + 3 * 4096) for _ in range(2))
    places = [-c.addressof(buffer) % 4096 + at + 4096 for buffer in (source, target)]
    c.memmove(c.addressof(source) + places[0], data, size)
    untouched = bytes(target)
    place = c.addressof(source) + places[0]
    if spec.flags & COPY:
        got = SUM_COPY(address)(c.addressof(target) + places[1], place, size, start)
        end = places[1] + size
        assert bytes(target) == untouched[: places[1]] + data + untouched[end:]
    else:
        got = SUM(address)(place, size, start)
    begin = spec.seed if spec.flags & SEED else start
    wanted = fold(struct.pack("=L", begin) + data)
    if spec.result in (PARTIAL, FOLD):
        assert result_of(got, FOLD) == stored(wanted)
        assert spec.result == PARTIAL or got == stored(wanted)
    else:
        partial = struct.unpack("=L", struct.pack(">HH", 0, wanted))[0]
        assert got == result_of(partial, spec.result)


@repeated(sum_specs(), st.data())
def test_sums(spec: SumSpec, choose: st.DataObject) -> None:
    """A function for a random spec returns the sum that Python computes, for any size in its
    range."""
    assert jit.carry_jit_sum_error(c.byref(spec)) is None
    with Made("carry_jit_sum", spec) as made:
        if made.error == UNSUPPORTED:
            return
        assert made.error == OK
        step, alignment = max(spec.multiple, 1), max(spec.alignment, 1)
        for _ in range(3):
            size = choose.draw(st.integers(spec.min_size // step, spec.max_size // step)) * step
            at = choose.draw(st.integers(0, 4096 // alignment - 1)) * alignment
            pattern = choose.draw(st.sampled_from((b"\0", b"\xff", b"\x80\1", b"carry", b"7" * 99)))
            data = (pattern * (size // len(pattern) + 1))[:size]
            expect_sum(spec, made.address, size, at, data, choose.draw(words))


def expect_refusal(maker: str, spec: SumSpec | PacketSpec) -> None:
    """Checks that a spec is either accepted or refused with the name of a member."""
    error = getattr(jit, f"{maker}_error")(c.byref(spec))
    with Made(maker, spec) as made:
        if error is None:
            assert made.error in (OK, UNSUPPORTED)
            return
        assert made.error == INVALID
        member, what = error.decode().split(": ", 1)
        assert member in [field[0] for field in spec._fields_]
        assert what


@repeated(
    st.lists(st.integers(0, 70) | st.integers(0, 2**32), min_size=4, max_size=4),
    st.lists(st.integers(0, 5) | st.sampled_from((64, 128, 256, 512)) | words, min_size=8),
)
def test_contradictory_sums_are_named(sizes: list[int], rest: list[int]) -> None:
    spec = SumSpec(*sizes, *rest[:4])
    spec.reserved[0] = rest[4] if rest[5] == 1 else 0
    expect_refusal("carry_jit_sum", spec)


# --- Stacks of headers ---


def ip(content: bytes, number: int) -> bytes:
    addresses = bytes.fromhex("c0000201c6336407")
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(content), 7, 0x4000, 64, number, 0)
    return head + addresses + content


def ipv6(content: bytes, number: int) -> bytes:
    return struct.pack(">LHBB", 6 << 28, len(content), number, 64) + bytes(range(32)) + content


def udp(content: bytes, port: int) -> bytes:
    return struct.pack(">HHHH", 4000, port, 8 + len(content), 0) + content


ETHERTYPES = {"IP": 0x0800, "IPV6": 0x86DD, "VLAN": 0x8100, "ETHERNET": 0x6558}
NUMBERS = {"IP": 4, "IPV6": 41, "TCP": 6, "UDP": 17, "ICMP": 1, "ICMPV6": 58, "GRE": 47}
PORTS = {"VXLAN": 4789, "GENEVE": 6081, None: 5001}
FAMILIES = {"IP": 2, "IPV6": 30}

# For each layer: the layers that may follow, and a function that puts the layer's header before
# their bytes.
Layer = tuple[tuple[str | None, ...], Callable[[bytes, Any], bytes]]
LAYERS: dict[str, Layer] = {
    "ETHERNET": (
        ("IP", "IPV6", "VLAN"),
        lambda x, n: bytes(12) + struct.pack(">H", ETHERTYPES[n]) + x,
    ),
    "VLAN": (("IP", "IPV6", "VLAN"), lambda x, n: struct.pack(">HH", 42, ETHERTYPES[n]) + x),
    "SLL": (("IP", "IPV6"), lambda x, n: bytes(14) + struct.pack(">H", ETHERTYPES[n]) + x),
    "SLL2": (("IP", "IPV6"), lambda x, n: struct.pack(">H", ETHERTYPES[n]) + bytes(18) + x),
    "RAW": (("IP", "IPV6"), lambda x, _: x),
    "LOOPBACK": (("IP", "IPV6"), lambda x, n: struct.pack("<L", FAMILIES[n]) + x),
    "IP": (("IP", "IPV6", "TCP", "UDP", "ICMP", "GRE"), lambda x, n: ip(x, NUMBERS[n])),
    "IPV6": (("IP", "IPV6", "TCP", "UDP", "ICMPV6", "GRE"), lambda x, n: ipv6(x, NUMBERS[n])),
    "GRE": (("IP", "IPV6", "ETHERNET"), lambda x, n: struct.pack(">HH", 0, ETHERTYPES[n]) + x),
    "UDP": ((None, None, "VXLAN", "GENEVE"), lambda x, n: udp(x, PORTS[n])),
    "VXLAN": (("ETHERNET",), lambda x, _: b"\x08" + bytes(7) + x),
    "GENEVE": (
        ("IP", "IPV6", "ETHERNET"),
        lambda x, n: struct.pack(">HHL", 0, ETHERTYPES[n], 0) + x,
    ),
    "TCP": ((None,), lambda x, _: bytes(12) + b"\x50\x10" + bytes(6) + x),
    "ICMP": ((None,), lambda x, _: b"\x08" + bytes(7) + x),
    "ICMPV6": ((None,), lambda x, _: b"\x80" + bytes(7) + x),
}
LINKS = {1: "ETHERNET", 12: "RAW", 0: "LOOPBACK", 113: "SLL", 276: "SLL2", 228: "IP", 229: "IPV6"}


@st.composite
def stacks(draw: st.DrawFn) -> tuple[int, list[str]]:
    """Returns a link type and a stack of layers, which may be one layer too deep."""
    link = draw(st.sampled_from(list(LINKS)))
    names = [LINKS[link]]
    while len(names) <= LAYERS_MAX:
        choices = LAYERS[names[-1]][0]
        last = draw(st.sampled_from(choices if len(names) < 10 else choices[-1:]))
        if last is None:
            break
        names.append(last)
    return link, names


def spec_of(link: int, names: list[str], flags: int) -> PacketSpec:
    spec = PacketSpec(linktype=link, flags=flags, count=len(names))
    for i, name in enumerate(names[:LAYERS_MAX]):
        spec.layers[i] = PROTOCOLS[name]
    return spec


def frame_of(names: list[str], payload: bytes) -> bytes:
    data, after = payload, None
    for name in reversed(names):
        data, after = LAYERS[name][1](data, after), name
    return data


def answer(call: Callable[..., int], data: bytes, link: int, *options: None) -> tuple[Any, ...]:
    """Returns the results of a function for a frame, and the bytes of the frame after the call."""
    memory = c.create_string_buffer(data, len(data))
    frame = Frame(c.addressof(memory), len(data), len(data), link, 0)
    sums = Sums()
    count = call(c.byref(frame), *options, sums, SUMS_MAX)
    return count, bytes(sums)[: max(count, 0) * SUM_BYTES], memory.raw


def changed(data: bytes, changes: list[tuple[int, int]]) -> bytes:
    out = bytearray(data)
    for at, value in changes:
        out[at % len(out)] = value
    return bytes(out)


changes = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=3)


@repeated(stacks(), st.integers(0, FILL), st.lists(changes, max_size=6), st.integers(0, 90))
def test_stacks(
    stack: tuple[int, list[str]], flags: int, edits: list[list[tuple[int, int]]], size: int
) -> None:
    """A function for random headers returns the verdicts of the library's walk."""
    link, names = stack
    spec = spec_of(link, names, flags)
    if len(names) > LAYERS_MAX:
        assert jit.carry_jit_packet_error(c.byref(spec)).startswith(b"count: ")
        return
    assert jit.carry_jit_packet_error(c.byref(spec)) is None
    reference = library.carry_packet_fill if flags else library.carry_packet_check
    with Made("carry_jit_packet", spec) as made:
        if made.error == UNSUPPORTED:
            pytest.skip("no functions for packets are made on this architecture")
        assert made.error == OK
        function = PACKET(made.address)
        empty = frame_of(names, bytes(range(size)))
        whole = answer(library.carry_packet_fill, empty, link, None)[2]
        for data in (empty, whole, *(changed(whole, edit) for edit in edits)):
            got = answer(function, data, link)
            if data in (empty, whole):
                assert got[0] != OTHER_SHAPE
            if got[0] == OTHER_SHAPE:
                assert got[2] == data
            else:
                assert got == answer(reference, data, link, None)


@repeated(
    st.integers(0, 2),
    st.integers(0, 300),
    st.integers(0, LAYERS_MAX + 2),
    st.lists(st.integers(0, len(PROTOCOLS) + 1), min_size=LAYERS_MAX, max_size=LAYERS_MAX),
    st.booleans(),
)
def test_other_stacks_are_refused(
    flags: int, link: int, count: int, layers: list[int], tidy: bool
) -> None:
    spec = PacketSpec(linktype=link, flags=flags, count=count)
    for i, layer in enumerate(layers):
        spec.layers[i] = layer if i < count or not tidy else 0
    expect_refusal("carry_jit_packet", spec)
