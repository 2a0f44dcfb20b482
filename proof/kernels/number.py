# SPDX-License-Identifier: MIT
"""Represents integers as sums of unknowns, with bounds: the contents of registers while code is
executed for every content at once.

A number is c + k1*x1 + k2*x2 + ..., where each x is an atom: a byte of the data, the seed, a size,
an address, the number of a round of a loop, or the quotient of an earlier number by a power of two,
such as a carry.
A register of w bits holds its number modulo 2^w, and the number itself if the bounds show that it
fits. Thus additions remain sums; only an operation on single bits (a carry, a shift to the right)
makes an atom.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Range = tuple[int, int]


class Unproven(Exception):
    """Reports which claim could not be proven, and why.

    `sizes` and `start` describe the execution that failed: some of its sizes, and the remainder and
    modulus of the address of the data.
    """

    sizes: tuple[int, ...] = ()
    start: tuple[int, int] = (0, 1)


@dataclass(slots=True)
class Atom:
    """An unknown. If `data`, it depends on the content of the data. For a quotient, `of` holds the
    dividend, and the exponent of the divisor, a power of two."""

    name: str
    low: int
    high: int
    data: bool
    of: tuple[Num, int] | None = None
    place: tuple[str, Num] | None = None  # for a byte: its region and offset
    run: Run | None = None  # for a sum of bytes that a loop added


@dataclass(slots=True)
class Run:
    """The sum of `count` bytes at offset, offset + stride, ..."""

    region: str
    offset: Num
    stride: int
    count: Num


class Num:
    """c + the sum of k * atom, between low and high."""

    __slots__ = ("c", "data", "high", "low", "terms")

    def __init__(self, c: int, terms: dict[int, int], low: int, high: int, data: bool) -> None:
        self.c, self.terms, self.low, self.high, self.data = c, terms, low, high, data

    @property
    def constant(self) -> int | None:
        return None if self.terms else self.c

    def key(self) -> tuple[int, tuple[tuple[int, int], ...]]:
        return self.c, tuple(sorted(self.terms.items()))

    def same(self, other: Num) -> bool:
        return self.c == other.c and self.terms == other.terms

    def __add__(self, other: Num | int) -> Num:
        if isinstance(other, int):
            return Num(self.c + other, self.terms, self.low + other, self.high + other, self.data)
        if not other.terms:
            return self + other.c
        if not self.terms:
            return other + self.c
        terms = dict(self.terms)
        for atom, k in other.terms.items():
            k += terms.get(atom, 0)
            if k:
                terms[atom] = k
            else:
                terms.pop(atom, None)
        low, high = self.low + other.low, self.high + other.high
        return Num(self.c + other.c, terms, low, high, self.data or other.data)

    def __mul__(self, k: int) -> Num:
        if k == 1:
            return self
        if k == 0:
            return ZERO
        ends = self.low * k, self.high * k
        terms = {atom: n * k for atom, n in self.terms.items()}
        return Num(self.c * k, terms, min(ends), max(ends), self.data)

    def __neg__(self) -> Num:
        return self * -1

    def __sub__(self, other: Num | int) -> Num:
        return self + (-other)

    def within(self, bits: int) -> bool:
        return self.low >= 0 and self.high < 1 << bits

    def twos(self) -> int:
        """Returns the number of lowest bits that are constant."""
        return min((trailing_zeros(k) for k in self.terms.values()), default=1 << 20)


def trailing_zeros(k: int) -> int:
    return (k & -k).bit_length() - 1


def number(value: int) -> Num:
    return Num(value, {}, value, value, False)


ZERO = number(0)


@dataclass
class Atoms:
    """All unknowns of the executions of one function, with their bounds."""

    all: list[Atom] = field(default_factory=list)
    places: dict[tuple[str, tuple[int, tuple[tuple[int, int], ...]]], Num] = field(
        default_factory=dict
    )
    quotients: dict[tuple[int, tuple[int, tuple[tuple[int, int], ...]]], Num] = field(
        default_factory=dict
    )
    runs: dict[tuple[object, ...], Num] = field(default_factory=dict)
    moving: dict[int, list[int]] = field(default_factory=dict)  # bytes by an atom in their offset

    def new(self, name: str, low: int, high: int, data: bool, **more: object) -> Num:
        self.all.append(Atom(name, low, high, data, **more))  # type: ignore[arg-type]
        return Num(0, {len(self.all) - 1: 1}, low, high, data)

    def any_bytes(self, name: str, width: int) -> Num:
        """Returns an atom that may have any value of `width` bytes."""
        return self.new(name, 0, (1 << 8 * width) - 1, True)

    def byte(self, region: str, offset: Num) -> Num:
        """Returns the byte at an offset: always the same atom."""
        key = region, offset.key()
        if key not in self.places:
            self.places[key] = self.new(region, 0, 255, True, place=(region, offset))
            for atom in offset.terms:
                self.moving.setdefault(atom, []).append(len(self.all) - 1)
        return self.places[key]

    def replacing(self, atom: int, value: Num) -> dict[int, Num]:
        """Returns the values that replace an atom and the bytes whose offset contains it."""
        values = {atom: value}
        for moved in list(self.moving.get(atom, ())):
            place = self.all[moved].place
            assert place
            values[moved] = self.byte(place[0], self.put_in(place[1], {atom: value}))
        return values

    def text(self, n: Num) -> str:
        """Returns a number as text, truncated if it is long."""
        terms = list(n.terms.items())
        parts = [f"{k}*{self.name(a)}" if k != 1 else self.name(a) for a, k in terms[:6]]
        if len(terms) > 6:
            parts.append(f"... ({len(terms) - 6} more)")
        if n.c or not parts:
            parts.append(str(n.c))
        return " + ".join(parts)

    def name(self, atom: int) -> str:
        a = self.all[atom]
        return f"{a.place[0]}[{self.text(a.place[1])}]" if a.place else a.name

    def natural(self, n: Num) -> Range:
        """Returns the bounds that follow from the bounds of the atoms."""
        low = high = n.c
        for atom, k in n.terms.items():
            a = self.all[atom]
            low += k * (a.low if k > 0 else a.high)
            high += k * (a.high if k > 0 else a.low)
        return low, high

    def bound(self, n: Num) -> Num:
        """Narrows the bounds of a number by the bounds of its atoms, and returns the number."""
        low, high = self.natural(n)
        n.low, n.high = max(n.low, low), min(n.high, high)
        return n

    def high_of(self, n: Num, known: dict[int, int] | None = None) -> int:
        """Returns an upper bound that considers whether a quotient and a remainder belong to one
        number.

        If n = s * (f mod 2^w) + k * (f div 2^w) + rest, the sum of the first two is greatest
        either at the greatest f or just below a multiple of 2^w; f may be negative.
        """
        known = known or {}
        n = self.put_in(n, {atom: number(v) for atom, v in known.items()})
        best = min(n.high, self.natural(n)[1]) if not known else self.natural(n)[1]
        found = self.peel(n)
        if not found:
            return best
        q, s, k, f, w, rest = found
        most = self.all[q].high * (1 << w) + (1 << w) - 1
        most = min(most, f.high, self.natural(self.put_in(f, self.numbers(known)))[1])
        most = min(most, self.high_with(f, known))
        turns = most >> w
        top = s * (most & ((1 << w) - 1)) + k * turns
        if max(f.low, self.natural(f)[0]) < turns << w:
            top = max(top, s * ((1 << w) - 1) + k * (turns - 1))
        return min(best, top + self.high_of(rest, known) if rest.terms else top + rest.c)

    def numbers(self, known: dict[int, int]) -> dict[int, Num]:
        return {atom: number(v) for atom, v in known.items()}

    def high_with(self, f: Num, known: dict[int, int]) -> int:
        """Returns an upper bound of f if some carries in it are known: if the carry of a number t
        is 1, t is at least 2^w, and its remainder is less by 2^w."""
        best = f.high
        for atom, value in known.items():
            of = self.all[atom].of
            if of and f.terms.get(atom) == -(1 << of[1]):
                t, w = of
                rest = f - t + Num(0, {atom: 1}, 0, 1, True) * (1 << w)
                most = min(t.high - (value << w), (1 << w) - 1)
                best = min(best, most + self.natural(rest)[1])
        return best

    def peel(self, n: Num) -> tuple[int, int, int, Num, int, Num] | None:
        """Returns n as s * (f mod 2^w) + k * (f div 2^w) + rest, by the latest quotient in it."""
        divided = [a for a, k in n.terms.items() if k < 0 and self.all[a].of]
        if divided:
            q = max(divided)
            f, w = self.all[q].of  # type: ignore[misc]
            s = -(n.terms[q] >> w)
            k = n.terms[q] + (s << w)
            rest = n - f * s
            rest = Num(rest.c, {a: v for a, v in rest.terms.items() if a != q}, 0, 0, rest.data)
            rest.low, rest.high = self.natural(rest)
            return q, s, k, f, w, rest
        return None

    def put_in(self, n: Num, values: dict[int, Num]) -> Num:
        """Returns n with numbers in place of atoms."""
        if n.terms.keys().isdisjoint(values):
            return n
        result = Num(n.c, {a: k for a, k in n.terms.items() if a not in values}, 0, 0, n.data)
        result.low, result.high = self.natural(result)
        for atom in n.terms.keys() & values.keys():
            result = result + values[atom] * n.terms[atom]
        result.low, result.high = self.natural(result)
        return result

    def carries(self, n: Num) -> list[int]:
        """Returns the quotients in n that are 0 or 1, the latest first."""
        return sorted(
            (
                a
                for a in n.terms
                if self.all[a].of and (self.all[a].low, self.all[a].high) == (0, 1)
            ),
            reverse=True,
        )

    def sharp_high(self, n: Num) -> int:
        """Returns an upper bound by cases: each of the latest three carries is 0 or 1."""
        best = self.high_of(n)
        for atom in self.carries(n)[:3]:
            best = min(best, max(self.high_of(n, {atom: v}) for v in (0, 1)))
        return best

    def low_of(self, n: Num) -> int:
        """Returns a lower bound, given that neither a quotient nor a remainder is negative."""
        low = self.natural(n)[0]
        found = self.peel(n) if low < 0 else None
        if not found:
            return low
        _, _, k, f, _, rest = found
        if k < 0 or max(f.low, self.natural(f)[0]) < 0:
            return low
        return max(low, self.low_of(rest))

    def sharpen(self, n: Num, bits: int) -> None:
        """Narrows the bounds of n if they leave its quotient by 2^bits open."""
        if n.low < 0:
            n.low = max(n.low, self.low_of(n))
        if n.low >> bits != n.high >> bits:
            n.high = min(n.high, self.high_of(n))
        if n.high in (1 << bits, (2 << bits) - 1):
            n.high = min(n.high, self.sharp_high(n))

    def exact(self, n: Num, bits: int) -> Num:
        """Returns the content of a register of `bits` bits, a number from 0 to 2^bits - 1."""
        if n.within(bits):
            return n
        if not n.terms:
            return number(n.c & ((1 << bits) - 1))
        self.bound(n)
        self.sharpen(n, bits)
        if n.within(bits):
            return n
        rest = n - self.quotient(n, bits) * (1 << bits)
        return Num(rest.c, rest.terms, max(rest.low, 0), min(rest.high, (1 << bits) - 1), rest.data)

    def quotient(self, n: Num, bits: int) -> Num:
        """Returns n divided by 2^bits, rounded down."""
        if not n.terms:
            return number(n.c >> bits)
        twice = self.twice(n, bits)
        if twice is not None:
            return twice
        step = 1 << bits
        below = {a: k for a, k in n.terms.items() if k % step}
        rest = Num(n.c % step, below, 0, 0, n.data)
        low, high = self.natural(rest)
        if low >= 0 and high < step:  # the lower terms do not carry
            terms = {a: k >> bits for a, k in n.terms.items() if a not in below}
            return self.bound(Num(n.c >> bits, terms, n.low >> bits, n.high >> bits, n.data))
        self.bound(n)
        self.sharpen(n, bits)
        low, high = n.low >> bits, n.high >> bits
        if low == high:
            return number(low)
        key = bits, n.key()
        if key not in self.quotients:
            name = f"q{len(self.all)}"
            self.quotients[key] = self.new(name, low, high, n.data, of=(n, bits))
        return self.quotients[key]

    def twice(self, n: Num, bits: int) -> Num | None:
        """Returns the quotient if n is s * (2^h + 1), else None. Compilers compute this to fold a
        number: both halves become the sum of the two halves and the carry."""
        carried = {a: k for a, k in n.terms.items() if k == -(1 << 2 * bits)}
        for h, rest in ((bits // 2, n), (bits, n - Num(0, carried, 0, 0, True))):
            factor = (1 << h) + 1
            if (
                h < 16
                or 2 * h not in (bits, 2 * bits)
                or rest.c % factor
                or any(k % factor for k in rest.terms.values())
            ):
                continue
            terms = {a: k // factor for a, k in rest.terms.items()}
            s = Num(rest.c // factor, terms, 0, 0, rest.data)
            s.low, s.high = self.natural(s)
            self.sharpen(s, h)
            if s.low >= 0 and s.high <= (2 << h) - 2:
                carry = self.quotient(s, h)
                if h < bits:
                    return carry  # (2^h + 1) * s reaches 2^(2 h) when s reaches 2^h
                above = Num(0, {a: k >> bits for a, k in carried.items()}, 0, 0, True)
                above.low, above.high = self.natural(above)
                result = s + carry + above
                low, high = max(result.low, n.low >> bits), min(result.high, n.high >> bits)
                return Num(result.c, result.terms, low, high, True)
        return None

    def zeros(self, conditions: list[Num]) -> set[int]:
        """Returns the atoms that are 0 whenever all these numbers, none of them negative, are 0."""
        zero: set[int] = set()
        waiting = list(conditions)
        progress = True
        while waiting and progress:
            progress = False
            left = []
            for n in waiting:
                n = self.put_in(n, {a: ZERO for a in zero if a in n.terms})
                parts = self.parts(n)
                if parts is None:
                    left.append(n)
                    continue
                progress = True
                for part in parts:
                    if isinstance(part, int):
                        zero.add(part)
                    else:
                        left.append(part)
            waiting = left
        return zero

    def parts(self, n: Num) -> list[Num | int] | None:
        """Returns numbers and atoms, none negative, that are all 0 whenever n is, or None."""
        if n.c >= 0 and all(k > 0 and self.all[a].low >= 0 for a, k in n.terms.items()):
            if n.c > 0:
                raise Unproven("a number that is never 0 was taken for one that is")
            return list(n.terms)
        found = self.peel(n)
        if not found:
            return None
        q, _, k, f, _, rest = found
        if k <= 0 or self.low_of(rest) < 0 or max(f.low, self.natural(f)[0]) < 0:
            return None
        return [q, f, *([rest] if rest.terms or rest.c else [])]
