# SPDX-License-Identifier: MIT
"""Defines AArch64: registers, operands as objdump writes them, and a meaning for each instruction
that the kernels use, except instructions of words.py.

Source of the meanings: Arm ARM DDI 0487, C6.2 and C7.2.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import processor
from image import Instruction
from machine import Bits
from number import ZERO, Num, Unproven, number
from processor import (
    Architecture,
    Immediate,
    Processor,
    Register,
    Vector,
    add_carry,
    logic,
    shift,
    turn_right,
)

NAMES = [*(f"x{i}" for i in range(31)), "sp"]
STACK = 31
WIDTH = {"q": 16, "d": 8, "s": 4, "h": 2, "b": 1}
EXTENDED = {"uxtb": 1, "uxth": 2, "uxtw": 4}
# The conditions of x86-64 that mean the same after a comparison. The carry flag of x86-64 is the
# inverse.
CONDITIONS = {"eq": "e", "ne": "ne", "hi": "a", "ls": "be", "cs": "ae", "cc": "b", "hs": "ae"}
CONDITIONS |= {"lo": "b", "ge": "ge", "lt": "l", "gt": "g", "le": "le", "mi": "s", "pl": "ns"}


@dataclass(frozen=True)
class Lanes(Vector):
    """A vector with lanes of `lane` bytes."""

    lane: int = 0


@dataclass(frozen=True)
class Zero:
    width: int


@dataclass(frozen=True)
class Shifted:
    register: Register
    how: str
    by: int


@dataclass(frozen=True)
class Place:
    """A memory operand. `update` is "before" or "after" if the offset is added to the base before
    or after the access."""

    base: int
    index: Register | Shifted | None
    offset: int
    update: str = ""


@dataclass(frozen=True)
class Condition:
    name: str


Operand = Register | Lanes | Immediate | Zero | Shifted | Place | Condition


@dataclass(frozen=True)
class Decoded(processor.Decoded):
    operands: tuple[Operand, ...]


def register(text: str) -> Operand | None:
    if text in ("sp", "wsp"):
        return Register(STACK, 8 if text == "sp" else 4)
    if text in ("xzr", "wzr"):
        return Zero(8 if text == "xzr" else 4)
    if found := re.fullmatch(r"([xw])(\d+)", text):
        return Register(int(found[2]), 8 if found[1] == "x" else 4)
    if found := re.fullmatch(r"([qdshb])(\d+)", text):
        width = WIDTH[found[1]]
        return Lanes(int(found[2]), width, lane=width)
    if found := re.fullmatch(r"v(\d+)\.(\d+)([bhsdq])", text):
        lane = WIDTH[found[3]]
        return Lanes(int(found[1]), int(found[2]) * lane, lane=lane)
    return None


def vectors(text: str) -> list[Operand]:
    """Returns the registers of a list such as {v0.16b-v3.16b} or {v0.16b, v1.16b}."""
    found = [register(part.strip()) for part in re.split(r"[,-]", text.strip("{}"))]
    first, last = found[0], found[-1]
    if not isinstance(first, Lanes) or not isinstance(last, Lanes):
        raise Unproven(f"unknown operand: {text}")
    count = (last.index - first.index) % 32 + 1
    return [replace(first, index=(first.index + i) % 32) for i in range(count)]


def immediate(text: str) -> int:
    try:
        return int(text.lstrip("#"), 0)
    except ValueError:
        raise Unproven(f"unknown operand: {text}") from None


def shifted(to: Operand, text: str) -> Shifted:
    how, _, by = text.partition(" ")
    if not isinstance(to, Register) or how not in ("lsl", "lsr", *EXTENDED):
        raise Unproven(f"unknown operand: {text}")
    return Shifted(to, how, immediate(by) if by else 0)


def place(inside: str, update: str) -> Place:
    parts = operands(inside)
    base = parts[0]
    assert isinstance(base, Register)
    index, offset = None, 0
    for part in parts[1:]:
        if isinstance(part, Immediate):
            offset = part.value
        elif isinstance(part, Register | Shifted):
            index = part
        else:
            raise Unproven(f"unknown operand: [{inside}]")
    return Place(base.index, index, offset, update)


def operands(text: str) -> list[Operand]:
    found: list[Operand] = []
    for part in re.findall(r"\[[^]]*\]!?|\{[^}]*\}|[^,\[\]{}]+", text):
        part = part.strip()
        if not part:
            continue
        if part.startswith("{"):
            found += vectors(part)
            continue
        if part.startswith("["):
            found.append(place(part.strip("[]!"), "before" if part.endswith("!") else ""))
        elif part.startswith("#"):
            last = found[-1] if found else None
            if isinstance(last, Place):
                found[-1] = Place(last.base, last.index, immediate(part), "after")
            else:
                found.append(Immediate(immediate(part)))
        elif (known := register(part)) is not None:
            found.append(known)
        elif part in CONDITIONS:
            found.append(Condition(CONDITIONS[part]))
        elif found:
            found[-1] = shifted(found[-1], part)
        else:
            raise Unproven(f"unknown operand: {part}")
    return found


def words_of(instruction: Instruction) -> tuple[str, str]:
    name, _, rest = re.sub(r"\s*//.*", "", instruction.text).partition("\t")
    return name.strip(), rest.strip()


@functools.cache
def decode(instruction: Instruction) -> Decoded:
    name, rest = words_of(instruction)
    if name == "ret" and rest:
        name = "br"
    if name in ("b", "bl", "ret"):
        names = {"b": "jmp", "bl": "call"}
        return Decoded(names.get(name, name), (), instruction.after)
    if name.startswith("b."):
        condition = CONDITIONS.get(name[2:])
        return Decoded(f"j{condition}" if condition else name, (), instruction.after)
    if name in ("cbz", "cbnz", "tbz", "tbnz"):
        parts = operands(rest.rpartition(",")[0])
        return Decoded(f"j{name} {rest.rpartition(',')[0]}", tuple(parts), instruction.after)
    if name == "adrp":
        page = Immediate(int(rest.partition(",")[2].split()[0], 16))
        return Decoded("mov", (*operands(rest.partition(",")[0]), page), instruction.after)
    if name in ("nop", "bti"):
        return Decoded("nop", (), instruction.after)
    if name == "movk":  # the count selects the bits, even if it is 0
        rest = rest.replace("lsl ", "")
    if name == "prfm":
        rest = rest.partition(",")[2]  # the hint has no effect
    return Decoded(name, tuple(operands(rest)), instruction.after)


def targets(instruction: Instruction) -> list[int]:
    """Returns the addresses at which execution may continue, inside or outside the function: none
    after a return or a jump to a register."""
    name, rest = words_of(instruction)
    if name in ("ret", "br", "blr"):
        return []
    if name in ("b", "bl", "cbz", "cbnz", "tbz", "tbnz") or name.startswith("b."):
        target = int(re.sub(r"\s*<.*", "", rest).rpartition(",")[2].strip(), 16)
        return [target] if name in ("b", "bl") else [target, instruction.after]
    return [instruction.after]


LOADS = ("ldr", "ldur", "ldrb", "ldurb", "ldrh", "ldurh", "ldp", "ld1")
STORES = ("str", "stur", "strb", "strh", "sturb", "sturh", "stp", "st1")
ONLY_READ = (*STORES, "cmp", "cmn", "tst")
READ_AND_WRITE = ("uadalp", "movk")
READ_FLAGS = ("csel", "adc", "adcs")
WRITE_FLAGS = ("cmp", "cmn", "tst", "adds", "adcs", "subs", "ands")


def name_of_operand(o: Operand | None) -> str | None:
    match o:
        case Shifted():
            return name_of_operand(o.register)
        case Lanes():
            return f"v{o.index}"
        case Register():
            return NAMES[o.index]
    return None


def effects(d: Decoded) -> tuple[frozenset[str], frozenset[str]]:
    reads: set[str | None] = set()
    writes: set[str | None] = set()
    written = len(d.operands) - 1 if d.name in LOADS else 1
    if d.name in ONLY_READ or d.name.startswith("j"):
        written = 0
    for i, o in enumerate(d.operands):
        if isinstance(o, Place):
            reads |= {NAMES[o.base], name_of_operand(o.index)}
            writes |= {NAMES[o.base]} if o.update else set()
        elif i < written:
            writes.add(name_of_operand(o))
        if i >= written or d.name in READ_AND_WRITE:
            reads.add(name_of_operand(o))
    if d.name == "ret":
        reads |= {"x30", "sp"}
    if d.name == "call":
        reads |= {*NAMES[:3], "sp"}
        writes.add("x30")
    if (d.name[1:] in CONDITIONS.values() and d.name.startswith("j")) or d.name in READ_FLAGS:
        reads.add("flags")
    if d.name in WRITE_FLAGS:
        writes.add("flags")
    return frozenset(n for n in reads if n), frozenset(n for n in writes if n)


class A64(Processor):
    """The operands of AArch64 in a state."""

    def red_zone(self) -> int:
        """Returns the stack pointer. There is no red zone: bytes below may change at any time."""
        return self.stack_offset()

    def stack_offset(self) -> int:
        top = self.number(self.state.gpr[STACK]) - self.state.regions["stack"].base
        return self.constant(top, 64, "the stack pointer")

    def value_of(self, o: Operand, width: int) -> Num:
        return self.number(self.bits(o, width))

    def bits(self, o: Operand, width: int) -> Bits:
        """Returns the content of an operand: extended registers, zero and immediates in `width`
        bytes, other registers whole."""
        match o:
            case Zero():
                return ((width, ZERO),)
            case Shifted():
                return self.shifted(o, width)
            case Register() | Vector() | Immediate():
                return self.read(o, width if isinstance(o, Immediate) else 0)
        raise Unproven("no meaning for this operand")

    def shifted(self, o: Shifted, width: int) -> Bits:
        bits = self.read(o.register)
        if o.how in EXTENDED:
            n = EXTENDED[o.how]
            bits = (*self.take(bits, 0, n), (width - n, ZERO)) if n < width else bits
            return shift(self, bits, "shl", o.by)
        return shift(self, bits, "shl" if o.how == "lsl" else "shr", o.by)

    def put_bits(self, o: Operand, bits: Bits) -> None:
        match o:
            case Lanes():
                rest = 64 - sum(n for n, _ in bits)
                self.state.vec[o.index] = (*bits, (rest, ZERO))
            case Register():
                self.write_register(o, bits)
            case Zero():
                pass
            case _:
                raise Unproven("writes to no register")

    def at(self, p: Place) -> Num:
        """Returns the address of an access; updates the base first if the instruction does so."""
        base = self.number(self.state.gpr[p.base])
        if p.base == STACK and self.stack_offset() % 16:
            raise Unproven("the stack pointer is not aligned")
        if p.update == "after":
            return base
        offset = number(p.offset) if p.index is None else self.value_of(p.index, 8)
        if p.update == "before":
            self.move_on(p)
        return base + offset

    def move_on(self, p: Place) -> None:
        moved = self.number(self.state.gpr[p.base]) + p.offset
        self.state.gpr[p.base] = ((8, self.trim(moved, 64)),)

    def carry(self) -> Num:
        """Returns the carry flag. A comparison sets this flag where it would clear the flag of
        x86-64."""
        borrow = super().carry()
        return number(1) - borrow if self.state.flags.compared else borrow

    def has_carry(self) -> bool:
        if not self.state.flags.compared:
            raise Unproven("a condition of order of what is no comparison")
        return super().has_carry()

    def holds(self, condition: str) -> bool:
        name, _, rest = condition.partition(" ")
        if name not in ("cbz", "cbnz", "tbz", "tbnz"):
            return super().holds(condition)
        register, *bit = operands(rest)
        assert isinstance(register, Register)
        value = self.number(self.read(register))
        if value.data:
            raise Unproven("a branch depends on the data")
        if bit:
            assert isinstance(bit[0], Immediate)
            n = bit[0].value
            result = self.constant(value, n + 1, "a bit that is tested") >> n & 1 == 0
        else:
            result = self.is_zero(self.exact(value, 8 * register.width))
        return result == (name in ("cbz", "tbz"))


Meaning = Callable[[A64, Decoded], None]
MEANINGS: dict[str, Meaning] = {}


def means(*names: str) -> Callable[[Meaning], Meaning]:
    def add(f: Meaning) -> Meaning:
        MEANINGS.update(dict.fromkeys(names, f))
        return f

    return add


def width_of(o: Operand) -> int:
    if isinstance(o, Register | Zero | Vector):
        return o.width
    raise Unproven("no meaning for this operand")


@means("nop")
def nothing(x: A64, d: Decoded) -> None:
    pass


@means("prfm")
def prefetch(x: A64, d: Decoded) -> None:
    """Checks that the address does not depend on the data; has no other effect."""
    (where,) = d.operands
    assert isinstance(where, Place)
    if x.at(where).data:
        raise Unproven("an address depends on the data")


@means("mov", "fmov")
def mov(x: A64, d: Decoded) -> None:
    """Copies a register or an immediate. Of a vector, copies as many bytes as the target holds."""
    to, source = d.operands
    width = width_of(to)
    x.put_bits(to, x.take(x.bits(source, width), 0, width))


@means("movi")
def movi(x: A64, d: Decoded) -> None:
    to, value = d.operands
    if value != Immediate(0):
        raise Unproven("no meaning for this movi")
    x.put_bits(to, ((width_of(to), ZERO),))


@means("movk")
def movk(x: A64, d: Decoded) -> None:
    """Sets 16 bits of a register, and keeps its other bits."""
    to, value, *at = d.operands
    assert isinstance(to, Register) and isinstance(value, Immediate)
    start = at[0].value // 8 if at and isinstance(at[0], Immediate) else 0
    old, end = x.read(to), start + 2
    kept = x.take(old, 0, start), x.take(old, end, to.width - end)
    x.put_bits(to, (*kept[0], (2, number(value.value)), *kept[1]))


@means("csel")
def csel(x: A64, d: Decoded) -> None:
    to, a, b, condition = d.operands
    assert isinstance(condition, Condition)
    width = width_of(to)
    x.put_bits(to, x.choose(condition.name, x.bits(a, width), x.bits(b, width)))


# --- Memory ---


def check_apart(registers: list[Operand], where: Place, loads: bool) -> None:
    """Refuses to load a register twice, and to load or store an updated base: CPUs differ in the
    result."""
    names = [name_of_operand(o) for o in registers if not isinstance(o, Zero)]
    if loads and len(set(names)) < len(names):
        raise Unproven("loads a register twice")
    if where.update and NAMES[where.base] in names:
        raise Unproven("moves a base that it loads or stores")


@means(*LOADS)
def load(x: A64, d: Decoded) -> None:
    *to, where = d.operands
    assert isinstance(where, Place)
    check_apart(to, where, loads=True)
    width = {"b": 1, "h": 2}.get(d.name[-1], width_of(to[0]))
    bits = x.load(x.at(where), width * len(to))
    for i, o in enumerate(to):
        part = x.take(bits, width * i, width)
        rest = width_of(o) - width
        x.put_bits(o, (*part, (rest, ZERO)) if rest else part)
    if where.update == "after":
        x.move_on(where)


@means(*STORES)
def store(x: A64, d: Decoded) -> None:
    *sources, where = d.operands
    assert isinstance(where, Place)
    check_apart(sources, where, loads=False)
    width = {"b": 1, "h": 2}.get(d.name[-1], width_of(sources[0]))
    bits = [p for o in sources for p in x.take(x.bits(o, width_of(o)), 0, width)]
    x.store(x.at(where), tuple(bits))
    if where.update == "after":
        x.move_on(where)


# --- Sums ---


@means("add", "sub", "cmp", "subs")
def add(x: A64, d: Decoded) -> None:
    """Adds or subtracts; cmp is a subtraction that keeps only the flags."""
    a, b = d.operands[-2:]
    to = d.operands[0]
    if isinstance(to, Lanes):
        return add_lanes(x, d)
    width = width_of(a)
    left, right = x.value_of(a, width), x.value_of(b, width)
    if d.name in ("cmp", "subs"):
        x.set_flags(left, right, 8 * width, compared=True)
    total = left + right if d.name == "add" else left - right
    if d.name != "cmp":
        data = left.data or right.data
        x.put_bits(to, ((width, total if data else x.trim(total, 8 * width)),))
    return None


@means("adds", "adcs", "adc")
def add_with_carry(x: A64, d: Decoded) -> None:
    to, a, b = d.operands
    if not isinstance(to, Register | Zero):
        raise Unproven(f"no meaning for {d.name} of vectors")
    before = x.state.flags
    carry = ZERO if d.name == "adds" else x.carry()
    left, right = x.value_of(a, to.width), x.value_of(b, to.width)
    total = add_carry(x, left, right, carry, 8 * to.width)
    if d.name == "adc":
        x.state.flags = before
    x.put_bits(to, ((to.width, total),))


def add_lanes(x: A64, d: Decoded) -> None:
    to, a, b = d.operands
    if d.name != "add" or not isinstance(to, Lanes):
        raise Unproven(f"no meaning for {d.name} of vectors")
    left = x.lanes(x.bits(a, to.width), to.lane)
    right = x.lanes(x.bits(b, to.width), to.lane)
    x.put_bits(to, tuple((to.lane, u + v) for u, v in zip(left, right, strict=True)))


@means("uadalp")
def uadalp(x: A64, d: Decoded) -> None:
    """Adds to each lane two lanes of half its width."""
    to, source = d.operands
    assert isinstance(to, Lanes)
    old = x.lanes(x.bits(to, to.width), to.lane)
    half = to.lane // 2
    parts = [x.atoms.exact(n, 8 * half) for n in x.lanes(x.bits(source, to.width), half)]
    added = [u + parts[2 * i] + parts[2 * i + 1] for i, u in enumerate(old)]
    x.put_bits(to, tuple((to.lane, n) for n in added))


@means("addv")
def addv(x: A64, d: Decoded) -> None:
    to, source = d.operands
    assert isinstance(source, Lanes)
    total = sum(x.lanes(x.bits(source, source.width), source.lane), ZERO)
    x.put_bits(to, ((source.lane, total),))


@means("uaddlv")
def uaddlv(x: A64, d: Decoded) -> None:
    """Writes the sum of all lanes, in twice their width."""
    to, source = d.operands
    assert isinstance(source, Lanes)
    lanes = x.lanes(x.bits(source, source.width), source.lane)
    total = sum((x.atoms.exact(n, 8 * source.lane) for n in lanes), ZERO)
    x.put_bits(to, ((2 * source.lane, total),))


# --- Bits ---


@means("and", "ands", "tst", "orr", "eor")
def bitwise(x: A64, d: Decoded) -> None:
    a, b = d.operands[-2:]
    if isinstance(a, Lanes) and isinstance(b, Immediate):
        raise Unproven(f"no meaning for {d.name} of lanes and a number")
    width = width_of(a)
    name = {"orr": "or", "eor": "xor"}.get(d.name, "and")
    result = logic(x, name, x.bits(a, width), x.bits(b, width))
    if d.name != "tst":
        x.put_bits(d.operands[0], result)
    if d.name in ("tst", "ands"):
        x.set_flags(x.number(result), ZERO, 8 * width)


@means("mvn")
def mvn(x: A64, d: Decoded) -> None:
    to, source = d.operands
    width = width_of(to)
    bits = 8 * width
    inverted = number((1 << bits) - 1) - x.exact(x.value_of(source, width), bits)
    x.put_bits(to, ((width, inverted),))


@means("ubfx")
def ubfx(x: A64, d: Decoded) -> None:
    """Extracts `count` bits from bit `first` on."""
    to, source, first, count = d.operands
    width = width_of(to)
    assert isinstance(first, Immediate) and isinstance(count, Immediate)
    bits = shift(x, x.bits(source, width), "shr", first.value)
    x.put_bits(to, logic(x, "and", bits, ((width, number((1 << count.value) - 1)),)))


@means("lsl", "lsr", "ror")
def shifts(x: A64, d: Decoded) -> None:
    to, source, count = d.operands
    width = width_of(to)
    by = x.constant(x.value_of(count, 8), 6 if width == 8 else 5, "a shift")
    bits = x.bits(source, width)
    if d.name == "ror":
        return x.put_bits(to, turn_right(x, bits, by))
    x.put_bits(to, shift(x, bits, "shl" if d.name == "lsl" else "shr", by))
    return None


AARCH64 = Architecture(
    machine=A64,
    meanings=MEANINGS,
    names=NAMES,
    stack=STACK,
    kept=[f"x{i}" for i in range(19, 31)],
    kept_vectors=range(8, 16),
    arguments=[f"x{i}" for i in range(4)],
    results=("x0", "x1"),
    decode=decode,
    effects=effects,
    targets=targets,
)
