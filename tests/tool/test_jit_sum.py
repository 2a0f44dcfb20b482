# SPDX-License-Identifier: MIT
"""Functions that sum, generated for random specs by libcarry-jit, called from Python."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("hypothesis", reason="python3-hypothesis is not installed")

from hypothesis import given, seed, settings
from hypothesis import strategies as st

SOURCE = Path(__file__).parents[2]
BUILD = Path(os.environ.get("CARRY_BUILD", SOURCE / "build"))
LIBRARY = BUILD / "jit/libcarry-jit.so"
if "CARRY_SANITIZED" in os.environ:
    pytest.skip("Python is not built with sanitizers", allow_module_level=True)
if not LIBRARY.exists():
    pytest.skip("libcarry-jit was left out of the build", allow_module_level=True)

SIZE_MAX = 4096
OK, INVALID, UNSUPPORTED = 0, -1, -3
COPY, WITH_SEED = 1, 2
PARTIAL, FOLD, FINISH, FINISH_NONZERO = range(4)
LEVELS = {"short": 50, "medium": 300, "long": 20000}
SEED = os.environ.get("CARRY_TEST_SEED")
SETTINGS = settings(
    max_examples=LEVELS[os.environ.get("CARRY_TEST_LEVEL", "medium")],
    derandomize=SEED is None,
    deadline=None,
    database=None,
)


class Spec(ctypes.Structure):
    """Mirrors struct carry_jit_sum_spec."""

    _fields_ = (
        ("min_size", ctypes.c_size_t),
        ("max_size", ctypes.c_size_t),
        ("multiple", ctypes.c_size_t),
        ("alignment", ctypes.c_size_t),
        ("flags", ctypes.c_uint32),
        ("result", ctypes.c_uint32),
        ("seed", ctypes.c_uint32),
        ("vector_bits", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32 * 4),
    )

    def __repr__(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name, _ in self._fields_[:-1])


class Function(ctypes.Structure):
    """Mirrors struct carry_jit."""

    _fields_ = (("address", ctypes.c_void_p), ("text_size", ctypes.c_size_t))


SUM = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32)
SUM_COPY = ctypes.CFUNCTYPE(
    ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32
)

jit = ctypes.CDLL(str(LIBRARY))
jit.carry_jit_sum_error.restype = ctypes.c_char_p

jit.carry_jit_release.argtypes = (ctypes.POINTER(Function),)


def repeated(*strategies: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Any]:
    """Works like `given`, with the number of examples and the seed that the environment sets."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        run = SETTINGS(given(*strategies)(test))
        return seed(int(SEED, 0))(run) if SEED else run

    return decorate


words = st.integers(0, 2**32 - 1)
sizes = st.one_of(st.integers(0, 200), st.integers(0, SIZE_MAX))


def sum_of(data: bytes, start: int) -> int:
    """Returns the sum of RFC 1071 in memory order: 0 only if all bytes and `start` are 0."""
    even = data + bytes(len(data) % 2)
    total = start + sum(memoryview(even).cast("H"))
    return total and (total % 0xFFFF or 0xFFFF)


def result_of(folded: int, kind: int) -> int:
    inverted = folded ^ 0xFFFF
    if kind == FINISH_NONZERO:
        return inverted or 0xFFFF
    return inverted if kind == FINISH else folded


@st.composite
def right_specs(draw: st.DrawFn) -> Spec:
    multiple = draw(st.one_of(st.integers(0, 8), st.integers(1, 300)))
    unit = multiple or 1
    least, most = sorted(draw(sizes) // unit * unit for _ in range(2))
    flags = draw(st.integers(0, COPY | WITH_SEED))
    return Spec(
        least,
        draw(st.sampled_from([least, most])),
        multiple,
        draw(st.sampled_from([0, 1, 2, 4, 8, 16, 32, 64])),
        flags,
        draw(st.integers(PARTIAL, FINISH_NONZERO)),
        draw(words) if flags & WITH_SEED else 0,
        draw(st.sampled_from([0, 64, 128, 256, 512])),
    )


any_specs = st.builds(
    Spec,
    sizes,
    st.one_of(sizes, st.integers(0, 2**64 - 1)),
    st.integers(0, 4),
    st.one_of(st.sampled_from([0, 1, 64, 4096, 8192]), st.integers(0, 2**64 - 1)),
    st.integers(0, 4),
    st.integers(0, 4),
    st.integers(0, 1),
    st.sampled_from([0, 32, 64, 96, 256, 1024]),
)


class Memory:
    """A buffer at a multiple of 64, between guard bytes."""

    def __init__(self) -> None:
        self.buffer = ctypes.create_string_buffer(SIZE_MAX + 3 * 64)
        self.start = -ctypes.addressof(self.buffer) % 64 + 64
        self.address = ctypes.addressof(self.buffer) + self.start

    def write(self, data: bytes) -> None:
        ctypes.memset(self.buffer, 0xA5, len(self.buffer))
        ctypes.memmove(self.address, data, len(data))


def call(spec: Spec, made: Function, data: bytes, start: int) -> int:
    """Returns the result. Checks the copied bytes and the guard bytes around them."""
    source, target = Memory(), Memory()
    source.write(data)
    target.write(b"")
    if not spec.flags & COPY:
        return SUM(made.address)(source.address, len(data), start)
    result = SUM_COPY(made.address)(target.address, source.address, len(data), start)
    assert target.buffer.raw[target.start :][: len(data)] == data
    assert set(target.buffer.raw[: target.start]) == {0xA5}
    assert set(target.buffer.raw[target.start + len(data) :]) == {0xA5}
    return result


def wrong_member(spec: Spec) -> str:
    """Returns the wrong member, as the C function names it; "" if none is wrong."""
    message = jit.carry_jit_sum_error(ctypes.byref(spec))
    return message.decode().partition(":")[0] if message else ""


@repeated(right_specs(), st.data(), words)
def test_right_specs(spec: Spec, rest: st.DataObject, start: int) -> None:
    """A function for a valid spec returns the same result as Python."""
    made = ctypes.POINTER(Function)()
    assert wrong_member(spec) == ""
    error = jit.carry_jit_sum(ctypes.byref(spec), ctypes.byref(made))
    if error == UNSUPPORTED:
        return
    assert error == OK
    unit = spec.multiple or 1
    steps = (spec.max_size - spec.min_size) // unit
    size = spec.min_size + rest.draw(st.integers(0, steps)) * unit
    pattern = rest.draw(st.binary(min_size=1, max_size=64))
    data = (pattern * (size // len(pattern) + 1))[:size]
    result = call(spec, made.contents, data, start)
    jit.carry_jit_release(made)
    if spec.result == PARTIAL:
        result = sum_of(b"", result)
    folded = sum_of(data, spec.seed if spec.flags & WITH_SEED else start)
    assert result == result_of(folded, spec.result)


@repeated(any_specs)
def test_any_specs(spec: Spec) -> None:
    """Wrong specs are refused with the name of a member; no spec crashes."""
    made = ctypes.POINTER(Function)()
    wrong = wrong_member(spec)
    error = jit.carry_jit_sum(ctypes.byref(spec), ctypes.byref(made))
    assert (error == INVALID) == bool(wrong)
    assert not wrong or wrong in dict(Spec._fields_)
    assert bool(made) == (error == OK)
    if error == OK:
        jit.carry_jit_release(made)
