# SPDX-License-Identifier: MIT
"""Sums of bytes, compared with a plain sum, scapy, and combinations by the library."""

from __future__ import annotations

import array
import ctypes
import ipaddress
import mmap
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import captures
import libcarry
import pytest
from conftest import SOURCE, Script, many

pytest.importorskip("hypothesis", reason="python3-hypothesis is not installed")
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.sanitized

# An IPv4 header with its checksum, 0xb1e6.
HEADER = bytes.fromhex("4500003c1c4640004006b1e6ac100a63ac100a0c")

pieces = st.lists(st.binary(max_size=300), max_size=12)


def runs(parts: list[bytes]) -> tuple[bytes, array.array[int], array.array[int]]:
    """Returns the parts in one buffer, with offsets and sizes."""
    sizes = [len(part) for part in parts]
    offsets = [0, *accumulate(sizes)][: len(parts)]
    return b"".join(parts), array.array("Q", offsets), array.array("I", sizes)


# --- One buffer ---


def test_header() -> None:
    """The checksum of a valid header is 0; with 0 in its checksum field, it is the right value of
    the field."""
    assert libcarry.checksum(HEADER) == 0
    blank = HEADER[:10] + bytes(2) + HEADER[12:]
    assert libcarry.checksum(blank) == 0xB1E6
    assert libcarry.finish(libcarry.sum(blank)) == 0xB1E6


@given(st.binary(max_size=5000))
def test_checksum_agrees_with_a_plain_sum(data: bytes) -> None:
    assert libcarry.checksum(data) == captures.finish(data)


@given(st.binary(max_size=2000))
def test_checksum_agrees_with_scapy(data: bytes) -> None:
    utils = pytest.importorskip("scapy.utils", reason="python3-scapy is not installed")
    assert libcarry.checksum(data) == utils.checksum(data)


@given(st.binary(max_size=400), st.integers(0, 400))
def test_combine(data: bytes, at: int) -> None:
    """The sums of two parts are combined into the sum of the whole."""
    at = min(at, len(data))
    joined = libcarry.combine(libcarry.sum(data[:at]), libcarry.sum(data[at:]), at)
    assert libcarry.finish(joined) == libcarry.checksum(data)


@given(st.binary(max_size=400).filter(lambda data: len(data) % 2 == 0), st.binary(max_size=400))
def test_seed(first: bytes, second: bytes) -> None:
    """A sum continues the sum of the bytes before it."""
    sum_of_both = libcarry.sum(second, libcarry.sum(first))
    assert libcarry.finish(sum_of_both) == captures.finish(first + second)


@given(st.binary(max_size=300), st.integers(0, 300))
def test_crc32c_continues(data: bytes, at: int) -> None:
    assert libcarry.crc32c(data[at:], libcarry.crc32c(data[:at])) == libcarry.crc32c(data)


@given(st.binary(min_size=20, max_size=60), st.integers(0, 8), st.binary(min_size=4, max_size=4))
def test_update(data: bytes, at: int, new: bytes) -> None:
    """An update for changed bytes gives the checksum of the new bytes (RFC 1624)."""
    at *= 2
    changed = data[:at] + new + data[at + 4 :]
    updated = libcarry.update(captures.finish(data), data[at : at + 4], new)
    # 0x0000 and 0xffff are the same sum (RFC 1624)
    assert updated % 0xFFFF == captures.finish(changed) % 0xFFFF


@given(st.binary(max_size=3000))
def test_copy_sum(data: bytes) -> None:
    """A copy contains the bytes, and their sum is returned."""
    target = bytearray(len(data))
    assert libcarry.finish(libcarry.copy_sum(target, data)) == captures.finish(data)
    assert target == data


def test_nonzero() -> None:
    """finish_nonzero() returns 0xffff instead of 0, as UDP stores it."""
    assert libcarry.finish(0xFFFF) == 0
    assert libcarry.finish_nonzero(0xFFFF) == 0xFFFF
    assert libcarry.finish_nonzero(libcarry.sum(b"\x12\x34")) == 0xEDCB


