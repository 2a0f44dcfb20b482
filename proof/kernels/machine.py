# SPDX-License-Identifier: MIT
"""Models the state of an execution: bytes in registers, memory in regions, and open conditions.

This is the same for all architectures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from image import Image
from number import ZERO, Atoms, Num, Unproven, number

FEW = 700  # up to this number, values are tried one by one
VECTOR = 64  # bytes of each vector register that are modelled

# Bytes, the lowest first: for each piece its size in bytes, and its number modulo 2^(8 * size).
Bits = tuple[tuple[int, Num], ...]


class Open(Unproven):
    """Reports that a condition may hold or not, and that splitting one atom does not decide it."""


class Split(Exception):
    """Reports that execution depends on an atom: it must continue with each of these values."""

    def __init__(self, atom: int, values: Sequence[Num]) -> None:
        super().__init__(atom)
        self.atom, self.values = atom, values


class Demand(Exception):
    """Reports that execution needs the lowest bits of an atom, but they are unknown."""

    def __init__(self, atom: int, bits: int) -> None:
        super().__init__(atom, bits)
        self.atom, self.bits = atom, bits


@dataclass
class Region:
    """Memory that the function may use: `size` bytes from `base` on. Only in moves.py may two
    regions overlap."""

    name: str
    base: Num
    size: Num
    readable: bool
    writable: bool
    behind: int = 0  # bytes before `base` that belong to the region, too


@dataclass
class Access:
    """`width` bytes at an offset of a region; `content` is None for a load."""

    region: str
    offset: Num
    width: Num
    content: Bits | None
    stride: int = 0  # in a loop, accesses are at offset + stride * i, for i from 0 to count - 1
    count: Num | None = None


@dataclass
class Flags:
    """The result of the last comparison or sum: left - right, in `bits` bits; or a carry."""

    left: Num = ZERO
    right: Num = ZERO
    bits: int = 64
    carry: Num | None = None
    compared: bool = False  # the carry flag is left < right
    known: bool = False


@dataclass
class State:
    """One point of one execution."""

    at: int
    gpr: list[Bits]
    vec: list[Bits]
    masks: list[Num]
    flags: Flags
    regions: dict[str, Region]
    dirty: bool = False
    streams: bool = False  # non-temporal stores that no SFENCE has ordered yet
    stack: dict[int, tuple[int, Num]] = field(default_factory=dict)
    accesses: list[Access] = field(default_factory=list)
    put: dict[int, Num] = field(default_factory=dict)
    heads: dict[int, int] = field(default_factory=dict)
    loop: tuple[int, Num] | None = None  # head and counter of a loop that is being summed up
    moved: frozenset[int] = frozenset()  # heads of loops, if bytes were consumed after them

    def copy(self) -> State:
        return replace(
            self,
            gpr=list(self.gpr),
            vec=list(self.vec),
            masks=list(self.masks),
            flags=replace(self.flags),
            regions={k: replace(v) for k, v in self.regions.items()},
            stack=dict(self.stack),
            accesses=list(self.accesses),
            put=dict(self.put),
            heads=dict(self.heads),
        )

    def change(self, f: Callable[[Num], Num]) -> None:
        """Replaces every number n of the state by f(n)."""

        def bits(b: Bits) -> Bits:
            return tuple((n, f(v)) for n, v in b)

        self.gpr = [bits(b) for b in self.gpr]
        self.vec = [bits(b) for b in self.vec]
        self.masks = [f(n) for n in self.masks]
        flags = self.flags
        flags.left, flags.right = f(flags.left), f(flags.right)
        flags.carry = flags.carry and f(flags.carry)
        for region in self.regions.values():
            region.base, region.size = f(region.base), f(region.size)
        self.stack = {k: (n, f(v)) for k, (n, v) in self.stack.items()}
        self.accesses = [
            replace(
                a,
                offset=f(a.offset),
                width=f(a.width),
                content=a.content and bits(a.content),
                count=a.count and f(a.count),
            )
            for a in self.accesses
        ]


def joined(parts: list[tuple[int, Num]]) -> Num:
    """Returns the sum of numbers, each shifted to the left; none is negative."""
    c = low = high = 0
    data = False
    terms: dict[int, int] = {}
    for shift, n in parts:
        c += n.c << shift
        low += n.low << shift
        high += n.high << shift
        data |= n.data
        for atom, k in n.terms.items():
            terms[atom] = terms.get(atom, 0) + (k << shift)
    return Num(c, {a: k for a, k in terms.items() if k}, low, high, data)


class Machine:
    """Executes one function for all contents; architectures add registers and instructions."""

    carry_is_read = True  # whether later instructions read the flags

    def __init__(self, image: Image, atoms: Atoms) -> None:
        self.image, self.atoms = image, atoms
        self.state: State

    # --- Bytes ---

    def take(self, bits: Bits, at: int, n: int) -> Bits:
        """Returns n bytes from byte `at` on."""
        found: list[tuple[int, Num]] = []
        for width, value in bits:
            if n <= 0:
                break
            if at >= width:
                at -= width
                continue
            part = min(n, width - at)
            if at or part < width:
                value = self.cut(value, width, at, part)
            found.append((part, value))
            n -= part
            at = 0
        if n:
            raise Unproven("more bytes are taken than there are")
        return tuple(found)

    def cut(self, value: Num, width: int, at: int, n: int) -> Num:
        """Returns the bytes `at` to at + n of a number of `width` bytes."""
        if value.constant is not None:
            return number(value.c >> 8 * at & (1 << 8 * n) - 1)
        if at:
            value = self.atoms.quotient(self.atoms.exact(value, 8 * width), 8 * at)
        return value if at + n == width else self.low(value, 8 * n)

    def low(self, value: Num, bits: int) -> Num:
        """Returns the value of the lowest bits. Returns addresses and sizes unchanged: they are
        equal modulo 2^bits."""
        return self.atoms.exact(value, bits) if value.data else value

    def number(self, bits: Bits) -> Num:
        """Returns all bytes as one number, modulo 2 to the number of their bits."""
        if len(bits) == 1:
            return bits[0][1]
        parts, at = [], 0
        for width, value in bits:
            parts.append((8 * at, self.atoms.exact(value, 8 * width)))
            at += width
        return joined(parts)

    def lanes(self, bits: Bits, width: int) -> list[Num]:
        """Returns the numbers in lanes of `width` bytes, each modulo 2^(8 * width)."""
        if all(n == width for n, _ in bits):
            return [value for _, value in bits]
        return [self.number(group) for group in self.groups(bits, width)]

    def groups(self, bits: Bits, width: int) -> list[Bits]:
        """Groups the pieces into lanes of `width` bytes; cuts pieces that straddle lanes."""
        found: list[Bits] = []
        group: list[tuple[int, Num]] = []
        room = width
        for n, value in bits:
            at = 0
            while at < n:
                part = min(room, n - at)
                group.append((part, value if part == n else self.cut(value, n, at, part)))
                at, room = at + part, room - part
                if not room:
                    found.append(tuple(group))
                    group, room = [], width
        return found

    def by_bytes(self, bits: Bits) -> list[Num] | None:
        """Returns each byte, or None unless all pieces are single bytes or constants."""
        found = []
        for width, value in bits:
            if width == 1 and (value.data or value.constant is not None):
                found.append(self.atoms.exact(value, 8))
            elif value.constant is not None:
                found += [number(value.c >> 8 * i & 0xFF) for i in range(width)]
            else:
                return None
        return found

    def constant(self, value: Num, bits: int, what: str) -> int:
        """Returns a value that must be known, such as a shift count or a mask."""
        if value.data:
            raise Unproven(f"{what} depends on the data")
        if value.constant is None:
            self.demand(value, bits)
        return value.c & ((1 << bits) - 1)

    # --- Open conditions ---

    def demand(self, value: Num, bits: int) -> None:
        """Raises Demand unless the lowest bits of a number are known. The number must not depend on
        the data."""
        for atom, k in value.terms.items():
            need = bits - ((k & -k).bit_length() - 1)
            if need > 0:
                raise Demand(atom, need)

    def split(self, atom: int, bits: int) -> Split:
        """Returns a split of an atom by its values, or by its lowest bits."""
        a = self.atoms.all[atom]
        if a.data:
            raise Unproven(f"a branch or an address depends on the data: {self.atoms.name(atom)}")
        if a.high - a.low < FEW:
            return Split(atom, [number(v) for v in range(a.low, a.high + 1)])
        if bits > 12:
            raise Unproven(f"all bits of {a} are asked for")
        step = 1 << bits
        values = []
        for r in range(step):
            low, high = -((r - a.low) // step), (a.high - r) // step
            if low <= high:
                values.append(self.atoms.new(f"n{r}", low, high, False) * step + r)
        return Split(atom, values)

    def is_positive(self, d: Num) -> bool:
        """Returns whether d >= 1; raises Split or Open if this is open."""
        return self.is_at_least(d - 1)

    def is_at_least(self, d: Num) -> bool:
        """Returns whether d >= 0; raises Split or Open if this is open."""
        if d.data:
            raise Unproven("a branch depends on the data")
        low, high = self.atoms.natural(d)
        if low >= 0:
            return True
        if high < 0:
            return False
        atom, k = max(d.terms.items(), key=lambda item: abs(item[1]) * self.span(item[0]))
        if len(d.terms) != 1:
            raise Open(f"neither {self.atoms.text(d)} >= 0 nor its contrary could be shown")
        a = self.atoms.all[atom]
        at = -(d.c // k) if k > 0 else d.c // -k + 1  # the first value of the upper part
        lower = self.atoms.new(a.name, a.low, at - 1, False)
        upper = self.atoms.new(a.name, at, a.high, False)
        raise Split(atom, [self.single(lower), self.single(upper)])

    def span(self, atom: int) -> int:
        return self.atoms.all[atom].high - self.atoms.all[atom].low

    def single(self, n: Num) -> Num:
        return number(n.low) if n.low == n.high else n

    def exact(self, value: Num, bits: int) -> Num:
        """Returns the value as a number of `bits` bits; makes no atoms for addresses and sizes."""
        low, high = self.atoms.natural(value)
        if low >= 0 and high < 1 << bits:
            return value
        if not value.data and value.terms:
            turns = low >> bits
            if high >> bits == turns:
                return value - (turns << bits)
            self.is_at_least(value - ((turns + 1) << bits))  # splits
        return self.atoms.exact(value, bits)

    def is_below(self) -> bool:
        f = self.state.flags
        return self.is_positive(self.exact(f.right, f.bits) - self.exact(f.left, f.bits))

    def is_equal(self) -> bool:
        f = self.state.flags
        left, right = self.exact(f.left, f.bits), self.exact(f.right, f.bits)
        return self.is_zero(left - right)

    def is_zero(self, d: Num) -> bool:
        return self.is_at_least(d) and self.is_at_least(-d)

    # --- Memory ---

    def region_of(self, address: Num) -> tuple[Region, Num] | None:
        for region in self.state.regions.values():
            offset = address - region.base
            if not any(atom in offset.terms for atom in region.base.terms):
                return region, offset
        return None

    def access(self, address: Num, width: Num, content: Bits | None = None) -> Region:
        """Records an access, and checks that it is in a region. In a loop that is summed up, the
        bounds of the region are checked later."""
        if address.data:
            raise Unproven("an address depends on the data")
        found = self.region_of(address)
        verb = "reads" if content is None else "writes"
        if not found:
            self.demand(address, 64)  # an entry of a table
            raise Unproven(f"{verb} at {self.atoms.text(address)}, which is no memory of its own")
        region, offset = found
        offset = self.signed(offset)
        if not (region.readable if content is None else region.writable):
            raise Unproven(f"{verb} {region.name}")
        note = Access(region.name, offset, width, content)
        if not self.state.loop:
            self.check(note, region)
        self.state.accesses.append(note)
        return region

    def signed(self, offset: Num) -> Num:
        """Returns an offset of 64 bits with the constant nearest to zero."""
        near = (offset.c + (1 << 63)) % (1 << 64) - (1 << 63)
        return offset + (near - offset.c) if near != offset.c else offset

    def check(self, a: Access, region: Region) -> None:
        verb = "reads" if a.content is None else "writes"
        low = self.atoms.natural(a.offset)[0] + region.behind
        if low < 0:
            if a.offset.terms:  # perhaps only for some sizes: a split finds these for the message
                self.is_at_least(a.offset + region.behind)
            raise Unproven(f"{verb} {-low} bytes before the start of {region.name}")
        room = region.size - a.offset - a.width
        low = self.atoms.natural(room)[0]
        if low < 0:
            if room.terms and len(room.terms) == 1:
                self.is_at_least(room)
            raise Unproven(f"{verb} past the end of {region.name}, up to end + {-low}")

    def load(self, address: Num, n: int) -> Bits:
        if address.constant is not None:
            found = self.image.constant(address.c, n)
            if found is None:
                raise Unproven(f"reads at {address.c:#x}, where nothing constant is")
            return tuple((1, number(b)) for b in found)
        region = self.access(address, number(n))
        offset = self.state.accesses[-1].offset
        if region.name == "stack":
            return self.load_stack(offset, n)
        return tuple((1, self.atoms.byte(region.name, offset + i)) for i in range(n))

    def store(self, address: Num, bits: Bits) -> None:
        region = self.access(address, number(sum(n for n, _ in bits)), bits)
        if region.name == "stack":
            self.store_stack(self.state.accesses.pop().offset, bits)

    def holds(self, condition: str) -> bool:
        """Returns whether the flags fulfil a condition; it must not depend on the data."""
        raise NotImplementedError

    def push(self, value: Num) -> None:
        """Pushes a word, as a call on x86-64 does. Here, refuses the call."""
        raise Unproven("calls another function")

    def red_zone(self) -> int:
        """Returns the lowest offset on the stack that signal handlers do not change."""
        raise NotImplementedError

    def load_stack(self, offset: Num, n: int) -> Bits:
        self.state.accesses.pop()
        at = self.constant(offset, 64, "a place on the stack")
        if at < self.red_zone():
            raise Unproven("reads below the red zone of the stack")
        found: list[tuple[int, Num]] = []
        while n > 0:
            width, value = self.state.stack.get(at, (0, ZERO))
            if not 0 < width <= n:
                raise Unproven("reads what it has not stored on the stack")
            found.append((width, value))
            at += width
            n -= width
        return tuple(found)

    def store_stack(self, offset: Num, bits: Bits) -> None:
        at = self.constant(offset, 64, "a place on the stack")
        if at < self.red_zone():
            raise Unproven("stores below the red zone of the stack")
        end = at + sum(n for n, _ in bits)
        old = {k: v for k, v in self.state.stack.items() if k + v[0] <= at or k >= end}
        for width, value in bits:
            old[at] = width, value
            at += width
        self.state.stack = old
