# SPDX-License-Identifier: MIT
"""Makes many mutants of kernels: each has one change, and needs no more bytes than the kernel.

Instructions are dropped, exchanged, and replaced by others of the same kernel. Operands, widths,
mnemonics, conditions, targets of jumps, prefixes and single bits change, and vector instructions
lose or get VEX. The same seed makes the same mutants. Most of them are wrong; refute.py determines
on the CPU which.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from encoding import FILL, assembled, plain
from image import Instruction
from x86_64 import PARTS, PREFIX_BYTES

NOP = b"\x90"
WIDTHS = ("BYTE", "WORD", "DWORD", "QWORD", "XMMWORD", "YMMWORD", "ZMMWORD")
WIDTH_OF = {"x": "XMMWORD", "y": "YMMWORD", "z": "ZMMWORD"}
CONDITIONS = ("a", "ae", "b", "be", "e", "ne", "l", "ge", "g", "le", "s", "ns")
# A mnemonic may be replaced by any other mnemonic of its row.
FAMILIES = (
    ("add", "adc", "sub", "sbb", "and", "or", "xor", "cmp", "test", "mov"),
    ("shl", "shr", "rol", "ror", "sar"),
    ("inc", "dec", "neg", "not"),
    ("shlx", "shrx", "sarx"),
    ("movzx", "movsx"),
    ("vpaddd", "vpaddq", "vpaddw", "vpsubd", "vpsubq", "vpxor", "vpand", "vpmaddwd"),
    ("vpaddd", "vpaddq", "vpsubd", "vpxord", "vpandd", "vpxorq"),
    ("vpsrld", "vpsrlq", "vpsrlw", "vpslld", "vpsllq", "vpsllw", "vpsrad"),
    ("vmovd", "vmovq", "movd", "movq"),
    ("vmovdqu", "vmovdqa", "vlddqu", "movdqu", "movdqa", "movups", "movntdq"),
    ("vmovdqu8", "vmovdqu16", "vmovdqu32", "vmovdqu64"),
    ("kmovd", "kmovq", "kmovw"),
    ("paddd", "paddq", "psubq", "pxor", "pand"),
    ("punpckldq", "punpckhdq", "punpcklqdq", "punpckhqdq"),
    ("psrldq", "pslldq", "psrlq", "psllq"),
    ("vpdpwssd", "vpdpbusd", "vpmaddwd"),
    ("vzeroupper", "vzeroall"),
    ("pclmullqlqdq", "pclmulhqhqdq", "pclmullqhqdq"),
    ("movsb", "movsw", "movsd", "movsq", "stosb"),
)


@dataclass(frozen=True)
class Mutant:
    """One change: `code` replaces the same number of bytes at an address."""

    kind: str
    at: int
    code: bytes
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.before} -> {self.after}"


@dataclass(frozen=True)
class Text:
    """An instruction as text: it is assembled, and replaces another one."""

    kind: str
    place: Instruction
    text: str


def is_jump(i: Instruction) -> bool:
    return plain(i).startswith(("j", "call", "ret", "notrack"))


def is_fixed(i: Instruction) -> bool:
    """Returns whether an instruction depends on its address, or has no effect."""
    return is_jump(i) or "rip" in i.text or "nop" in i.text or plain(i) == "endbr64"


# --- As bytes ---


def fitted(i: Instruction, code: bytes) -> bytes | None:
    """Pads code with NOPs to the size of an instruction; returns None if it is longer."""
    return code + NOP * (len(i.code) - len(code)) if len(code) <= len(i.code) else None


def dropped(code: list[Instruction]) -> Iterator[Mutant]:
    for i in code:
        if "nop" not in i.text:
            yield Mutant("dropped", i.address, NOP * len(i.code), plain(i), "nothing")


def exchanged(code: list[Instruction]) -> Iterator[Mutant]:
    for i, j in itertools.pairwise(code):
        if i.after == j.address and not (is_fixed(i) or is_fixed(j)) and i.code != j.code:
            text = f"{plain(j)}; {plain(i)}"
            yield Mutant("exchanged", i.address, j.code + i.code, f"{plain(i)}; {plain(j)}", text)


def replaced(code: list[Instruction], chosen: random.Random) -> Iterator[Mutant]:
    """Replaces each instruction by some other instructions of the kernel."""
    free = [i for i in code if not is_fixed(i)]
    for i in code:
        others = [j for j in free if len(j.code) <= len(i.code) and j.code != i.code]
        if "nop" in i.text or not others:
            continue
        for j in chosen.sample(others, min(3, len(others))):
            whole = fitted(i, j.code)
            assert whole
            yield Mutant("replaced", i.address, whole, plain(i), plain(j))


def flipped(code: list[Instruction]) -> Iterator[Mutant]:
    for i in code:
        for bit in range(8 * len(i.code)):
            changed = bytearray(i.code)
            changed[bit // 8] ^= 1 << bit % 8
            yield Mutant("a bit", i.address, bytes(changed), plain(i), changed.hex(" "))


def prefixed(code: list[Instruction]) -> Iterator[Mutant]:
    """Changes prefixes that pad, and adds prefixes to instructions before a NOP."""
    after = {i.address: i for i in code}
    for i in code:
        pads = len(i.code) - len(i.code.lstrip(b"\x2e"))
        follower = after.get(i.after)
        room = 1 if follower and follower.code == NOP else 0
        for prefix in (*PREFIX_BYTES, *range(0x40, 0x50)):
            text = f"{prefix:02x} before"
            if pads:
                new = i.code[: pads - 1] + bytes([prefix]) + i.code[pads:]
                if new != i.code:
                    yield Mutant("a prefix", i.address, new, plain(i), text)
            elif room:
                yield Mutant("a prefix", i.address, bytes([prefix]) + i.code, plain(i), text)


# --- As text ---


def vector_names(name: str) -> list[str]:
    found = re.fullmatch(r"([xyz])mm(\d+)", name)
    assert found
    kind, n = found[1], int(found[2])
    near = {(n + step) % 32 for step in (1, -1, 2, 8, 16)} - {n}
    return [f"{kind}mm{m}" for m in sorted(near)]


def general_names(name: str) -> list[str]:
    index, width, first = PARTS[name]
    return [n for n, (i, w, f) in PARTS.items() if (w, f) == (width, first) and i not in (4, index)]


def other_operands(operand: str, chosen: random.Random) -> list[str]:
    if operand in PARTS:
        return chosen.sample(general_names(operand), 3)
    bare, brace, masks = operand.partition("{")
    if re.fullmatch(r"[xyz]mm\d+", bare):
        return [n + brace + masks for n in chosen.sample(vector_names(bare), 2)]
    if re.fullmatch(r"k\d", operand):
        return [f"k{(int(operand[1]) + 1) % 8}"]
    if re.fullmatch(r"0x[0-9a-f]+|\d+", operand):
        value = int(operand, 16)
        return [f"{value ^ (1 << bit):#x}" for bit in chosen.sample(range(7), 3)]
    return other_places(operand, chosen)


def other_places(operand: str, chosen: random.Random) -> list[str]:
    """Returns memory operands nearby, or with another register or index."""
    found = re.fullmatch(r"(?:(\w+) PTR )?\[(\w+)([^\]]*?)([+-]0x[0-9a-f]+)?\](.*)", operand)
    if not found or found[2] == "rip":
        return []
    width, base, index, offset, masks = found.groups()
    start = f"{width} PTR " if width else ""
    places = [
        f"{start}[{base}{index}{int(offset or '0', 16) + step:+#x}]{masks}"
        for step in (1, -1, 8, -8, 32, 64)
    ]
    if base in PARTS:
        other = chosen.choice(general_names(base))
        places.append(f"{start}[{other}{index}{offset or ''}]{masks}")
    if index:
        places.append(f"{start}[{base}{offset or ''}]{masks}")
        places.append(f"{start}[{base}{re.sub(r'[*][1248]', '*2', index)}{offset or ''}]{masks}")
    return chosen.sample(places, 4)


def operands_of(text: str) -> tuple[str, list[str]]:
    name, _, rest = re.sub(r"\s+", " ", text).partition(" ")
    if name in ("rep", "repz", "repnz"):
        return text, []
    return name, rest.split(",") if rest else []


def other_registers(i: Instruction, chosen: random.Random) -> Iterator[Text]:
    name, operands = operands_of(plain(i))
    for at, operand in enumerate(operands):
        for other in other_operands(operand, chosen):
            yield Text("an operand", i, f"{name} {','.join(with_one(operands, at, other))}")
    if len(operands) >= 2:
        yield Text("operands", i, f"{name} {','.join([*operands[1:], operands[0]])}")


def with_one(operands: list[str], at: int, other: str) -> list[str]:
    return [*operands[:at], other, *operands[at + 1 :]]


def wider(text: str, kind: str) -> str:
    """Returns a text in which all vectors, and their memory, have another width."""
    text = re.sub(r"[xyz]mm(\d+)", rf"{kind}mm\1", text)
    return re.sub(r"[XYZ]MMWORD", WIDTH_OF[kind], text)


def other_widths(i: Instruction) -> Iterator[Text]:
    text = plain(i)
    for kind in WIDTH_OF:
        if (other := wider(text, kind)) != text:
            yield Text("a width", i, other)
    for name in set(re.findall(r"\b[a-z]\w+\b", text)) & PARTS.keys():
        index, width, first = PARTS[name]
        parts = {w: n for n, (m, w, f) in PARTS.items() if m == index and f == 0}
        for other in (parts[w] for w in (8, 4, 2, 1) if w != width and not first):
            yield Text("a width", i, re.sub(rf"\b{name}\b", other, text))
            whole = "".join(same_width(w, other) for w in re.split(r"\b", text))
            if whole != text:
                yield Text("widths", i, whole)
    for width in WIDTHS[:4]:
        if "PTR" in text and f"{width} PTR" not in text:
            yield Text("a width", i, re.sub(r"\w+ PTR", f"{width} PTR", text))


def same_width(name: str, like: str) -> str:
    """Returns the part of a register that is as wide as another register."""
    if name not in PARTS:
        return name
    index, width = PARTS[name][0], PARTS[like][1]
    return next(n for n, (m, w, f) in PARTS.items() if (m, w, f) == (index, width, 0))


def other_names(i: Instruction) -> Iterator[Text]:
    text = plain(i)
    name, operands = operands_of(text)
    for family in FAMILIES:
        for other in family if name in family else ():
            if other != name:
                yield Text("a mnemonic", i, f"{other} {','.join(operands)}")
    for start in ("cmov", "set"):
        if name.startswith(start):
            for condition in CONDITIONS:
                if start + condition != name:
                    yield Text("a condition", i, f"{start}{condition} {','.join(operands)}")


def other_encodings(i: Instruction) -> Iterator[Text]:
    """Removes VEX, so that upper halves are kept, or adds VEX."""
    text = plain(i)
    name, operands = operands_of(text)
    if name.startswith("v") and operands:
        for parts in (operands, [operands[0], *operands[2:]], operands[:2]):
            short = wider(f"{name[1:]} {','.join(parts)}", "x")
            yield Text("without VEX", i, re.sub(r"(u|a)(8|16|32|64) ", r"\1 ", short))
    elif any("xmm" in o for o in operands):
        yield Text("with VEX", i, f"v{name} {','.join(operands)}")
        yield Text("with VEX", i, f"v{name} {','.join([operands[0], *operands])}")


def texts(code: list[Instruction], chosen: random.Random) -> Iterator[Text]:
    for i in code:
        if is_jump(i) or "nop" in i.text:
            continue
        yield from other_registers(i, chosen)
        yield from other_widths(i)
        yield from other_names(i)
        yield from other_encodings(i)


def from_texts(code: list[Instruction], chosen: random.Random) -> Iterator[Mutant]:
    """Yields the mutants of texts that assemble to no more bytes than they replace."""
    found = list(dict.fromkeys(texts(code, chosen)))
    slots = assembled([text.text for text in found])
    for text, slot in zip(found, slots, strict=True):
        new = slot.rstrip(bytes([FILL]))
        whole = fitted(text.place, new) if new else None
        if whole and "rip" not in text.text:
            yield Mutant(text.kind, text.place.address, whole, plain(text.place), text.text)


# --- Jumps ---


def other_jumps(code: list[Instruction]) -> Iterator[Mutant]:
    """Changes the conditions of jumps, and their targets to instructions nearby."""
    order = [i.address for i in code]
    for i in code:
        long = i.code[:1] == b"\x0f"
        opcode = 1 if long else 0
        if plain(i).startswith("j") and (long or i.code[0] & 0xF0 == 0x70):
            for bits in range(1, 16):
                new = bytearray(i.code)
                new[opcode] ^= bits
                yield Mutant("a condition", i.address, bytes(new), plain(i), new.hex(" "))
        yield from other_targets(i, order)


def other_targets(i: Instruction, order: list[int]) -> Iterator[Mutant]:
    found = re.fullmatch(r"j\w+ +([0-9a-f]+)", plain(i))
    if not found or int(found[1], 16) not in order:
        return
    size = 1 if len(i.code) == 2 else 4
    n = order.index(int(found[1], 16))
    for m in (n - 2, n - 1, n + 1, n + 2):
        if 0 <= m < len(order):
            distance = order[m] - i.after
            if -(1 << 8 * size - 1) <= distance < 1 << 8 * size - 1:
                new = i.code[:-size] + distance.to_bytes(size, "little", signed=True)
                yield Mutant("a target", i.address, new, plain(i), f"{order[m]:x}")


def every(code: Mapping[int, Instruction], chosen: random.Random) -> list[Mutant]:
    """Returns all mutants of a function; none has the bytes of the function itself."""
    listed = [code[at] for at in sorted(code)]
    makers: tuple[Callable[[], Iterator[Mutant]], ...] = (
        lambda: dropped(listed),
        lambda: exchanged(listed),
        lambda: replaced(listed, chosen),
        lambda: from_texts(listed, chosen),
        lambda: other_jumps(listed),
        lambda: prefixed(listed),
        lambda: flipped(listed),
    )
    whole = b"".join(i.code for i in listed)
    start = listed[0].address
    found: dict[tuple[int, bytes], Mutant] = {}
    for make in makers:
        for mutant in make():
            at = mutant.at - start
            if whole[at : at + len(mutant.code)] != mutant.code:
                found.setdefault((mutant.at, mutant.code), mutant)
    return list(found.values())
