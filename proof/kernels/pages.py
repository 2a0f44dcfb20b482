# SPDX-License-Identifier: MIT
"""Proves copies that proceed page by page of the target: AArch64's copies that survive faults.

The number of bytes left in a page is any number from 1 on: no copy relies on where pages begin.
Execution is cut at the head of the loop over pages. An inner loop is summed up if its rounds add
only bytes of the data to live registers. Otherwise, execution is cut at its head, too, and the
lemma divides the size into two parts, the bytes left in the page and the rest.

A page may have an odd size, so a lemma records whether the number of bytes before it is odd. It
also records the heads of loops after which bytes were consumed: an execution that returns to such a
head has made progress.
"""

from __future__ import annotations

from aarch64 import A64
from engine import Cut, Edge, Engine, Function, Rounds
from machine import Bits, Demand, Open, Split, State
from number import ZERO, Num, Unproven

EVERY = (1 << 63) - 1  # the largest size


class Either(Split):
    """Two cases: in each, one of two atoms gets a value that contains the other atom."""

    def __init__(self, *cases: tuple[int, Num]) -> None:
        super().__init__(-1, ())
        self.cases = cases


class PageA64(A64):
    """AArch64, with pages that may begin at any address."""

    def logic(self, name: str, left: Bits, right: Bits) -> Bits | None:
        if name != "and" or any(v.data for _, v in (*left, *right)):
            return None
        mask = self.number(right).constant
        address = self.region_of(self.number(left)) is not None
        if not address or mask is None or mask & mask + 1:
            return None
        size = sum(n for n, _ in left)
        return ((size, -self.atoms.new("page", 1, mask + 1, False) + (mask + 1)),)

    def is_at_least(self, d: Num) -> bool:
        try:
            return super().is_at_least(d)
        except Open:
            atoms = {k: atom for atom, k in d.terms.items()}
            if len(d.terms) != 2 or atoms.keys() != {1, -1}:
                raise
            raise self.compared(d, atoms[1], atoms[-1]) from None

    def compared(self, d: Num, first: int, second: int) -> Split:
        """Returns cases by the sign of d, which is the first atom minus the second one, plus a
        constant."""
        a, b = self.atoms.all[first], self.atoms.all[second]
        least = b.high - d.c
        if a.high >= least:
            below = self.atoms.new(a.name, a.low, least - 1, False)
            return Split(first, [below, self.atoms.new(a.name, least, a.high, False)])
        return Either(
            (first, self.no_less(second, -d.c, a.high - b.low + d.c)),
            (second, self.no_less(first, d.c + 1, b.high - a.low - d.c - 1)),
        )

    def no_less(self, atom: int, more: int, most: int) -> Num:
        """Returns a number from atom + more to atom + more + most."""
        known = self.atoms.all[atom]
        n = Num(more, {atom: 1}, known.low + more, known.high + more, False)
        return n + self.atoms.new("rest", 0, most, False)


class PageCut(Cut):
    """A lemma whose size may be in two parts: the bytes left in a page, and the rest."""

    behind = 0  # copied bytes are not read again

    def offset(self) -> Num:
        offsets = self.offsets()
        if any(not o.same(offsets[0]) for o in offsets):
            raise Unproven("two places in the data are read after a cut")
        return offsets[0] if offsets else ZERO

    @property
    def pages(self) -> PageEngine:
        assert isinstance(self.engine, PageEngine)
        return self.engine

    def rename_regions(self) -> None:
        self.part: Num | None = None  # new_size() sets `part` and `page`
        self.page: Num | None = None
        super().rename_regions()
        before = self.state.moved
        if self.atoms.natural(self.consumed)[0] > 0:
            before = frozenset(self.engine.function.heads)
        self.new.moved = before & self.pages.around(self.state.at) - {self.state.at}
        self.key.append(self.new.moved)

    def new_size(self, low: int, high: int) -> Num:
        self.part = self.part_of_size()
        if self.part is None:
            outer = self.pages.is_outer(self.state.at)
            return super().new_size(min(low, 1) if outer else low, high)
        least, most = self.atoms.natural(self.part)
        behind = self.atoms.natural(self.left - self.part)[0]
        # Only powers of two, so that there are few lemmas.
        least, behind = (1 << n.bit_length() - 1 if n else 0 for n in (least, behind))
        most = 1 << (most - 1).bit_length()
        self.key.append(("page", least, most, behind))
        self.page = self.atoms.new("page", least, most, False)
        return self.page + self.atoms.new("rest", behind, EVERY, False)

    def pieces(self, bits: Bits) -> Bits:
        """Treats a sum as one number, even if its halves are known separately."""
        return super().pieces(((8, self.engine.x.number(bits)),))

    def part_of_size(self) -> Num | None:
        """Returns the bytes left in a page, if a register holds them."""
        for i, name in enumerate(self.arch.names):
            value = self.engine.x.number(self.state.gpr[i])
            if name not in self.names or not value.terms or value.data or self.pointer(value):
                continue
            low, rest = (self.atoms.natural(n)[0] for n in (value, self.left - value))
            if low >= 0 and rest >= 0 and not value.same(self.left):
                return value
        return None

    def rename(self, value: Num) -> Num:
        if self.part is not None and self.page is not None and value.same(self.part):
            self.key.append("page")
            return self.page
        before = value - self.left
        if value.terms and before.constant != 0 and not self.pointer(value):
            return self.odd_or_even(before)
        return super().rename(value)

    def odd_or_even(self, before: Num) -> Num:
        """Returns an unknown number of 64 bits with the same parity relative to the bytes left."""
        self.engine.x.demand(before, 1)
        self.key.append(("before", before.c & 1))
        any_number = self.atoms.new("half of what is before", -EVERY, EVERY, False)
        return self.size + any_number * 2 + (before.c & 1)


class PageEngine(Engine):
    """All executions of a function that proceeds page by page."""

    builder = PageCut

    def __init__(self, function: Function, sums: bool = True) -> None:
        super().__init__(function, sums)
        self.x = PageA64(function.image, self.atoms)
        self.bodies = {head: function.loop(head) for head in function.heads}

    def split(self, state: State, split: Split) -> list[State]:
        if not isinstance(split, Either):
            return super().split(state, split)
        parts = (Split(atom, [value]) for atom, value in split.cases)
        return [other for part in parts for other in super(PageEngine, self).split(state, part)]

    def around(self, at: int) -> frozenset[int]:
        """Returns the heads of the loops that contain an instruction."""
        return frozenset(head for head, body in self.bodies.items() if at in body)

    def is_outer(self, head: int) -> bool:
        """Returns whether this loop contains other loops."""
        return len(self.bodies[head] & self.function.heads) > 1

    def may_cut(self, state: State, demand: Demand) -> bool:
        return False

    def at_head(self, state: State) -> Edge | None:
        if self.is_outer(state.at):
            return self.cut(state)
        rounds = Rounds(self, state)
        once = rounds.round(state.copy(), ZERO)
        if once is None or not rounds.stays:  # every end is decided
            self.rounds_before(state)
            return None
        if not Rounds(self, state).adds_up():
            return self.cut(state)
        self.sum_up(state)
        return None
