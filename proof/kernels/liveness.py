# SPDX-License-Identifier: MIT
"""Computes which registers a function may still read from each of its instructions on."""

from __future__ import annotations

import re

from image import Instruction
from processor import Architecture, Immediate, Register, Vector
from x86_64 import NAMES, Decoded, Mask, Memory, decode

Names = frozenset[str]
# Instructions that write all of their first operand, and do not read it.
PLAIN = {"mov", "movzx", "lea", "pop", "rorx", "shlx", "bzhi", "movdqu", "movdqa", "movaps"}
PLAIN |= {"movsx", "movsxd", "bswap", "movups", "movq", "movd", "movntdq", "imul"}
ONLY_READ = {"cmp", "test", "bt", "push", "call", "jmp"}
NO_FLAGS = PLAIN - {"bzhi", "imul"} | {"endbr64", "nop", "sfence", "push", "not", "xchg"}
NO_FLAGS |= {"shlx", "rorx", "rep movs", "ret", "crc32", "bswap"}
IMPLIED = {"rep movs": (["rcx", "rsi", "rdi"], ["rcx", "rsi", "rdi"])}
IMPLIED |= {"call": (["rdi", "rsi", "rdx", "rsp"], [])}
IMPLIED |= {"push": (["rsp"], ["rsp"]), "pop": (["rsp"], ["rsp"]), "ret": (["rsp"], ["rsp"])}


def register_name(o: object) -> str | None:
    match o:
        case Register():
            return NAMES[o.index]
        case Vector():
            return f"v{o.index}"
        case Mask():
            return f"k{o.index}"
    return None


def operand_effects(d: Decoded) -> tuple[set[str], set[str]]:
    """Returns the registers that an instruction reads and writes through its operands."""
    reads: set[str] = set()
    writes: set[str] = set()
    for i, o in enumerate(d.operands):
        if isinstance(o, Memory):
            reads |= {NAMES[r] for r in (o.base, o.index) if r is not None}
        mask = getattr(o, "mask", None)
        if mask is not None:
            reads.add(f"k{mask}")
        name = register_name(o)
        if name is None:
            continue
        if i == 0 and d.name not in ONLY_READ:
            writes.add(name)
            whole = d.name in PLAIN or (d.vex and d.name != "vpdpwssd") or d.name.startswith("kmov")
            if whole and (not isinstance(o, Register) or o.width >= 4):
                continue
        if d.name in ("xchg",):
            writes.add(name)
        reads.add(name)
    same = len(d.operands) >= 2 and d.operands[-1] == d.operands[-2]
    if same and "xor" in d.name:
        reads -= {name for name in writes if name in reads}
        if len(d.operands) == 3:
            reads.discard(register_name(d.operands[-1]) or "")
    return reads, writes


def effects(d: Decoded) -> tuple[Names, Names]:
    reads, writes = operand_effects(d)
    more_reads, more_writes = IMPLIED.get(d.name, ([], []))
    reads |= set(more_reads)
    writes |= set(more_writes)
    if d.name in ("adc", "sbb") or re.match(r"(j(?!mp)|cmov|set)", d.name):
        reads.add("flags")
    if not (d.vex or d.name in NO_FLAGS or re.match(r"(j|cmov|set|k|prefetch|p)", d.name)):
        writes.add("flags")
    if d.name == "vzeroupper":
        writes.add("vzeroupper")
    return frozenset(reads), frozenset(writes)


def targets(i: Instruction) -> list[int]:
    """Returns the addresses at which execution may continue, inside or outside the function.
    Returns no addresses for a return, or for a jump whose target is in a register or in memory."""
    d = decode(i)
    if d.name == "ret":
        return []
    if d.name != "call" and not d.name.startswith("j"):
        return [i.after]
    found = [o.value for o in d.operands if isinstance(o, Immediate)]
    return found if d.name in ("jmp", "call") else [*found, i.after]


def live(code: dict[int, Instruction], at_return: Names, arch: Architecture) -> dict[int, Names]:
    """Returns, by address, the registers that are live before the instruction there. Code outside
    the function is assumed to read `at_return`, the registers of arguments, and the stack pointer.
    """
    result: dict[int, Names] = dict.fromkeys(code, frozenset())
    decoded = {at: arch.decode(i) for at, i in code.items()}
    found = {at: arch.effects(d) for at, d in decoded.items()}
    outside = at_return | {*arch.arguments, arch.names[arch.stack]}
    changed = True
    while changed:
        changed = False
        for at in sorted(code, reverse=True):
            after: set[str] = set()
            if decoded[at].name == "ret":
                after |= at_return
            for target in arch.targets(code[at]):
                after |= result.get(target, outside)
            reads, writes = found[at]
            now = frozenset((after - writes) | reads)
            if now != result[at]:
                result[at], changed = now, True
    return result