@pytest.mark.parametrize(
    ("function", "src", "dst"),
    [(libcarry.pseudo4, "10.0.0.1", "192.0.2.7"), (libcarry.pseudo6, "2001:db8::1", "fe80::2")],
)
def test_pseudo_headers(function: Callable[..., int], src: str, dst: str) -> None:
    """Addresses may be text, objects or bytes, and the sum may continue another."""
    expected = captures.finish(captures.pseudo(src, dst, 17, 1234))
    addresses = ipaddress.ip_address(src), ipaddress.ip_address(dst)
    assert libcarry.finish(function(src, dst, 17, 1234)) == expected
    assert libcarry.finish(function(*addresses, 17, 1234)) == expected
    assert libcarry.finish(function(*(a.packed for a in addresses), 17, 1234)) == expected
    assert libcarry.finish(function(src, dst, 17, 1234, libcarry.sum(b"ab"))) == captures.finish(
        captures.pseudo(src, dst, 17, 1234) + b"ab"
    )


def test_addresses_that_raise() -> None:
    """An exception in an address reaches the caller."""

    class Address:
        @property
        def packed(self) -> bytes:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        libcarry.pseudo4(Address(), "10.0.0.1", 17, 0)


def test_objects_with_bytes(tmp_path: Any) -> None:  # noqa: ANN401
    """Every object with a buffer is summed, whatever its items are."""
    numpy = pytest.importorskip("numpy", reason="python3-numpy is not installed")
    path = tmp_path / "bytes"
    path.write_bytes(HEADER)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert libcarry.checksum(mapped) == 0
    for wrap in (bytearray, memoryview, lambda data: array.array("B", data)):
        assert libcarry.checksum(wrap(HEADER)) == 0
    numbers = numpy.frombuffer(HEADER, dtype=">u2")
    numbers.flags.writeable = False
    assert libcarry.checksum(numbers) == 0


# --- The oracle in C, which also tests the kernels ---


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    library = tmp_path_factory.mktemp("oracle") / "oracle.so"
    include = f"-I{SOURCE / 'tests'}"
    command = ["cc", "-shared", "-fPIC", include, "-o", library, SOURCE / "tests/harness/oracle.c"]
    # The compiler must not load the sanitizer.
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    subprocess.run(command, check=True, env=env)
    functions = ctypes.CDLL(str(library))
    functions.oracle_sum.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32]
    functions.oracle_sum.restype = ctypes.c_uint16
    functions.oracle_run.argtypes = [
        *(ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32)
    ]
    functions.oracle_run.restype = ctypes.c_uint32
    return functions


@given(st.binary(max_size=3000), st.integers(0, 2**32 - 1), st.integers(0, 7))
def test_sum_agrees_with_the_oracle(
    oracle: ctypes.CDLL, data: bytes, seed: int, shift: int
) -> None:
    view = memoryview(bytes(shift) + data)[shift:]
    expected = oracle.oracle_sum(data, len(data), seed).to_bytes(2, sys.byteorder)
    assert libcarry.checksum(view, seed) == int.from_bytes(expected) ^ 0xFFFF


@given(st.binary(max_size=3000), st.integers(0, 2**32 - 1))
def test_crc32c_agrees_with_the_oracle(oracle: ctypes.CDLL, data: bytes, seed: int) -> None:
    kind = ctypes.addressof(ctypes.c_char.in_dll(oracle, "oracle_crc32c"))
    assert libcarry.crc32c(data, seed) == oracle.oracle_run(kind, data, len(data), seed)


# --- Many runs ---


@given(pieces)
def test_many(parts: list[bytes]) -> None:
    """Many sums at once equal the plain sums of the parts."""
    data, offsets, sizes = runs(parts)
    sums = libcarry.sum_many(data, offsets, sizes)
    assert sums.format == "I"
    assert [libcarry.finish(s) for s in sums] == [captures.finish(part) for part in parts]
    checks = libcarry.checksum_many(data, offsets, sizes)
    assert (checks.format, list(checks)) == ("H", [captures.finish(part) for part in parts])


