# SPDX-License-Identifier: MIT
"""Lists the architectures whose kernels can be executed, by their names in ELF."""

from __future__ import annotations

import encoding
import liveness
import x86_64
from aarch64 import AARCH64
from processor import Architecture

X86_64 = Architecture(
    machine=x86_64.X86,
    meanings=x86_64.MEANINGS,
    names=x86_64.NAMES,
    stack=x86_64.RSP,
    kept=x86_64.KEPT,
    kept_vectors=(),
    arguments=("rdi", "rsi", "rdx", "rcx"),
    results=("rax", "rdx"),
    decode=x86_64.decode,
    effects=liveness.effects,
    targets=liveness.targets,
    returns_by_stack=True,
    unusual=encoding.unusual,
)
ARCHITECTURES = {"EM_X86_64": X86_64, "EM_AARCH64": AARCH64}
