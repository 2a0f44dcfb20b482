# SPDX-License-Identifier: MIT
"""Proves kernels of CRC32c for every content and size.

The reference is the register of RFC 3720 and of RFC 9260, appendix A: it processes the data bit by
bit, the lowest bit of each byte first. The lemma of a loop says that the code computes the same
result as the reference from any register and any number of bytes on. One round leads to the same
lemma with fewer bytes; the reference has processed the bytes in between.
"""

from __future__ import annotations

from dataclasses import replace

from claims import Claim, Proof, Summary
from engine import Cut, Edge, Engine, Function, Lemma
from machine import Bits, State
from number import Num, Unproven
from words import MACHINES, ONE, POLYNOMIAL, Set, Word, Words, divided

Key = tuple[object, ...]
ROOT: Key = ("root",)
CRC32C = Claim(("data", "size", "sum"), True, False, (0,))
EVERY = (1 << 63) - 1  # the largest size


class Refuted(Unproven):
    """Reports that the code is wrong for `data`, if it continues from a CRC of `crc`."""

    def __init__(self, text: str, data: bytes, crc: int) -> None:
        super().__init__(text)
        self.data, self.crc = data, crc


class WordCut(Cut):
    """A lemma for all sizes from the least on that have the same known lowest bits."""

    def rename_regions(self) -> None:
        """Places the data anywhere; bytes before them are not read again."""
        self.old = {name: replace(r) for name, r in self.state.regions.items()}
        data = self.new.regions["data"]
        self.left = data.size - self.consumed
        twos = min(self.left.twos(), 6)
        low, rest = self.atoms.natural(self.left)[0], self.left.c & (1 << twos) - 1
        size = self.atoms.new("size", (low - rest) >> twos, EVERY >> twos, False)
        self.size = size * (1 << twos) + rest
        self.key.append((low, twos, rest))
        data.base, data.size = self.atoms.new("data", 1, 1 << 56, False), self.size

    def lanes(self, bits: Bits) -> Bits:
        """Keeps only the constants of vectors."""
        self.key.append(tuple((n, v.constant) for n, v in bits))
        return tuple(
            (n, v if v.constant is not None else self.junk("a vector", n)) for n, v in bits
        )

    def rename(self, value: Num) -> Num:
        """Renames the end of the data, too, and keeps the lowest bits of the size at the call."""
        end = value - self.old["data"].base - self.consumed - self.left
        if end.constant is not None:
            self.key.append(("end", end.c))
            return self.new.regions["data"].base + self.size + end.c
        before, twos = value - self.left, min(value.twos(), 6)
        address = any(a in value.terms for r in self.old.values() for a in r.base.terms)
        if value.terms and twos and not address and (before.constant is None or before.c > 0):
            return self.lowest(value, twos)
        return super().rename(value)

    def lowest(self, value: Num, twos: int) -> Num:
        """Returns an unknown number with the same lowest bits as `value`."""
        low, high = self.atoms.natural(value)
        if low < 0 or high > EVERY:
            raise Unproven(f"{self.atoms.text(value)} is read after a cut")
        rest = value.c & (1 << twos) - 1
        self.key.append(("low bits", twos, rest))
        return self.atoms.new("what a size was", 0, EVERY >> twos, False) * (1 << twos) + rest


class WordEngine(Engine):
    """Follows a loop round by round if the size or the number of rounds is constant, and cuts at
    all other loops."""

    builder = WordCut
    many = 1 << 12

    def __init__(self, function: Function, tables: bool = False) -> None:
        super().__init__(function)
        self.words = Words()
        self.atoms = self.words
        self.x = self.processor = MACHINES[function.image.machine](function.image, self.words)
        self.processor.tables = tables

    def at_head(self, state: State) -> Edge | None:
        if state.regions["data"].size.constant is None and not self.is_counted(state):
            return self.cut(state)
        self.rounds_before(state)
        return None