@given(pieces)
def test_many_continue_from_sums(parts: list[bytes]) -> None:
    data, offsets, sizes = runs(parts)
    seeds = array.array("I", range(len(parts)))
    checks = libcarry.checksum_many(data, offsets, sizes, sums=seeds)
    assert list(checks) == [
        libcarry.checksum(part, seed) for part, seed in zip(parts, seeds, strict=True)
    ]


def test_many_into_numpy() -> None:
    """Results can be stored into a numpy array."""
    numpy = pytest.importorskip("numpy", reason="python3-numpy is not installed")
    data = numpy.arange(3000, dtype=numpy.uint8)
    offsets = numpy.arange(0, 3000, 100, dtype=numpy.int64)
    sizes = numpy.full(30, 100, dtype=numpy.int32)
    out = numpy.zeros(30, dtype=numpy.uint16)
    assert libcarry.checksum_many(data, offsets, sizes, out=out) is out
    assert list(out) == [captures.finish(bytes(data[at : at + 100])) for at in offsets]
    assert list(numpy.asarray(libcarry.checksum_many(data, offsets, sizes))) == list(out)


# --- Wrong use ---


def Q(*numbers: int) -> array.array[int]:  # noqa: N802
    return array.array("Q", numbers)


def I(*numbers: int) -> array.array[int]:  # noqa: E743, N802
    return array.array("I", numbers)


