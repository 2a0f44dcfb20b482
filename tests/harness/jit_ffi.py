# SPDX-License-Identifier: MIT
"""Calls libcarry-jit through ctypes, and the functions of libcarry to compare its output with."""

from __future__ import annotations

import ctypes as c
import os
from pathlib import Path

import pytest
from carry_tool import SOURCE

OK, INVALID, UNSUPPORTED = 0, -1, -3
COPY, SEED = 1, 2
PARTIAL, FOLD, FINISH, FINISH_NONZERO = range(4)
FILL = 1
OTHER_SHAPE = -1
LAYERS_MAX, SUMS_MAX = 16, 32
PROTOCOLS = {
    name: number
    for number, name in enumerate(
        line.split("(")[1].split(",")[0]
        for line in (SOURCE / "include/carry/protocols.def").read_text().splitlines()
        if line.startswith("CARRY_PROTOCOL(")
    )
}


class SumSpec(c.Structure):
    _fields_ = [
        ("min_size", c.c_size_t),
        ("max_size", c.c_size_t),
        ("multiple", c.c_size_t),
        ("alignment", c.c_size_t),
        ("flags", c.c_uint32),
        ("result", c.c_uint32),
        ("seed", c.c_uint32),
        ("vector_bits", c.c_uint32),
        ("reserved", c.c_uint32 * 4),
    ]


class PacketSpec(c.Structure):
    _fields_ = [
        ("linktype", c.c_uint32),
        ("flags", c.c_uint32),
        ("count", c.c_uint32),
        ("layers", c.c_uint8 * LAYERS_MAX),
        ("reserved", c.c_uint32 * 4),
    ]


class Frame(c.Structure):
    _fields_ = [
        ("data", c.c_void_p),
        ("captured", c.c_uint32),
        ("wire", c.c_uint32),
        ("linktype", c.c_uint32),
        ("scope", c.c_uint32),
    ]


class Jit(c.Structure):
    _fields_ = [("function", c.c_void_p), ("text_size", c.c_size_t)]


SUM_BYTES = 44  # size of struct carry_packet_sum
Sums = c.c_uint8 * (SUM_BYTES * SUMS_MAX)
SUM = c.CFUNCTYPE(c.c_uint32, c.c_void_p, c.c_size_t, c.c_uint32)
SUM_COPY = c.CFUNCTYPE(c.c_uint32, c.c_void_p, c.c_void_p, c.c_size_t, c.c_uint32)
PACKET = c.CFUNCTYPE(c.c_int, c.POINTER(Frame), Sums, c.c_size_t)


def _build() -> Path:
    tool = Path(os.environ.get("CARRY_TOOL", SOURCE / "build/tools/carry/carry"))
    return Path(os.environ.get("CARRY_BUILD", tool.parents[2]))


def _load(path: str) -> c.CDLL:
    if os.environ.get("CARRY_SANITIZED"):
        pytest.skip("Python is not instrumented, and cannot load what is", allow_module_level=True)
    if not (_build() / path).is_file():
        pytest.skip(f"{path} was not built", allow_module_level=True)
    return c.CDLL(str(_build() / path))


library = _load("src/libcarry.so")
jit = _load("jit/libcarry-jit.so")
for function in (library.carry_packet_check, library.carry_packet_fill):
    function.restype = c.c_size_t
    function.argtypes = [c.POINTER(Frame), c.c_void_p, Sums, c.c_size_t]
for function in (jit.carry_jit_sum_error, jit.carry_jit_packet_error):
    function.restype = c.c_char_p


class Made:
    """A generated function, valid inside a `with`; or `error`, the reason why there is none."""

    def __init__(self, maker: str, spec: SumSpec | PacketSpec) -> None:
        self._jit = c.POINTER(Jit)()
        self.error = getattr(jit, maker)(c.byref(spec), c.byref(self._jit))

    def __enter__(self) -> Made:
        return self

    def __exit__(self, *_: object) -> None:
        if self.error == OK:
            jit.carry_jit_release(self._jit)

    @property
    def address(self) -> int:
        return self._jit.contents.function