class Remainder(Proof):
    """Proves that one function computes CRC32c."""

    engine: WordEngine

    def __init__(self, engine: WordEngine) -> None:
        super().__init__(engine, CRC32C)
        self.before: dict[Key, int] = {ROOT: 0}  # bytes that one way to a lemma has processed

    def end(self, key: Key, lemma: Lemma, state: State) -> None:
        try:
            self.check_abi(state)
            size = state.regions["data"].size
            if size.constant is None:
                raise Unproven("does not look at all of the data")
            result = self.engine.processor.word(self.engine.x.take(self.result(state, 0), 0, 4))
            expected = [ONE ^ b for b in self.reference(key, lemma, size.c)]
            self.compare(key, lemma, result, expected, size.c)
            self.settle(key, Summary((1,), None, 0))
        except Unproven as error:
            raise self.at(error, state) from None

    def edge(self, key: Key, lemma: Lemma, edge: Edge) -> None:
        try:
            super().edge(key, lemma, edge)
            if len(edge.given) != 1:
                raise Unproven("a loop does not carry one register")
            given = self.engine.words.bits(edge.given[0], 32)
            size = self.atoms.natural(edge.state.regions["data"].size)[0]
            taken = edge.consumed.c
            self.compare(key, lemma, given, self.reference(key, lemma, taken), size)
            self.before.setdefault(edge.target, self.before[key] + taken)
        except Unproven as error:
            raise self.at(error, edge.state) from None

    def close(self) -> None:
        """Settles the proof: each lemma leads to others with fewer bytes left, or to the end."""
        self.settle(ROOT, Summary((1,), None, 0))

    def at(self, error: Unproven, state: State) -> Unproven:
        located = self.engine.located(error, state)
        if isinstance(error, Refuted):
            return Refuted(str(located), error.data, error.crc)
        return located

    # --- The reference ---

    def register(self, key: Key, lemma: Lemma) -> list[Set]:
        """Returns the register at a lemma. At the call, it is the inverted CRC of earlier bytes."""
        return [ONE ^ b if key == ROOT else b for b in self.start(lemma)]

    def start(self, lemma: Lemma) -> Word:
        (given,) = lemma.inputs
        bits = self.engine.words.bits(given, 32)
        assert bits and all(bits)
        return bits

    def data(self, size: int) -> list[Word]:
        """Returns the bits of each byte from a lemma on."""
        words = self.engine.words
        found = (words.bits(words.byte("data", Num(i, {}, i, i, False)), 8) for i in range(size))
        return [b for b in found if b is not None]

    def reference(self, key: Key, lemma: Lemma, size: int) -> list[Set]:
        bits = [b for byte in self.data(size) for b in byte]
        assert len(bits) == 8 * size
        return divided(self.register(key, lemma), bits)

    # --- Where they differ ---

    def compare(
        self, key: Key, lemma: Lemma, found: Word | None, expected: list[Set], size: int
    ) -> None:
        if found is None:
            raise Unproven("a result of which the bits are not known")
        for bit, (a, b) in enumerate(zip(found, expected, strict=True)):
            if a != b:
                data, crc = self.input(key, lemma, size, a ^ b)
                raise Refuted(f"bit {bit} of the register is wrong", data, crc)

    def input(self, key: Key, lemma: Lemma, size: int, wrong: Set) -> tuple[bytes, int]:
        """Returns an input for which the sum of a set of bits is odd: all bits are 0, or all but
        one."""
        chosen = 0 if wrong & ONE else wrong & -wrong
        register = value([int(b == chosen) for b in self.start(lemma)])
        data = bytes(value([int(b == chosen and b != 0) for b in byte]) for byte in self.data(size))
        if key == ROOT:
            return data, register
        before = self.before[key]
        return bytes(before) + data, ~undone(register, before) & 0xFFFFFFFF


def value(bits: list[int]) -> int:
    return sum(b << i for i, b in enumerate(bits))


def undone(register: int, size: int) -> int:
    """Returns the register before `size` bytes of zeros."""
    for _ in range(8 * size):
        out = register >> 31  # only the polynomial sets the highest bit
        register = (register ^ (POLYNOMIAL if out else 0)) << 1 | out
    return register