def F(*numbers: float) -> array.array[float]:  # noqa: N802
    return array.array("f", numbers)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: libcarry.sum("text"), TypeError, "bytes-like"),
        (lambda: libcarry.sum(), TypeError, "takes 1 to 2"),
        (lambda: libcarry.sum(b"", -1), ValueError, "from 0 to 4294967295"),
        (lambda: libcarry.sum(b"", 1 << 32), ValueError, "from 0 to 4294967295"),
        (lambda: libcarry.sum(b"", 1 << 99), ValueError, "from 0 to"),
        (lambda: libcarry.sum(b"", 1.5), TypeError, "integer"),
        (lambda: libcarry.sum(memoryview(HEADER)[::2]), BufferError, "contiguous"),
        (lambda: libcarry.copy_sum(bytes(3), b"abc"), BufferError, "writable"),
        (lambda: libcarry.copy_sum(bytearray(3), b"abcd"), ValueError, "3 bytes, but the source 4"),
        (lambda: libcarry.update(1, b"a", b"b"), ValueError, "even number"),
        (lambda: libcarry.update(65536, b"", b""), ValueError, "check must be from 0 to 65535"),
        (lambda: libcarry.pseudo4("::1", "1.2.3.4", 6, 0), ValueError, "no address of IPv4"),
        (lambda: libcarry.pseudo6(b"1234", b"1234", 6, 0), ValueError, "no address of IPv6"),
        (lambda: libcarry.pseudo4(5, 5, 6, 0), ValueError, "no address of IPv4"),
        (lambda: libcarry.pseudo4("1.2.3.4\0", "1.2.3.4", 6, 0), ValueError, "embedded null"),
        (lambda: libcarry.pseudo4("1.2.3.4", "1.2.3.4", 256, 0), ValueError, "protocol"),
        (lambda: libcarry.sum_many(b"ab", Q(0), I(3)), ValueError, "run 0 lies outside the 2"),
        (lambda: libcarry.sum_many(b"ab", Q(3), I(0)), ValueError, "run 0 lies outside"),
        (lambda: libcarry.sum_many(b"ab", Q(2**64 - 1), Q(2)), ValueError, "run 0 lies outside"),
        (lambda: libcarry.sum_many(b"ab", Q(0, 1), I(1)), ValueError, "2 offsets, but 1 sizes"),
        (lambda: libcarry.sum_many(b"ab", array.array("q", [-1]), I(1)), ValueError, "run 0"),
        (lambda: libcarry.sum_many(b"ab", array.array("i", [-1]), I(1)), ValueError, "run 0"),
        (lambda: libcarry.sum_many(b"ab", b"\0", I(1)), TypeError, "offsets must be"),
        (lambda: libcarry.sum_many(b"ab", array.array("d", [0]), I(1)), TypeError, "offsets must"),
        (lambda: libcarry.sum_many(b"ab", [0], I(1)), TypeError, "bytes-like"),
        (
            lambda: libcarry.sum_many(b"ab", Q(0), I(1), sums=I()),
            ValueError,
            "1 offsets, but 0 sums",
        ),
        (
            lambda: libcarry.sum_many(b"ab", Q(0), I(1), sums=Q(1 << 32)),
            *(ValueError, r"sums\[0\] must be"),
        ),
        (lambda: libcarry.sum_many(b"ab", Q(0), I(1), out=F(0)), ValueError, "out must be"),
        (lambda: libcarry.sum_many(b"ab", Q(0), I(1), out=bytearray(3)), ValueError, "out must be"),
        (lambda: libcarry.sum_many(b"ab", Q(0), I(1), out=bytes(4)), BufferError, "writable"),
    ],
)
def test_wrong_use_raises(call: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_results_over_the_offsets(script: Script) -> None:
    """Offsets that results overwrite are checked again: no byte outside the buffer is read."""
    done = script(
        "import libcarry\n"
        "memory = memoryview(bytearray(8 * 4096))\n"
        "offsets, sizes = memory[:-8].cast('Q'), memoryview(bytearray(8 * 4095)).cast('Q')\n"
        "for i in range(4095): sizes[i] = 4\n"
        "out = memory[12:12 + 4 * 4095].cast('I')\n"
        "print(len(libcarry.sum_many(b'\\xff\\xfe\\xfd\\xfc', offsets, sizes, out=out)))\n"
    )
    assert (done.returncode, done.stdout) == (0, "4095\n"), done.stderr


def test_beyond_4_gib() -> None:
    """Runs beyond 4 GiB have the right sums; packets in a buffer of this size are refused."""
    size = (4 << 30) + 4096
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as data:
        data[-4:] = b"\x12\x34\x56\x78"
        checks = libcarry.checksum_many(data, Q(0, size - 4, size - 2), Q(4, 4, 2))
        assert list(checks) == [0xFFFF, 0xFFFF - 0x68AC, 0xFFFF - 0x5678]
        with pytest.raises(ValueError, match="at most 4294967295 bytes"):
            libcarry.packet_check(data)
        with pytest.raises(ValueError, match="at most 4294967295 bytes"):
            libcarry.packet_check_many(data, Q(0), Q(4))


def test_overlap() -> None:
    """A copy between buffers that overlap is refused and changes nothing."""
    data = bytearray(HEADER * 2)
    view = memoryview(data)
    with pytest.raises(ValueError, match="overlap"):
        libcarry.copy_sum(view[:20], view[4:24])
    assert data == HEADER * 2


def test_non_contiguous_numpy() -> None:
    """Arrays with gaps, or with another byte order, are refused."""
    numpy = pytest.importorskip("numpy", reason="python3-numpy is not installed")
    with pytest.raises((BufferError, ValueError), match="contiguous"):
        libcarry.sum(numpy.zeros((8, 8), dtype=numpy.uint8)[:, ::2])
    with pytest.raises(TypeError, match="offsets must be"):
        libcarry.sum_many(bytes(9), numpy.zeros((2, 2), dtype=numpy.int64), I(1))
    swapped = numpy.zeros(1, dtype=numpy.dtype(numpy.int64).newbyteorder())
    with pytest.raises(TypeError, match="byte order"):
        libcarry.sum_many(bytes(9), swapped, I(1))
    for kind in (numpy.dtype(numpy.uint32).newbyteorder(), numpy.float32):
        with pytest.raises(ValueError, match="byte order"):
            libcarry.sum_many(bytes(9), Q(0), I(1), out=numpy.zeros(1, dtype=kind))


def test_buffer_is_locked_during_a_call() -> None:
    """A buffer can be resized and released only after the call that uses it."""
    data = bytearray(many(5000))
    with pytest.raises(BufferError, match="cannot be re-sized"):
        libcarry.check(data, progress=lambda *numbers: data.extend(b"more"))
    view = memoryview(data)
    with pytest.raises(BufferError, match="export"):
        libcarry.check(view, progress=lambda *numbers: view.release())
    view.release()
    data.extend(b"more")
    libcarry.sum(data)
    del data[20:]
