# SPDX-License-Identifier: MIT
"""Represents numbers whose bits are exclusive ors of bits of the data, and executes the
instructions for them: CRCs are linear over GF(2), as sums are linear over the integers.

A bit is a set, stored as an int: its bit 0 is the constant 1, each other bit is a bit of an atom. A
word is an atom whose bits are also known. Thus registers, memory, addresses and sizes are modelled
as in machine.py.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field

import aarch64
import x86_64
from aarch64 import A64
from machine import Bits
from number import Atoms, Num, Unproven, number
from processor import Processor, Register, Vector
from x86_64 import X86

Set = int
Word = tuple[Set, ...]  # the lowest bit first
ONE: Set = 1
POLYNOMIAL = 0x82F63B78  # RFC 3720, 12.1: 0x1edc6f41 with its bits reversed
LARGEST_TABLE = 8  # the most bits of an index


@dataclass
class Words(Atoms):
    """All unknowns of the executions of one function, with the known bits of each."""

    known: dict[int, Word] = field(default_factory=dict)
    words: dict[Word, Num] = field(default_factory=dict)
    variables: int = 1

    def word(self, bits: Sequence[Set]) -> Num:
        """Returns the number with these bits. Equal bits give the same atom; constant bits need
        none."""
        if all(b in (0, ONE) for b in bits):
            return number(sum(b << i for i, b in enumerate(bits)))
        width = max(i for i, b in enumerate(bits) if b) + 1
        key = tuple(bits[:width])
        if key not in self.words:
            self.words[key] = self.new(f"w{len(self.all)}", 0, (1 << width) - 1, True)
            self.known[len(self.all) - 1] = key
        return self.words[key]

    def bits(self, n: Num, width: int) -> Word | None:
        """Returns the bits of a number modulo 2^width, or None if they are unknown: the bits of an
        atom are, or additions may carry."""
        bits = [n.c >> i & 1 for i in range(width)]
        for atom, k in n.terms.items():
            own = self.bits_of(atom)
            shift = abs(k).bit_length() - 1
            if own is None or abs(k) != 1 << shift:
                return None
            for at, bit in enumerate(own[: max(width - shift, 0)], shift):
                if bit and bits[at] != (0 if k > 0 else ONE):
                    return None
                bits[at] ^= bit
        return tuple(bits)

    def bits_of(self, atom: int) -> Word | None:
        """Returns the bits of an atom, or None; bits of the data are unknowns."""
        a = self.all[atom]
        if atom in self.known:
            return self.known[atom]
        if not a.data or a.low < 0 or a.of or a.run or (a.place and a.place[1].terms):
            return None
        width = a.high.bit_length()
        self.known[atom] = tuple(1 << self.variables + i for i in range(width))
        self.variables += width
        return self.known[atom]

    def exact(self, n: Num, bits: int) -> Num:
        known = self.bits(n, bits) if n.data and not n.within(bits) else None
        return super().exact(n, bits) if known is None else self.word(known)

    def quotient(self, n: Num, bits: int) -> Num:
        known = self.bits(n, n.high.bit_length()) if n.data and n.low >= 0 else None
        return super().quotient(n, bits) if known is None else self.word(known[bits:])


class WordProcessor(Processor):
    """Holds words in its registers. If `tables` is set, an address may depend on the data if it is
    in a constant, linear table."""

    atoms: Words
    tables = False

    def word(self, bits: Bits) -> Word | None:
        return self.atoms.bits(self.number(bits), 8 * sum(n for n, _ in bits))

    def logic(self, name: str, left: Bits, right: Bits) -> Bits | None:
        if not any(v.data for _, v in (*left, *right)):
            return None
        a, b = self.word(left), self.word(right)
        if a is None or b is None:
            return None
        found = (bit_logic(name, u, v) for u, v in zip(a, b, strict=True))
        return ((len(a) // 8, self.atoms.word(tuple(found))),)

    def choose(self, condition: str, first: Bits, second: Bits) -> Bits:
        """Also chooses by a bit of the data, between two words with a constant difference."""
        f = self.state.flags
        if condition not in ("e", "ne") or not f.left.data or f.right.constant != 0:
            return super().choose(condition, first, second)
        tested = [b for b in self.atoms.bits(f.left, f.bits) or (0, 0) if b]
        a, b = self.word(first), self.word(second)
        if len(tested) != 1 or a is None or b is None:
            raise Unproven("a choice depends on the data")
        if condition == "e":
            a, b = b, a
        if any(u ^ v not in (0, ONE) for u, v in zip(a, b, strict=True)):
            raise Unproven("a choice between words whose difference depends on the data")
        found = tuple(v ^ (tested[0] if u ^ v else 0) for u, v in zip(a, b, strict=True))
        return ((len(a) // 8, self.atoms.word(found)),)

    def load(self, address: Num, n: int) -> Bits:
        if not (address.data and self.tables):
            return super().load(address, n)
        index = self.atoms.bits(address - address.c, 64)
        places = [i for i, b in enumerate(index or ()) if b]
        if not 0 < len(places) <= LARGEST_TABLE:
            raise Unproven("an address depends on the data, and is not that of a small table")
        assert index
        table = [self.entry(address.c, places, i, n) for i in range(1 << len(places))]
        word = [0] * 8 * n
        for bit in range(8 * n):
            word[bit] = table[0] >> bit & 1
            for i, place in enumerate(places):
                if (table[1 << i] ^ table[0]) >> bit & 1:
                    word[bit] ^= index[place]
        self.check_linear(table, len(places))
        return ((n, self.atoms.word(word)),)

    def entry(self, start: int, places: list[int], index: int, n: int) -> int:
        at = start + sum(1 << p for i, p in enumerate(places) if index >> i & 1)
        found = self.image.constant(at & (1 << 64) - 1, n)
        if found is None:
            raise Unproven(f"reads at {at:#x}, where nothing constant is")
        return int.from_bytes(found, "little")

    def check_linear(self, table: list[int], bits: int) -> None:
        for index in range(1 << bits):
            value = table[0]
            for i in range(bits):
                if index >> i & 1:
                    value ^= table[1 << i] ^ table[0]
            if value != table[index]:
                raise Unproven("an address depends on the data, in a table that is not linear")


class WordX86(WordProcessor, X86):
    """A processor for x86-64."""


class WordA64(WordProcessor, A64):
    """A processor for AArch64."""


MACHINES: dict[str, type[WordProcessor]] = {"EM_X86_64": WordX86, "EM_AARCH64": WordA64}


def bit_logic(name: str, a: Set, b: Set) -> Set:
    if name == "xor":
        return a ^ b
    if a not in (0, ONE):
        a, b = b, a
    if a in (0, ONE):
        return (a and b) if name == "and" else (a or b)
    if a == b:
        return a
    raise Unproven(f"no meaning for {name} of two bits of the data")


def word_of(x: WordProcessor, bits: Bits) -> Word:
    found = x.word(bits)
    if found is None:
        raise Unproven("no meaning for what is known of these bits")
    return found


def divided(
    register: Sequence[Set], bits: Sequence[Set], polynomial: int = POLYNOMIAL
) -> list[Set]:
    """Returns the register of a CRC after these bits, the lowest first: one textbook step for each
    bit."""
    register = list(register)
    for bit in bits:
        out = register[0] ^ bit
        register = [*register[1:], 0]
        for i in range(32):
            if polynomial >> i & 1:
                register[i] ^= out
    return register


def product(a: Word, b: Word) -> Word:
    """Returns the carry-less product of two words, one of which is constant."""
    if any(bit not in (0, ONE) for bit in b):
        a, b = b, a
    if any(bit not in (0, ONE) for bit in b):
        raise Unproven("multiplies data by data")
    result = [0] * (len(a) + len(b))
    for shift, factor in enumerate(b):
        if factor:
            end = shift + len(a)
            result[shift:end] = map(operator.xor, result[shift:end], a)
    return tuple(result)


@x86_64.means("crc32")
def crc32(x: X86, d: x86_64.Decoded) -> None:
    to, source = d.operands
    assert isinstance(to, Register) and isinstance(x, WordX86)
    old = x.take(x.state.gpr[to.index], 0, 4)
    result = divided(word_of(x, old), word_of(x, x.read(source)))
    x.write(Register(to.index, 4), ((4, x.atoms.word(result)),))


HALVES = {"pclmullqlqdq": (0, 0), "pclmulhqlqdq": (8, 0), "pclmullqhqdq": (0, 8)}
HALVES |= {"pclmulhqhqdq": (8, 8)}


@x86_64.means(*HALVES)
def pclmulqdq(x: X86, d: x86_64.Decoded) -> None:
    """Multiplies a half of each operand."""
    to, source = d.operands
    assert isinstance(to, Vector) and isinstance(x, WordX86)
    first, second = HALVES[d.name]
    a = word_of(x, x.take(x.read(to), first, 8))
    b = word_of(x, x.take(x.read(source), second, 8))
    x.write(to, ((16, x.atoms.word(product(a, b))),))


@aarch64.means("crc32cb", "crc32ch", "crc32cw", "crc32cx")
def crc32c(x: A64, d: aarch64.Decoded) -> None:
    to, old, source = d.operands
    assert isinstance(x, WordA64)
    width = {"b": 1, "h": 2, "w": 4, "x": 8}[d.name[-1]]
    data = x.take(x.bits(source, 8), 0, width)
    result = divided(word_of(x, x.bits(old, 4)), word_of(x, data))
    x.put_bits(to, ((4, x.atoms.word(result)),))


@aarch64.means("pmull")
def pmull(x: A64, d: aarch64.Decoded) -> None:
    """Multiplies the lower halves."""
    to, *sources = d.operands
    assert isinstance(x, WordA64) and isinstance(to, aarch64.Lanes)
    if to.lane != 16:
        raise Unproven("no meaning for pmull of bytes")
    a, b = (word_of(x, x.bits(o, 8)) for o in sources)
    x.put_bits(to, ((16, x.atoms.word(product(a, b))),))
