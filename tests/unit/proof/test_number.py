# SPDX-License-Identifier: MIT
"""Sums of unknowns: the computed properties of a sum hold for all values of its unknowns."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

pytest.importorskip("elftools", reason="python3-pyelftools is not installed")
from number import ZERO, Atoms, Num, Unproven, number

BITS = (8, 15, 16, 17, 31, 32, 33, 48, 63, 64)
FACTORS = (-1, 2, 3, 255, 256, 257, 0x10001, 1 << 16, 1 << 32, (1 << 32) + 1, 0xFFFF)


@dataclass
class Trial:
    """Numbers that are computed from other numbers, with one random value for each unknown."""

    draw: random.Random
    atoms: Atoms = field(default_factory=Atoms)
    values: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        zero = self.draw.random()
        self.numbers = [self.unknown(zero) for _ in range(4)]

    def unknown(self, zero: float) -> Num:
        high = (1 << self.draw.choice((1, 8, 16, 17, 32, 64))) - 1
        value = self.draw.choice((1, high - 1, high, high >> 1, self.draw.randint(0, high)))
        found = self.atoms.new("x", 0, high, True)
        self.values[next(iter(found.terms))] = 0 if self.draw.random() < zero else value
        return found

    def value(self, n: Num) -> int:
        return n.c + sum(k * self.value_of(atom) for atom, k in n.terms.items())

    def value_of(self, atom: int) -> int:
        if atom not in self.values:
            of = self.atoms.all[atom].of
            assert of
            self.values[atom] = self.value(of[0]) >> of[1]
        value, known = self.values[atom], self.atoms.all[atom]
        assert known.low <= value <= known.high, f"{value:#x} is out of the bounds of {known}"
        return value

    def step(self) -> None:
        a, b = self.draw.choices(self.numbers[-8:], k=2)
        value, bits = self.value(a), self.draw.choice(BITS)
        match self.draw.randrange(6):
            case 0:
                made, expected = a + b, value + self.value(b)
            case 1:
                k = self.draw.choice(FACTORS)
                made, expected = a * k, value * k
            case 2:
                made, expected = self.atoms.exact(a, bits), value % (1 << bits)
            case 3:
                made, expected = self.atoms.quotient(a, bits), value >> bits
            case 4:  # folded, like sums
                exact = self.atoms.exact(a, 2 * bits)
                made = self.atoms.exact(exact, bits) + self.atoms.quotient(exact, bits)
                expected = value % (1 << bits) + (value % (1 << 2 * bits) >> bits)
            case _:
                k = self.draw.choice((1, 255, 0xFFFF))
                made, expected = a + k, value + k
        text = self.atoms.text(made)
        assert self.value(made) == expected, text
        assert made.low <= expected <= made.high, f"{expected:#x} is out of the bounds of {text}"
        self.atoms.bound(made)
        self.atoms.sharpen(made, bits)
        assert made.low <= expected <= made.high, f"{expected:#x} is out of the bounds of {text}"
        if max(map(abs, (made.low, made.high))) < 1 << 80:
            self.numbers.append(made)

    def check_zeros(self) -> None:
        chosen = [n for n in self.draw.sample(self.numbers, 2) if n.low >= 0]
        if any(self.value(n) for n in chosen):
            return
        try:
            zeros = self.atoms.zeros(chosen)
        except Unproven:  # a number that is never 0
            raise AssertionError([self.atoms.text(n) for n in chosen]) from None
        assert not any(self.value_of(atom) for atom in zeros)


@pytest.mark.parametrize("seed", range(10))
def test_numbers_are_what_they_are_said_to_be(seed: int) -> None:
    for n in range(150):
        trial = Trial(random.Random(1000 * seed + n))
        for _ in range(20):
            trial.step()
            trial.check_zeros()


@pytest.mark.parametrize("bits", [32, 33, 48, 63, 64])
def test_sum_in_both_halves_carries_where_they_meet(bits: int) -> None:
    """Quotients of (2^h + 1) * s, which compilers use to fold sums, are right for any `bits`."""
    for h in (16, 31, 32):
        for value in (0, 1, (1 << h) - 1, 1 << h, (2 << h) - 2):
            atoms = Atoms()
            s = atoms.new("s", 0, (2 << h) - 2, True)
            quotient = atoms.quotient(s * ((1 << h) + 1), bits)
            total = quotient.c
            for atom, k in quotient.terms.items():
                of = atoms.all[atom].of
                total += k * (atoms_value(atoms, of[0], value) >> of[1] if of else value)
            assert total == value * ((1 << h) + 1) >> bits


def atoms_value(atoms: Atoms, n: Num, value: int) -> int:
    """Returns the value of a number of one unknown."""
    found = atoms.put_in(n, {a: number(value) for a in n.terms if not atoms.all[a].of} | {-1: ZERO})
    assert found.constant is not None
    return found.constant
