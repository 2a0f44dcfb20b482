# SPDX-License-Identifier: MIT
"""Defines x86-64: registers, operands as objdump writes them, and a meaning for each instruction
that the kernels use, except instructions of words.py.

Source of the meanings: Intel SDM vol. 2. tests/unit/proof compares each with the CPU.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

import processor
from image import Instruction
from machine import Bits, Flags
from number import ZERO, Num, Unproven, number
from processor import Immediate, Processor, Register, Vector, add_carry, logic, shift, turn_right

LEGACY = ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"]
NAMES = [*LEGACY, *(f"r{i}" for i in range(8, 16))]
RSP = 4
KEPT = ("rbx", "rbp", "r12", "r13", "r14", "r15")
VECTOR_WIDTH = {"x": 16, "y": 32, "z": 64}
MEMORY_WIDTH = {"BYTE": 1, "WORD": 2, "DWORD": 4, "QWORD": 8}
MEMORY_WIDTH |= {"XMMWORD": 16, "YMMWORD": 32, "ZMMWORD": 64}
PREFIXES = {"cs", "data16", "{vex}", "notrack", "ds"}
PREFIX_BYTES = b"\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3"
DATA16 = 0x66
REP_MOVS = ("rep", "movs", "BYTE", "PTR", "es:[rdi],BYTE", "PTR", "ds:[rsi]")
ALL64 = (1 << 64) - 1


def names_of_parts() -> dict[str, tuple[int, int, int]]:
    """Returns the index, size and first byte of each general register and its parts, by name."""
    found = {}
    for i, name in enumerate(NAMES):
        found[name] = (i, 8, 0)
        if i >= 8:
            parts = [f"{name}d", f"{name}w", f"{name}b"]
        else:
            short = name[1:]
            parts = [f"e{short}", short, f"{short}l" if i >= 4 else f"{short[0]}l"]
        for part, width in zip(parts, (4, 2, 1), strict=True):
            found[part] = (i, width, 0)
        if i < 4:
            found[f"{name[1]}h"] = (i, 1, 1)
    return found


PARTS = names_of_parts()


@dataclass(frozen=True)
class Mask:
    index: int


@dataclass(frozen=True)
class Memory:
    width: int
    base: int | None
    index: int | None
    scale: int
    offset: int
    mask: int | None = None


Operand = Register | Vector | Mask | Immediate | Memory


@dataclass(frozen=True)
class Decoded(processor.Decoded):
    operands: tuple[Operand, ...]
    vex: bool


UNALIGNED = ("movdqu", "movups")
# State that a function must preserve, by instructions that change it.
KEPT_STATE = {"std": "the direction flag", "stmxcsr": "MXCSR", "ldmxcsr": "MXCSR"}
KEPT_STATE |= dict.fromkeys(("fnstcw", "fldcw"), "the x87 control word")


def mask_of(text: str) -> tuple[str, int | None, bool]:
    found = re.fullmatch(r"(.*?)(?:\{k([1-7])\})?(\{z\})?", text)
    assert found
    return found[1], int(found[2]) if found[2] else None, bool(found[3])


def operand(text: str, after: int) -> Operand:
    text, mask, zeroes = mask_of(text.strip())
    if text in PARTS:
        return Register(*PARTS[text])
    if found := re.fullmatch(r"([xyz])mm(\d+)", text):
        return Vector(int(found[2]), VECTOR_WIDTH[found[1]], mask, zeroes)
    if (found := re.fullmatch(r"k(\d)", text)) and mask is None:
        return Mask(int(found[1]))
    if found := re.fullmatch(r"(?:(\w+) PTR )?(?:[de]s:)?\[(.*)\]", text):
        try:
            return memory(found[1], found[2], after, mask)
        except (KeyError, ValueError):
            raise Unproven(f"unknown operand: {text}") from None
    if re.fullmatch(r"mm[0-7]|st(\(\d\))?", text):
        raise Unproven(f"touches x87 registers: {text}")
    if re.fullmatch(r"0x[0-9a-f]+|[0-9a-f]+", text):
        return Immediate(int(text, 16))
    raise Unproven(f"unknown operand: {text}")


def memory(width: str | None, inside: str, after: int, mask: int | None) -> Memory:
    base = index = None
    scale, offset = 1, 0
    for part in re.findall(r"[+-]?[^+-]+", inside):
        sign, part = (-1 if part[0] == "-" else 1), part.lstrip("+-")
        if part == "rip":
            offset += after
        elif "*" in part:
            name, times = part.split("*")
            index, scale = (None if name == "riz" else NAMES.index(name)), int(times)
        elif part in NAMES:
            base = NAMES.index(part)
        else:
            offset += sign * int(part, 16)
    return Memory(MEMORY_WIDTH[width] if width else 0, base, index, scale, offset, mask)


def prefixes(code: bytes) -> bytes:
    return code[: len(code) - len(code.lstrip(PREFIX_BYTES))]


@functools.cache
def decode(instruction: Instruction) -> Decoded:
    text = re.sub(r"\s*(#.*|<.*>)", "", instruction.text)
    words = text.split(None, 1)
    while words and words[0] in PREFIXES:
        words = words[1].split(None, 1) if len(words) > 1 else []
    if not words:
        return Decoded("nop", (), instruction.after, False)
    name, rest = words[0], words[1] if len(words) > 1 else ""
    if name.startswith(("j", "call", "ret")) and DATA16 in prefixes(instruction.code):
        return Decoded(f"data16 {name}", (), instruction.after, False)  # CPUs differ here
    if name in ("rep", "repz", "repnz"):
        name = "rep movs" if (name, *rest.split()) == REP_MOVS else f"{name} {rest}"
        return Decoded(name, (), instruction.after, False)
    vex = name.startswith("v")
    if name == "nop" or name.startswith("prefetch"):
        rest = "" if name == "nop" else rest
    operands = tuple(operand(t, instruction.after) for t in rest.split(",")) if rest else ()
    return Decoded(name, operands, instruction.after, vex)


class X86(Processor):
    """The operands of x86-64 in a state."""

    def check_instruction(self, d: processor.Decoded) -> None:
        """Checks that state is preserved, and that SSE operands in memory are aligned."""
        if d.name in KEPT_STATE:
            raise Unproven(f"touches {KEPT_STATE[d.name]}")
        if d.name.startswith("v") or d.name in UNALIGNED:
            return
        vectors = [o for o in d.operands if isinstance(o, Memory) and o.width == 16]
        if any(self.constant(self.address(o), 4, "an alignment") % 16 for o in vectors):
            raise Unproven("an address that must be aligned is not")

    def red_zone(self) -> int:
        top = self.number(self.state.gpr[RSP]) - self.state.regions["stack"].base
        return self.constant(top, 64, "the stack pointer") - 128

    # --- Reading and writing ---

    def address(self, m: Memory) -> Num:
        result = number(m.offset)
        if m.base is not None:
            result = result + self.number(self.state.gpr[m.base])
        if m.index is not None:
            result = result + self.number(self.state.gpr[m.index]) * m.scale
        if result.constant is not None:
            return number(result.c & ALL64)
        return result

    def read(self, o: object, width: int = 0) -> Bits:
        match o:
            case Memory():
                return self.load(self.address(o), width or o.width)
            case Mask():
                return ((8, self.state.masks[o.index]),)
        return super().read(o, width)

    def value(self, o: Operand, width: int = 0) -> Num:
        return self.number(self.read(o, width))

    def write(self, o: Operand, bits: Bits, vex: bool = False) -> None:
        if getattr(o, "mask", None) is not None:
            raise Unproven("no meaning for this with a mask")
        match o:
            case Register():
                self.write_register(o, bits)
            case Vector():
                self.write_vector(o, bits, vex)
            case Memory():
                self.store(self.address(o), bits)
            case _:
                raise Unproven("writes to no register and no memory")

    def write_vector(self, o: Vector, bits: Bits, vex: bool) -> None:
        size = sum(n for n, _ in bits)
        if vex:
            self.state.dirty |= size > 16 and o.index < 16
            rest: Bits = ((64 - size, ZERO),) if size < 64 else ()
        else:
            rest = self.take(self.state.vec[o.index], size, 64 - size)
        self.state.vec[o.index] = (*bits, *rest)

    def put(self, o: Operand, value: Num) -> None:
        """Writes a number to a general register or memory of its width."""
        assert isinstance(o, Register | Memory)
        value = self.low(value, 8 * o.width) if value.data else self.trim(value, 8 * o.width)
        self.write(o, ((o.width, value),))

    def push(self, value: Num) -> None:
        top = self.number(self.state.gpr[RSP]) - 8
        self.state.gpr[RSP] = ((8, top),)
        self.store(top, ((8, value),))


Meaning = Callable[[X86, Decoded], None]
MEANINGS: dict[str, Meaning] = {}


def means(*names: str) -> Callable[[Meaning], Meaning]:
    def add(f: Meaning) -> Meaning:
        MEANINGS.update(dict.fromkeys(names, f))
        return f

    return add


# --- Moves ---


@means("nop", "endbr64")
def nothing(x: X86, d: Decoded) -> None:
    pass


@means("sfence")
def sfence(x: X86, d: Decoded) -> None:
    """Orders all earlier stores before later ones: SDM vol. 3, 9.2.5."""
    x.state.streams = False


@means("prefetcht0")
def prefetch(x: X86, d: Decoded) -> None:
    """Checks that the address does not depend on the data; has no other effect."""
    (place,) = d.operands
    assert isinstance(place, Memory)
    if x.address(place).data:
        raise Unproven("an address depends on the data")


@means("mov")
def mov(x: X86, d: Decoded) -> None:
    to, source = d.operands
    assert isinstance(to, Register | Memory)
    x.write(to, x.read(source, to.width if isinstance(source, Immediate) else 0))


@means("movzx")
def movzx(x: X86, d: Decoded) -> None:
    to, source = d.operands
    assert isinstance(to, Register)
    bits = x.read(source)
    if not any(value.data for _, value in bits):
        bits = tuple((n, x.exact(value, 8 * n)) for n, value in bits)
    x.write(to, (*bits, (to.width - sum(n for n, _ in bits), ZERO)))


@means("movsx", "movsxd")
def movsx(x: X86, d: Decoded) -> None:
    to, source = d.operands
    assert isinstance(to, Register) and isinstance(source, Register | Memory)
    bits = 8 * source.width
    value = x.exact(x.value(source), bits)
    x.put(to, value - x.atoms.quotient(value, bits - 1) * (1 << bits))


@means("xchg")
def xchg(x: X86, d: Decoded) -> None:
    a, b = d.operands
    first, second = x.read(a), x.read(b)
    x.write(a, second)
    x.write(b, first)


@means("bswap")
def bswap(x: X86, d: Decoded) -> None:
    (to,) = d.operands
    assert isinstance(to, Register) and to.width >= 4  # with 16 bits the result is undefined
    parts = x.groups(x.read(to), 1)[::-1]
    x.write(to, tuple(piece for part in parts for piece in part))


@means("lea")
def lea(x: X86, d: Decoded) -> None:
    to, place = d.operands
    assert isinstance(to, Register) and isinstance(place, Memory)
    value = x.address(place)
    if to.width == 4 and value.data:
        value = number(place.offset)  # the lower halves decide the lower half of the sum
        for index, scale in ((place.base, 1), (place.index, place.scale)):
            if index is not None:
                value += x.value(Register(index, 4, 0)) * scale
    x.put(to, value)


@means("push")
def push(x: X86, d: Decoded) -> None:
    (source,) = d.operands
    assert isinstance(source, Immediate) or getattr(source, "width", 0) == 8
    x.push(x.value(source))


@means("pop")
def pop(x: X86, d: Decoded) -> None:
    (to,) = d.operands
    assert isinstance(to, Register) and to.width == 8
    top = x.number(x.state.gpr[RSP])
    bits = x.load(top, 8)
    x.state.gpr[RSP] = ((8, top + 8),)
    x.write(to, bits)


@means("rep movs")
def rep_movs(x: X86, d: Decoded) -> None:
    """Copies rcx bytes from rsi to rdi, upwards, as the direction flag is clear at calls."""
    count, source, target = (x.number(x.state.gpr[i]) for i in (1, 6, 7))
    count = x.exact(count, 64)
    if count.data:
        raise Unproven("a count depends on the data")
    if x.is_positive(count):
        if "stack" in [found[0].name for a in (source, target) if (found := x.region_of(a))]:
            raise Unproven("copies from or to the stack")
        x.access(source, count)
        note = x.state.accesses[-1]
        x.access(target, count, ((0, x.atoms.byte(note.region, note.offset)),))
    x.state.gpr[1] = ((8, ZERO),)
    x.state.gpr[6] = ((8, source + count),)
    x.state.gpr[7] = ((8, target + count),)


# --- Sums ---


def add_to(x: X86, d: Decoded, carry: Num) -> None:
    to, source = d.operands
    assert isinstance(to, Register | Memory)
    total = add_carry(x, x.value(to), x.value(source, to.width), carry, 8 * to.width)
    x.write(to, ((to.width, total),))


@means("add")
def add(x: X86, d: Decoded) -> None:
    add_to(x, d, ZERO)


@means("adc")
def adc(x: X86, d: Decoded) -> None:
    add_to(x, d, x.carry())


@means("sub", "cmp")
def sub(x: X86, d: Decoded) -> None:
    to, source = d.operands
    assert isinstance(to, Register | Memory)
    left, right = x.value(to), x.value(source, to.width)
    x.set_flags(left, right, 8 * to.width, compared=True)
    if d.name == "sub":
        x.put(to, ZERO if left.same(right) else left - right)


@means("sbb")
def sbb(x: X86, d: Decoded) -> None:
    to, source = d.operands
    assert isinstance(to, Register | Memory)
    result = x.value(to) - x.value(source, to.width) - x.carry()
    x.put(to, result)
    x.set_flags(result, ZERO, 8 * to.width)


@means("neg")
def neg(x: X86, d: Decoded) -> None:
    (to,) = d.operands
    assert isinstance(to, Register)
    value = x.value(to)
    x.set_flags(ZERO, value, 8 * to.width, compared=True)
    x.put(to, -value)


@means("dec", "inc")
def dec(x: X86, d: Decoded) -> None:
    (to,) = d.operands
    assert isinstance(to, Register)
    value = x.value(to) + (1 if d.name == "inc" else -1)
    carry = None if x.state.flags.compared else x.state.flags.carry
    x.put(to, value)
    x.set_flags(value, ZERO, 8 * to.width, carry)


@means("not")
def invert(x: X86, d: Decoded) -> None:
    (to,) = d.operands
    assert isinstance(to, Register)
    x.put(to, number((1 << 8 * to.width) - 1) - x.exact(x.value(to), 8 * to.width))


@means("imul")
def imul(x: X86, d: Decoded) -> None:
    to, source, factor = d.operands
    assert isinstance(to, Register) and isinstance(factor, Immediate)
    x.put(to, x.value(source) * factor.value)
    x.state.flags = Flags()


# --- Bits ---


@means("and", "or", "xor", "test")
def bitwise(x: X86, d: Decoded) -> None:
    to, source = d.operands
    assert isinstance(to, Register | Memory)
    name = "and" if d.name == "test" else d.name
    left, right = x.read(to), x.read(source, to.width)
    if to == source:
        result: Bits = ((to.width, ZERO),) if name == "xor" else left
    else:
        result = logic(x, name, left, right)
    if d.name != "test":
        x.write(to, result)
    x.set_flags(x.number(result), ZERO, 8 * to.width, ZERO)


@means("bt")
def bt(x: X86, d: Decoded) -> None:
    value, at = d.operands
    assert isinstance(at, Immediate) and isinstance(value, Register)
    n = at.value % (8 * value.width)
    known = x.constant(x.value(value), n + 1, "a bit that is tested")
    x.state.flags = Flags(carry=number(known >> n & 1), known=False)


@means("shl", "shr", "rol")
def shift_by(x: X86, d: Decoded) -> None:
    to = d.operands[0]
    assert isinstance(to, Register)
    count = x.value(d.operands[1], 1) if len(d.operands) > 1 else number(1)
    by = x.constant(count, 8, "a shift") & (63 if to.width == 8 else 31)
    result = shift(x, x.read(to), d.name, by)
    x.write(to, result)
    if by and d.name != "rol":
        x.set_flags(x.number(result), ZERO, 8 * to.width)
    else:
        x.state.flags.carry, x.state.flags.compared = None, False


@means("shlx", "rorx")
def shift_apart(x: X86, d: Decoded) -> None:
    """Shifts without changing flags."""
    to, source, count = d.operands
    assert isinstance(to, Register)
    by = x.constant(x.value(count, 1), 6 if to.width == 8 else 5, "a shift")
    bits = x.read(source)
    result = shift(x, bits, "shl", by) if d.name == "shlx" else turn_right(x, bits, by)
    x.write(to, result)


@means("bzhi")
def bzhi(x: X86, d: Decoded) -> None:
    to, source, count = d.operands
    assert isinstance(to, Register)
    n = x.constant(x.value(count), 8, "a count of bits")
    bits = x.read(source)
    if n < 8 * to.width:
        mask = ((to.width, number((1 << n) - 1)),)
        bits = logic(x, "and", bits, mask)
    x.write(to, bits)
    x.set_flags(x.number(bits), ZERO, 8 * to.width, number(int(n >= 8 * to.width)))


# --- Vectors ---


def masked(x: X86, o: Vector | Memory, n: int) -> int | None:
    return None if o.mask is None else x.constant(x.state.masks[o.mask], n, "a mask")


@means("movntdq")
def stream_vector(x: X86, d: Decoded) -> None:
    """Makes a non-temporal store, which is not ordered with other stores."""
    move_vector(x, d)
    x.state.streams = True


@means("vmovdqu", "vmovdqu64", "movdqu", "movups", "movdqa", "movaps")
def move_vector(x: X86, d: Decoded) -> None:
    to, source = d.operands
    assert isinstance(to, Vector | Memory) and isinstance(source, Vector | Memory)
    x.write(to, x.read(source), d.vex)


@means("vmovdqu8")
def move_masked(x: X86, d: Decoded) -> None:
    to, source = d.operands
    assert isinstance(to, Vector | Memory)
    mask = masked(x, to, to.width)
    if mask is None:
        return move_vector(x, d)
    if isinstance(to, Vector):
        assert isinstance(source, Memory) and to.zeroes
        loaded = load_masked(x, x.address(source), to.width, mask)
        return x.write_vector(to, loaded, True)
    store_masked(x, x.address(to), x.read(source), mask)
    return None


def runs(mask: int, size: int) -> list[tuple[int, int, bool]]:
    """Returns the start, length and value of each run of equal bits."""
    found = []
    at = 0
    while at < size:
        bit = mask >> at & 1
        n = 1
        while at + n < size and mask >> at + n & 1 == bit:
            n += 1
        found.append((at, n, bool(bit)))
        at += n
    return found


def load_masked(x: X86, address: Num, size: int, mask: int) -> Bits:
    parts: list[tuple[int, Num]] = []
    for at, n, is_set in runs(mask, size):
        parts += x.load(address + at, n) if is_set else [(n, ZERO)]
    return tuple(parts)


def store_masked(x: X86, address: Num, bits: Bits, mask: int) -> None:
    for at, n, is_set in runs(mask, sum(width for width, _ in bits)):
        if is_set:
            x.store(address + at, x.take(bits, at, n))


@means("vmovq", "movq", "vmovd", "movd")
def move_low(x: X86, d: Decoded) -> None:
    to, source = d.operands
    width = 8 if d.name.endswith("q") else 4
    if isinstance(to, Vector):
        x.write(to, (*x.take(x.read(source), 0, width), (16 - width, ZERO)), d.vex)
    else:
        x.write(to, x.read(source, width))


@means("vpextrq")
def vpextrq(x: X86, d: Decoded) -> None:
    to, source, at = d.operands
    assert isinstance(at, Immediate)
    x.write(to, x.take(x.read(source), 8 * (at.value & 1), 8))


@means("vextracti128", "vextracti64x4")
def extract(x: X86, d: Decoded) -> None:
    to, source, at = d.operands
    assert isinstance(to, Vector) and isinstance(at, Immediate)
    x.write(to, x.take(x.read(source), to.width * (at.value & 1), to.width), True)


@means("vbroadcasti128", "vpbroadcastd")
def broadcast(x: X86, d: Decoded) -> None:
    to, source = d.operands
    assert isinstance(to, Vector)
    width = 16 if d.name == "vbroadcasti128" else 4
    x.write(to, x.read(source, width) * (to.width // width), True)


@means("kmovq", "kmovd")
def kmov(x: X86, d: Decoded) -> None:
    to, source = d.operands
    assert isinstance(to, Mask)
    width = 8 if d.name == "kmovq" else 4
    x.state.masks[to.index] = x.exact(x.value(source), 8 * width)


@means("vzeroupper")
def vzeroupper(x: X86, d: Decoded) -> None:
    x.state.dirty = False
    for i in range(16):
        x.state.vec[i] = (*x.take(x.state.vec[i], 0, 16), (48, ZERO))


@means("vpxor", "vpxord", "pxor", "vpand", "vpandd")
def vector_logic(x: X86, d: Decoded) -> None:
    to = d.operands[0]
    a, b = d.operands[-2:] if len(d.operands) > 2 else d.operands
    name = "and" if "and" in d.name else "xor"
    if a == b:
        size = a.width  # type: ignore[union-attr]
        result: Bits = ((size, ZERO),) if name == "xor" else x.read(a)
    else:
        left, right = x.read(a), x.read(b)
        result = vector_and(x, left, right) if name == "and" else logic(x, name, left, right)
    x.write(to, result, d.vex)


def vector_and(x: X86, left: Bits, right: Bits) -> Bits:
    """Returns the and of two vectors, one of which is a constant of bytes 0 and 0xff."""
    if any(v.constant is None for _, v in right):
        left, right = right, left
    known = x.by_bytes(right)
    if known is None or any(n.constant not in (0, 0xFF) for n in known):
        raise Unproven("no meaning for an and of two vectors of data")
    parts: list[tuple[int, Num]] = []
    mask = sum(1 << i for i, n in enumerate(known) if n.c)
    for at, n, is_set in runs(mask, len(known)):
        parts += x.take(left, at, n) if is_set else [(n, ZERO)]
    return tuple(parts)


@means("vpternlogd")
def vpternlogd(x: X86, d: Decoded) -> None:
    to, _, _, table = d.operands
    assert isinstance(to, Vector)
    if table != Immediate(0xFF):
        raise Unproven("no meaning for this vpternlogd")
    mask = masked(x, to, to.width // 4)
    if mask is not None and not to.zeroes:
        raise Unproven("no meaning for this vpternlogd")
    ones = range(to.width // 4)
    parts = ((4, number(0xFFFFFFFF if mask is None or mask >> i & 1 else 0)) for i in ones)
    x.write_vector(to, tuple(parts), True)


@means("vpcmpeqd", "vpcmpeqw")
def compare_equal(x: X86, d: Decoded) -> None:
    to, a, b = d.operands
    assert isinstance(to, Vector)
    if a != b:
        raise Unproven("compares vectors of data")
    x.write(to, tuple((1, number(0xFF)) for _ in range(to.width)), True)


LANE = {"b": 1, "w": 2, "d": 4, "q": 8}


@means("vpaddd", "vpaddq", "paddq", "vpsubq")
def add_lanes(x: X86, d: Decoded) -> None:
    to = d.operands[0]
    a, b = d.operands[-2:] if len(d.operands) > 2 else d.operands
    width = LANE[d.name[-1]]
    sign = -1 if "sub" in d.name else 1
    left, right = x.lanes(x.read(a), width), x.lanes(x.read(b), width)
    sums = (u + v * sign for u, v in zip(left, right, strict=True))
    x.write(to, tuple((width, s) for s in sums), d.vex)


@means("vpaddb")
def add_masked_bytes(x: X86, d: Decoded) -> None:
    """Adds bytes of memory that the mask selects to the bytes of a register. The other bytes of the
    register must stay. The register must hold 0 or 0x80 in each byte: an addition of 0x80 modulo
    256 flips the sign bit."""
    to, a, b = d.operands
    assert isinstance(to, Vector)
    mask = masked(x, to, to.width)
    if mask is None or to.zeroes or (not isinstance(a, Memory) and not isinstance(b, Memory)):
        raise Unproven("no meaning for this vpaddb")
    memory, register = (a, b) if isinstance(a, Memory) else (b, a)
    signs = x.by_bytes(x.read(register))
    assert isinstance(memory, Memory)
    if signs is None or any(n.constant not in (0, 0x80) for n in signs):
        raise Unproven("adds bytes that may carry")
    if x.by_bytes(x.read(to)) != signs:
        raise Unproven("leaves other bytes than it adds to")
    added = load_masked(x, x.address(memory), to.width, mask)
    x.write_vector(to, logic(x, "xor", added, tuple((1, n) for n in signs)), True)


@means("vpmaddwd")
def vpmaddwd(x: X86, d: Decoded) -> None:
    to, a, b = d.operands
    x.write(to, tuple((4, n) for n in dot(x, x.read(a), x.read(b))), True)


@means("vpdpwssd")
def vpdpwssd(x: X86, d: Decoded) -> None:
    to, a, b = d.operands
    products = dot(x, x.read(a), x.read(b))
    old = x.lanes(x.read(to), 4)
    x.write(to, tuple((4, u + v) for u, v in zip(old, products, strict=True)), True)


def dot(x: X86, a: Bits, b: Bits) -> list[Num]:
    """Returns, for each lane of 32 bits, the sum of the products of its two signed words."""
    left = [signed_word(x, n) for n in x.lanes(a, 2)]
    right = [signed_word(x, n) for n in x.lanes(b, 2)]
    products = [product(u, v) for u, v in zip(left, right, strict=True)]
    return [products[i] + products[i + 1] for i in range(0, len(products), 2)]


def product(u: Num, v: Num) -> Num:
    if u.constant is not None:
        u, v = v, u
    if v.constant is None:
        raise Unproven("multiplies data by data")
    return u * v.c


def signed_word(x: X86, value: Num) -> Num:
    if value.low >= -0x8000 and value.high < 0x8000:
        return value
    value = x.atoms.exact(value, 16)
    if value.high < 0x8000:
        return value
    if value.constant is not None:
        return number((value.c ^ 0x8000) - 0x8000)
    return value - x.atoms.quotient(value, 15) * 0x10000


@means("vpsrld", "vpsrlq", "vpsrlw", "vpsllq", "vpsllw", "psrldq", "vpsrldq")
def shift_lanes(x: X86, d: Decoded) -> None:
    to = d.operands[0]
    source, by = d.operands[-2:] if len(d.operands) > 2 else d.operands
    assert isinstance(by, Immediate)
    bits = x.read(source)
    size = sum(n for n, _ in bits)
    if d.name in ("psrldq", "vpsrldq"):
        width, count = 16, 8 * by.value
    else:
        width, count = LANE[d.name[-1]], by.value
    if count >= 8 * width:
        return x.write(to, ((size, ZERO),), d.vex)
    name = "shr" if "srl" in d.name else "shl"
    parts = [p for group in x.groups(bits, width) for p in shift(x, group, name, count)]
    x.write(to, tuple(parts), d.vex)
    return None


@means("vprolvd")
def vprolvd(x: X86, d: Decoded) -> None:
    to, source, counts = d.operands
    bits = x.read(source)
    turns = [x.constant(n, 5, "a shift") for n in x.lanes(x.read(counts), 4)]
    parts: list[tuple[int, Num]] = []
    for i, by in enumerate(turns):
        parts += shift(x, x.take(bits, 4 * i, 4), "rol", by)
    x.write(to, tuple(parts), True)


@means("vpshufb")
def vpshufb(x: X86, d: Decoded) -> None:
    to, source, control = d.operands
    bits = x.read(source)
    order = x.by_bytes(x.read(control))
    if order is None or any(n.constant is None for n in order):
        raise Unproven("a shuffle depends on the data")
    parts: list[tuple[int, Num]] = []
    for i, n in enumerate(order):
        at = i // 16 * 16 + (n.c & 15)
        parts += [(1, ZERO)] if n.c & 0x80 else x.take(bits, at, 1)
    x.write(to, tuple(parts), True)


@means("punpckldq", "punpckhdq", "punpcklqdq")
def unpack(x: X86, d: Decoded) -> None:
    to, source = d.operands
    width = 8 if d.name.endswith("qdq") else 4
    a, b = x.read(to), x.read(source)
    start = 8 if "h" in d.name[-4:-2] else 0
    parts: list[tuple[int, Num]] = []
    for at in range(start, start + 8, width):
        parts += [*x.take(a, at, width), *x.take(b, at, width)]
    x.write(to, tuple(parts))


@means("shufps")
def shufps(x: X86, d: Decoded) -> None:
    to, source, order = d.operands
    assert isinstance(order, Immediate)
    a, b = x.read(to), x.read(source)
    parts: list[tuple[int, Num]] = []
    for i in range(4):
        parts += x.take(a if i < 2 else b, 4 * (order.value >> 2 * i & 3), 4)
    x.write(to, tuple(parts))


# --- Conditions ---


def move_if(condition: str) -> Meaning:
    def f(x: X86, d: Decoded) -> None:
        to, source = d.operands
        assert isinstance(to, Register)
        x.write(to, x.choose(condition, x.read(source), x.read(to)))

    return f


def set_if(condition: str) -> Meaning:
    def f(x: X86, d: Decoded) -> None:
        (to,) = d.operands
        if condition == "b" and not x.state.flags.compared:
            value = x.carry()
        else:
            value = number(int(x.holds(condition)))
        x.write(to, ((1, value),))

    return f


CONDITIONS = ("a", "ae", "b", "be", "e", "ne", "l", "le", "g", "ge", "s", "ns")
for _condition in CONDITIONS:
    MEANINGS[f"cmov{_condition}"] = move_if(_condition)
    MEANINGS[f"set{_condition}"] = set_if(_condition)
