# SPDX-License-Identifier: MIT
"""Defines common parts of the architectures: registers as operands, flags and conditions, and known
bits of a number. Conditions have the names of x86-64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from image import Instruction
from machine import Bits, Flags, Machine
from number import ZERO, Num, Unproven, number


@dataclass(frozen=True)
class Register:
    index: int
    width: int
    first: int = 0


@dataclass(frozen=True)
class Vector:
    index: int
    width: int
    mask: int | None = None
    zeroes: bool = False


@dataclass(frozen=True)
class Immediate:
    value: int


@dataclass(frozen=True)
class Decoded:
    name: str
    operands: tuple[object, ...]
    after: int


class Processor(Machine):
    """Executes instructions that read and write registers and flags."""

    def check_instruction(self, d: Decoded) -> None:
        """Raises Unproven for an instruction that must not be used, regardless of its meaning."""

    # --- Reading and writing ---

    def read(self, o: object, width: int = 0) -> Bits:
        match o:
            case Register():
                return self.take(self.state.gpr[o.index], o.first, o.width)
            case Vector():
                return self.take(self.state.vec[o.index], 0, width or o.width)
            case Immediate():
                width = width or 8
                return ((width, number(o.value & (1 << 8 * width) - 1)),)
        raise Unproven("no meaning for this operand")

    def write_register(self, o: Register, bits: Bits) -> None:
        old = self.state.gpr[o.index]
        if o.width == 4:
            bits = (*bits, (4, ZERO))
        elif o.width < 8:
            end = o.first + o.width
            bits = (*self.take(old, 0, o.first), *bits, *self.take(old, end, 8 - end))
        self.state.gpr[o.index] = bits

    def trim(self, value: Num, bits: int) -> Num:
        """Returns a constant modulo 2^bits, or an address with its constant nearest to zero."""
        if value.constant is not None:
            return number(value.c & (1 << bits) - 1)
        near = (value.c + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
        return value + (near - value.c) if near != value.c else value

    def set_flags(
        self, left: Num, right: Num, bits: int, carry: Num | None = None, compared: bool = False
    ) -> None:
        self.state.flags = Flags(left, right, bits, carry, compared, known=True)

    def carry(self) -> Num:
        """Returns the carry flag as a number."""
        f = self.state.flags
        if f.compared:
            return number(int(self.is_below()))
        if f.carry is None:
            raise Unproven("relies on a carry flag that is not set")
        return f.carry

    def need(self, value: Num, bits: int) -> None:
        """Raises Demand unless the lowest bits of an address or a size are known."""
        if value.twos() < bits:
            self.demand(value, bits)

    # --- The stack ---

    def stack_has_moved(self, pointer: int) -> None:
        """Forgets the stack below the red zone: signals may be handled there between any two
        instructions."""
        stack = self.state.regions["stack"]
        top = self.number(self.state.gpr[pointer]) - stack.base
        if top.constant is None or not 0 <= top.c <= stack.size.c:
            raise Unproven("the stack pointer is not where the function's stack is")
        low = self.red_zone()
        self.state.stack = {at: piece for at, piece in self.state.stack.items() if at >= low}

    # --- Conditions ---

    def holds(self, condition: str) -> bool:
        """Returns whether the flags fulfil a condition; it must not depend on the data."""
        opposite = condition.startswith("n") or condition in ("ae", "a", "ge", "g")
        base = {"ae": "b", "a": "be", "ge": "l", "g": "le"}.get(condition, condition.lstrip("n"))
        f = self.state.flags
        if not f.known:
            raise Unproven("a branch relies on flags that are not set")
        match base:
            case "e":
                result = self.is_equal()
            case "b":
                result = self.has_carry()
            case "be":
                result = self.has_carry() or self.is_equal()
            case "l":
                result = self.is_less()
            case "le":
                result = self.is_less() or self.is_equal()
            case "s":
                difference = self.exact(f.left - f.right, f.bits)
                result = self.is_at_least(difference - (1 << f.bits - 1))
            case _:
                raise Unproven(f"no meaning for condition {condition}")
        return result != opposite

    def choose(self, condition: str, first: Bits, second: Bits) -> Bits:
        return first if self.holds(condition) else second

    def logic(self, name: str, left: Bits, right: Bits) -> Bits | None:
        """Returns the result of and, or, xor if single bits of the data are known. In this class
        they are unknown, so it returns None."""
        return None

    def has_carry(self) -> bool:
        f = self.state.flags
        if f.compared:
            return self.is_below()
        return self.is_positive(self.carry())

    def is_less(self) -> bool:
        """Returns whether left < right, both signed."""
        f = self.state.flags
        if not f.compared:
            raise Unproven("a signed condition of what is no comparison")
        return self.is_positive(self.as_signed(f.right) - self.as_signed(f.left))

    def as_signed(self, value: Num) -> Num:
        bits = self.state.flags.bits
        value = self.exact(value, bits)
        return value - (1 << bits) if self.is_at_least(value - (1 << bits - 1)) else value


def none_unusual(code: Mapping[int, Instruction]) -> Iterable[int]:
    """Returns no addresses: CPUs execute every instruction that objdump decodes."""
    return ()


@dataclass(frozen=True)
class Architecture:
    """An architecture for the engine: its general registers by index, its ABI, and its decoder.
    Decoded jumps have the names of x86-64: jmp, je, ja, ..."""

    machine: type[Processor]
    meanings: Mapping[str, Callable[..., None]]
    names: Sequence[str]
    stack: int
    kept: Sequence[str]
    kept_vectors: Sequence[int]  # callee-saved: only the lowest 8 bytes of each
    arguments: Sequence[str]  # registers, for kernels and for their tail calls
    results: Sequence[str]
    decode: Callable[[Instruction], Any]
    effects: Callable[[Any], tuple[frozenset[str], frozenset[str]]]  # reads, and writes
    targets: Callable[[Instruction], list[int]]  # the addresses at which execution may continue
    returns_by_stack: bool = False  # the return address is on the stack
    # The addresses of instructions that CPUs may refuse although objdump decodes them.
    unusual: Callable[[Mapping[int, Instruction]], Iterable[int]] = none_unusual


def apply(x: Processor, d: Decoded, meanings: Mapping[str, Callable[..., None]]) -> None:
    """Executes one instruction that is not a jump."""
    try:
        x.check_instruction(d)
        if d.name not in meanings:
            raise Unproven(f"no meaning for {d.name}")
        meanings[d.name](x, d)
    except (AssertionError, ValueError):
        raise Unproven(f"no meaning for {d.name} of such operands") from None


# --- Sums ---


def add_carry(x: Processor, left: Num, right: Num, carry: Num, bits: int) -> Num:
    """Returns left + right + carry, and sets the flags."""
    if not (left.data or right.data or carry.data):
        total = x.trim(left + right + carry, bits)
        # If the carry of addresses and sizes is read, it must be constant.
        x.set_flags(total, ZERO, bits, None)
        if left.constant is not None and right.constant is not None:
            full = (1 << bits) - 1
            x.state.flags.carry = number((left.c & full) + (right.c & full) + carry.c >> bits)
        return total
    if not x.carry_is_read:
        x.set_flags(left + right + carry, ZERO, bits)
        return left + right + carry
    total = x.atoms.exact(left, bits) + x.atoms.exact(right, bits) + carry
    out = x.atoms.quotient(total, bits)
    rest = clip(total - out * (1 << bits), bits)
    x.set_flags(rest, ZERO, bits, out)
    return rest


# --- Bits ---


def logic(x: Processor, name: str, left: Bits, right: Bits) -> Bits:
    """Returns and, or, xor of bytes if one operand is constant or both are the same."""
    if (known := x.logic(name, left, right)) is not None:
        return known
    size = sum(n for n, _ in left)
    if name == "xor" and sign_bits(x, right, size) and not sign_bits(x, left, size):
        return flip_signs(x, left)
    if name == "xor" and sign_bits(x, left, size):
        return flip_signs(x, right)
    a, b = x.by_bytes(left), x.by_bytes(right)
    if a is None or b is None:
        return logic_of_parts(x, name, left, right)
    return tuple((1, byte_logic(name, u, v)) for u, v in zip(a, b, strict=True))


def sign_bits(x: Processor, bits: Bits, size: int) -> bool:
    """Returns whether these are words of 0x8000."""
    known = x.by_bytes(bits) if all(v.constant is not None for _, v in bits) else None
    return known is not None and [n.c for n in known] == [0, 0x80] * (size // 2)


def flip_signs(x: Processor, words: Bits) -> Bits:
    """Flips the sign bits of words: w ^ 0x8000 is w - 0x8000 modulo 2^16."""
    return tuple((2, x.atoms.exact(w, 16) - 0x8000) for w in x.lanes(words, 2))


def byte_logic(name: str, a: Num, b: Num) -> Num:
    if a.constant is None:
        a, b = b, a
    if a.constant is not None and b.constant is not None:
        both = {"and": a.c & b.c, "or": a.c | b.c, "xor": a.c ^ b.c}
        return number(both[name])
    if a.same(b):
        return ZERO if name == "xor" else a
    if a.constant is not None:
        if name == "and" and a.c in (0, 0xFF):
            return b if a.c else ZERO
        if name != "and" and a.c == 0:
            return b
        if name == "or" and a.c == 0xFF:
            return a
        if name == "xor" and a.c == 0xFF:
            return number(0xFF) - b
    raise Unproven(f"no meaning for {name} of bits of the data")


def logic_of_parts(x: Processor, name: str, left: Bits, right: Bits) -> Bits:
    """Returns and, or, xor of numbers wider than a byte, one of which is constant."""
    if any(v.constant is None for _, v in right):
        left, right = right, left
    known = x.number(right)
    size = sum(n for n, _ in left)
    if known.constant is None:
        raise Unproven(f"no meaning for {name} of two numbers that are not known")
    value = x.number(left)
    if not value.data:
        return ((size, logic_of_address(x, name, value, known.c & (1 << 8 * size) - 1, 8 * size)),)
    parts: list[tuple[int, Num]] = []
    at = 0
    for width, _ in pieces_of(known.c, size):
        byte = known.c >> 8 * at & 0xFF
        for part_width, part in x.take(left, at, width):
            if byte == (0xFF if name == "and" else 0):
                parts.append((part_width, part))
            elif name == "and" and byte == 0:
                parts.append((part_width, ZERO))
            else:
                raise Unproven(f"no meaning for {name} of bits of the data")
        at += width
    return tuple(parts)


def pieces_of(constant: int, size: int) -> list[tuple[int, int]]:
    """Returns the runs of equal bytes in a constant: the length and the byte of each."""
    found: list[tuple[int, int]] = []
    for i in range(size):
        byte = constant >> 8 * i & 0xFF
        if found and found[-1][1] == byte:
            found[-1] = found[-1][0] + 1, byte
        else:
            found.append((1, byte))
    return found


def logic_of_address(x: Processor, name: str, value: Num, mask: int, bits: int) -> Num:
    """Returns and, or of a mask and a number that does not depend on the data."""
    full = (1 << bits) - 1
    if mask == (full if name == "and" else 0):
        return value
    low, high = x.atoms.natural(value)
    if name == "and" and mask & mask + 1 == 0 and low >= 0 and high <= mask:
        return value
    need = mask.bit_length() if name == "and" and mask >> bits - 1 == 0 else 0
    if name == "and" and not need:
        need = (full ^ mask).bit_length()
    if name == "or" and mask >> bits - 1:
        need = (full ^ mask).bit_length()
        x.need(value, need)
        return number(mask | value.c & (1 << need) - 1)
    if name == "or" and value.twos() >= mask.bit_length():
        return value + (mask & ~value.c)
    if name == "or" and mask & mask + 1 == 0:
        return value + x.atoms.new("up to the next multiple", 0, mask, False)
    if not need:
        raise Unproven(f"no meaning for {name} of an address and {mask:#x}")
    x.need(value, need)
    known = value.c & (1 << need) - 1
    return number(known & mask) if mask >> bits - 1 == 0 else value - (known & ~mask)


def shift(x: Processor, bits: Bits, name: str, by: int) -> Bits:
    """Returns shl, shr, rol of all bytes as one number."""
    size = sum(n for n, _ in bits)
    if name == "rol":
        by %= 8 * size
    elif by >= 8 * size:
        return ((size, ZERO),)
    if by == 0:
        return bits
    if by % 8 == 0 and any(v.data for _, v in bits) and (len(bits) > 1 or name != "shl"):
        n = by // 8
        if name == "shl":
            return ((n, ZERO), *x.take(bits, 0, size - n))
        if name == "shr":
            return (*x.take(bits, n, size - n), (n, ZERO))
        return (*x.take(bits, size - n, n), *x.take(bits, 0, size - n))
    value = x.number(bits)
    if name == "shl":
        return ((size, x.trim(value * (1 << by), 8 * size)),)
    if not value.data:
        return ((size, shift_address(x, value, name, by, 8 * size)),)
    value = x.atoms.exact(value, 8 * size)
    if name == "shr":
        return ((size, x.atoms.quotient(value, by)),)
    upper = x.atoms.quotient(value, 8 * size - by)
    return ((size, clip((value - upper * (1 << 8 * size - by)) * (1 << by) + upper, 8 * size)),)


def shift_address(x: Processor, value: Num, name: str, by: int, bits: int) -> Num:
    if value.constant is not None:
        c = value.c & (1 << bits) - 1
        return number(c >> by if name == "shr" else (c << by | c >> bits - by) & (1 << bits) - 1)
    if name != "shr":
        raise Unproven("an address is turned")
    x.need(value, by)
    return x.atoms.quotient(x.exact(value, bits), by)


def turn_right(x: Processor, bits: Bits, by: int) -> Bits:
    return shift(x, bits, "rol", 8 * sum(n for n, _ in bits) - by)


def clip(value: Num, bits: int) -> Num:
    """Returns the same number with bounds no wider than `bits` bits allow."""
    high = (1 << bits) - 1
    return Num(value.c, value.terms, max(value.low, 0), min(value.high, high), value.data)
