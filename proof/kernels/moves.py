# SPDX-License-Identifier: MIT
"""Proves moves: copies whose ranges may overlap, for every size and every distance of the two
ranges.

There is one memory. As in copies, a byte that is stored at dst + i must be the one that was loaded
from src + i. For moves, the order matters, too: no load may read a byte that an earlier store has
changed, so all loads read bytes from before the call. `CASES` lists the ways in which the ranges
may lie. Together the cases are complete, and in each the order of any two addresses follows from
linear inequalities, `facts`, and the bounds of atoms.

Execution is cut at the head of a loop. The lemma there divides the size into two parts: the bytes
left and the bytes done. It states which bytes may have been stored before, and promises which bytes
will be stored. The proof does not trust how lemmas are found: `Moves.enter` compares an execution
that arrives with the lemma, number by number.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import combinations

from aarch64 import A64
from claims import Claim, Interval, Proof, root
from engine import Edge, Engine, Function, Lemma, Rounds
from image import Image, Instruction
from machine import VECTOR, Access, Bits, Demand, Flags, Region, Split, State
from number import ZERO, Num, Unproven, number
from processor import Architecture, Decoded, Processor
from x86_64 import X86

HIGH = 1 << 62
MOST = 10  # the most facts of a state
Key = tuple[object, ...]
MOVE = Claim(("dst", "data", "size"), False, True, ())
Tail = tuple[str, int]  # a function that is entered with dirty vectors, and its least size


@dataclass(frozen=True)
class Case:
    """A way in which the ranges lie: the target starts `sign` * d bytes after the source."""

    name: str
    sign: int
    overlap: bool  # d is less than the size; if false, d is at least the size
    d_min: int
    d_max: int = HIGH
    size_max: int = HIGH


CASES = (
    Case("the target starts within the source", 1, True, 0),
    Case("the source starts within the target", -1, True, 1),
    Case("the target lies behind the source", 1, False, 1),
    Case("the source lies behind the target", -1, False, 1),
    Case("no bytes, at one place", 1, False, 0, 0, 0),
)
APART = CASES[2:]

# The effect of functions that a kernel calls or tail-calls. libcarry's functions among them have
# their own proofs: copies rely only on the portable copy, and the portable move only on copies.
CALLED = (
    (re.compile(r"carry_copy_move_generic|memmove"), "move"),
    (re.compile(r"carry_copy_(?!move_|try_)\w+|memcpy"), "copy"),
)


def kind_of(name: str) -> str | None:
    return next((kind for pattern, kind in CALLED if pattern.fullmatch(name)), None)


class Assume(Split):
    """Reports that execution depends on the sign of a number that contains several atoms."""

    def __init__(self, n: Num) -> None:
        super().__init__(-1, ())
        self.facts = n, -n - 1


@dataclass
class MoveState(State):
    """A state of a function that moves."""

    anchor: Num = ZERO  # the start of the target
    d: Num = ZERO
    least: int = 0  # the least size
    facts: tuple[Num, ...] = ()  # numbers that are not negative
    tail: str = ""  # the function that the execution tail-calls
    handed: Num = ZERO  # the size that it passes to that function

    def copy(self) -> MoveState:
        other = super().copy()
        assert isinstance(other, MoveState)
        return other

    def change(self, f: Callable[[Num], Num]) -> None:
        super().change(f)
        self.anchor, self.d = f(self.anchor), f(self.d)
        self.facts = tuple(f(n) for n in self.facts)


class Mover(Processor):
    """Decides conditions by facts, and models two ranges in one memory."""

    storing = False
    state: MoveState
    pushed = 0  # bytes that a call pushes

    def shown(self, n: Num) -> bool:
        """Returns whether n >= 0 follows from bounds and facts."""
        natural = self.atoms.natural
        if natural(n)[0] >= 0:
            return True
        if natural(n)[1] < 0:
            return False
        facts = self.state.facts
        for count in (1, 2, 3):
            for some in combinations(facts, count):
                rest = n
                for fact in some:
                    rest = rest - fact
                if natural(rest)[0] >= 0:
                    return True
        return False

    def is_at_least(self, d: Num) -> bool:
        if not d.data:
            if self.shown(d):
                return True
            if self.shown(-d - 1):
                return False
            if len(d.terms) > 1:
                raise Assume(d)
        return super().is_at_least(d)

    def holds(self, condition: str) -> bool:
        """Decides conditions "a" and "be" by one number, without a separate case for equality."""
        f = self.state.flags
        if condition in ("a", "be") and f.compared:
            above = self.exact(f.left, f.bits) - self.exact(f.right, f.bits)
            return self.is_positive(above) == (condition == "a")
        return super().holds(condition)

    def exact(self, value: Num, bits: int) -> Num:
        known = value.terms and not value.data and self.shown(value)
        if known and self.shown(number((1 << bits) - 1) - value):
            return value
        return super().exact(value, bits)

    def logic(self, name: str, left: Bits, right: Bits) -> Bits | None:
        """Returns unknown lowest bits of an address: no move relies on how ranges are aligned."""
        if any(v.data for _, v in (*left, *right)):
            return None
        size = sum(n for n, _ in left)
        value, mask = self.number(left), self.number(right)
        if value.terms.keys().isdisjoint(self.state.anchor.terms) or mask.constant is None:
            return None
        full = (1 << 8 * size) - 1
        low = mask.c if name == "and" else mask.c ^ full
        if low & low + 1 or (name == "or" and mask.c == 0) or name == "xor":
            return None
        any_low = self.atoms.new("alignment", 0, low, False)
        return ((size, any_low + (0 if name == "and" else mask.c)),)

    def access(self, address: Num, width: Num, content: Bits | None = None) -> Region:
        self.storing = content is not None
        return super().access(address, width, content)

    def region_of(self, address: Num) -> tuple[Region, Num] | None:
        moving = self.state.anchor.terms.keys() | self.state.d.terms.keys()
        regions = list(self.state.regions.values())
        regions.sort(key=lambda r: r.readable if self.storing else r.writable)
        for region in regions:
            offset = address - region.base
            others = region.base.terms.keys() if region.name == "stack" else moving
            if moving.isdisjoint(offset.terms) and offset.terms.keys().isdisjoint(others):
                return region, offset
        return None

    def check(self, a: Access, region: Region) -> None:
        if region.name == "stack":
            return super().check(a, region)
        verb = "reads" if a.content is None else "writes"
        if not self.is_at_least(a.offset):
            raise Unproven(f"{verb} before the start of {region.name}")
        if not self.is_at_least(region.size - a.offset - a.width):
            raise Unproven(f"{verb} past the end of {region.name}")
        return None

    # --- Moves by one instruction or one call ---

    def transfer(self, kind: str, to: Num, source: Num, count: Num) -> None:
        """Copies `count` bytes from `source` to `to`; checks that the ranges lie as `kind`
        requires."""
        count = self.exact(count, 64)
        if count.data or to.data or source.data:
            raise Unproven("an address or a size depends on the data")
        if not self.is_positive(count):
            return
        self.storing = True
        target = self.region_of(to)
        self.storing = False
        origin = self.region_of(source)
        if not target or not origin:
            raise Unproven("copies memory that is not its own")
        places = {target[0].name, origin[0].name}
        if ("stack" not in places or len(places) == 1) and not self.in_order(
            kind, to, source, count
        ):
            raise Unproven(f"{kind} of ranges that may overlap")
        if "stack" in places:
            n = self.constant(count, 64, "a size")
            return self.store(to, self.load(source, n))
        self.access(source, count)
        note = self.state.accesses[-1]
        self.access(to, count, ((0, self.atoms.byte(note.region, note.offset)),))
        return None

    def in_order(self, kind: str, to: Num, source: Num, count: Num) -> bool:
        behind = to - source
        apart = self.shown(behind - count) or self.shown(-behind - count)
        return kind == "move" or apart or (kind == "rep movs" and self.shown(-behind))


class MoverX86(Mover, X86):
    """A mover for x86-64: calls push the return address onto an aligned stack."""

    pushed = 8


class MoverA64(Mover, A64):
    """A mover for AArch64."""


MOVERS: dict[str, type[Mover]] = {"EM_X86_64": MoverX86, "EM_AARCH64": MoverA64}


@dataclass
class MoveLemma(Lemma):
    names: frozenset[str] = frozenset()  # registers that are read from the lemma on
    atoms: list[int] = field(default_factory=list)  # each arriving execution gives them values
    left: Num = ZERO
    stored: list[Interval] = field(default_factory=list)  # bytes that may have been stored
    promised: list[Interval] = field(default_factory=list)  # bytes that are stored from here on


@dataclass
class MoveEdge(Edge):
    values: dict[int, Num] = field(default_factory=dict)  # the values of the lemma's atoms here


class MoveEngine(Engine):
    """All executions of one function that moves, in one case."""

    def __init__(self, function: Function, case: Case) -> None:
        super().__init__(function, sums=False)
        self.case = case
        self.x: Mover = MOVERS[function.image.machine](function.image, self.atoms)
        self.to, self.source, self.count = registers(self.arch)
        self.moves: dict[Key, MoveLemma] = {}

    def split(self, state: State, split: Split) -> list[State]:
        """Returns a state for each case: with one more fact for Assume; otherwise, only the states
        that contradict no fact."""
        if not isinstance(split, Assume):
            return [s for s in super().split(state, split) if self.possible(s)]
        assert isinstance(state, MoveState)
        if len(state.facts) > MOST:
            raise self.located(Unproven("too many conditions of several numbers"), state)
        return [replace(state.copy(), facts=(*state.facts, fact)) for fact in split.facts]

    def possible(self, state: State) -> bool:
        assert isinstance(state, MoveState)
        return all(self.atoms.natural(n)[1] >= 0 for n in state.facts)

    def may_cut(self, state: State, demand: Demand) -> bool:
        return False

    def at_head(self, state: State) -> Edge | None:
        assert isinstance(state, MoveState)
        if state.regions["data"].size.terms:
            self.x.state = state
            guess = Guess.of(self, state)
            if guess:
                self.moves.setdefault(guess.key, guess.lemma)
                return MoveEdge(guess.key, state, [], ZERO, guess.values)
        self.rounds_before(state)
        return None

    def execute(self, state: State, i: Instruction) -> State | Edge | None:
        d = self.arch.decode(i)
        if d.name != "ret" and not self.arch.targets(i):
            raise Unproven("goes on where a register or memory says")
        if d.name == "rep movs":
            self.rep_movs(state)
        elif d.name == "call":
            self.call(state, i)
        elif d.name.startswith("j"):
            return self.go(state, i, d)
        else:
            return super().execute(state, i)
        state.at = i.after
        return None

    def rep_movs(self, state: State) -> None:
        places = (1, self.source, self.to)
        count, source, to = (self.x.number(state.gpr[i]) for i in places)
        self.x.transfer("rep movs", to, source, count)
        for i, n in zip(places, (ZERO, source + count, to + count), strict=True):
            state.gpr[i] = ((8, n),)

    def run_other(self, state: State, i: Instruction) -> str:
        """Applies the effect on memory of the function that an instruction calls or tail-calls;
        returns the function's name."""
        found = re.search(r"<([\w.]+)(?:@plt)?>$", i.text)
        name = found[1] if found else i.text
        kind = kind_of(name)
        if not kind or name == self.function.name:
            raise Unproven(f"goes on in {name}")
        places = (self.count, self.source, self.to)
        count, source, to = (self.x.number(state.gpr[i]) for i in places)
        self.x.transfer(kind, to, source, count)
        return name

    def call(self, state: State, i: Instruction) -> None:
        if state.dirty:
            raise Unproven("leaves the upper halves of vectors dirty")
        top = self.x.number(state.gpr[self.arch.stack]) - state.regions["stack"].base
        if top.constant is None or top.c % 16:
            raise Unproven("calls with a stack that is not aligned")
        self.run_other(state, i)
        for n, name in enumerate(self.arch.names):
            if n != self.arch.stack and (name not in self.arch.kept or name == "x30"):
                state.gpr[n] = ((8, self.junk(8)),)
        state.vec = [((VECTOR, self.junk(VECTOR)),) for _ in state.vec]
        state.masks = [self.junk(8) for _ in state.masks]
        state.flags = Flags()
        state.stack = {at: piece for at, piece in state.stack.items() if at >= top.c}

    def junk(self, width: int) -> Num:
        return self.atoms.any_bytes("what a call leaves", width)

    def go(self, state: State, i: Instruction, d: Decoded) -> State | None:
        target = self.arch.targets(i)[0]
        if d.name != "jmp" and not self.x.holds(d.name[1:]):
            target = i.after
        if target not in self.function.code:
            if target == i.after:
                raise Unproven("execution leaves the function")
            assert isinstance(state, MoveState)
            state.tail, target = self.run_other(state, i), -1
            state.handed = self.x.exact(self.x.number(state.gpr[self.count]), 64)
        state.at = target
        return state if target < 0 else None


def registers(arch: Architecture) -> list[int]:
    """Returns the registers of a target, a source and a size at a call."""
    return [arch.names.index(name) for name in arch.arguments[:3]]


def facts(case: Case, size: Num, d: Num, regions: dict[str, Region], least: int) -> list[Num]:
    lie = size - 1 - d if case.overlap else d - size
    starts = [regions[name].base for name in ("data", "dst")]
    return [lie, number(HIGH) - size, size - least, *starts]


def place(case: Case, state: MoveState, anchor: Num, d: Num, size: Num) -> None:
    """Places the ranges as the case requires."""
    state.anchor, state.d = anchor, d
    target, source = state.regions["dst"], state.regions["data"]
    target.base = anchor
    source.base = target.base - d * case.sign
    target.size = source.size = size
    state.facts = tuple(
        n for n in facts(case, size, d, state.regions, state.least) if n.terms or n.c < 0
    )


class Guess:
    """A guess at the lemma for the head of a loop, from the changes that one round makes."""

    def __init__(self, engine: MoveEngine, state: MoveState, steps: dict[int, int]) -> None:
        self.engine, self.state, self.steps = engine, state, steps
        self.arch = engine.arch
        self.atoms, self.case = engine.atoms, engine.case
        self.names = engine.function.live[state.at]
        self.key: Key = (state.at,)
        self.values: dict[int, Num] = {}
        self.size_old = state.regions["data"].size
        self.left_old, self.done_old = self.parts()
        self.new = state.copy()
        self.new.accesses, self.new.heads, self.new.put = [], {}, {}
        self.make_sizes()
        self.held: list[Interval] = []
        self.make_registers()
        self.lemma = self.make_lemma()

    @classmethod
    def of(cls, engine: MoveEngine, state: MoveState) -> Guess | None:
        """Returns a guess, or None if the loop certainly does not repeat."""
        rounds = Rounds(engine, state)
        once = rounds.round(state.copy(), ZERO)
        engine.x.state = state
        if once is None:
            return None
        steps = {}
        for i, name in enumerate(engine.arch.names):
            if name in engine.function.live[state.at]:
                before, after = (engine.x.number(s.gpr[i]) for s in (state, once))
                if not before.data and not after.same(before):
                    step = after - before
                    if step.constant is None:
                        raise Unproven("a loop that does not advance evenly")
                    steps[i] = step.c
        return cls(engine, state, steps)

    def moving(self, i: int) -> Num:
        """Returns the value of a register that changes, as an offset or a size."""
        value = self.engine.x.number(self.state.gpr[i])
        found = self.engine.x.region_of(value)
        return found[1] if found else value

    def parts(self) -> tuple[Num, Num]:
        """Returns the number of bytes left, and the number of bytes done."""
        for i, step in self.steps.items():
            if step < 0:
                left = self.moving(i)
                return left, self.size_old - left
        for i in self.steps:
            done = self.moving(i)
            return self.size_old - done, done
        raise Unproven("a loop that might go on for ever")

    def make_sizes(self) -> None:
        x, case, state = self.engine.x, self.case, self.new
        grain = min((abs(s) & -abs(s) for s in self.steps.values()), default=1)
        if any(k % grain for k in (self.done_old.c, *self.done_old.terms.values())):
            grain = 1
        twos = min(self.left_old.twos(), 6)
        rest = self.left_old.c & (1 << twos) - 1
        low = max(self.atoms.natural(self.left_old)[0] - rest, 0) >> twos
        low = 1 << low.bit_length() - 1 if low else 0
        state.least = max(state.least, self.atoms.natural(self.size_old)[0])
        left = self.atom("left", low, HIGH, divided(self.left_old - rest, 1 << twos))
        self.left = left * (1 << twos) + rest
        self.done = self.atom("done", 0, HIGH, divided(self.done_old, grain)) * grain
        self.size = self.left + self.done
        anchor = self.atom("dst", 0, HIGH, state.anchor)
        d = state.d
        if d.terms:
            d = self.atom("d", case.d_min, case.d_max, d)
        else:
            self.key += ("d", d.c)
        place(case, state, anchor, d, self.size)
        self.key += (twos, rest, low, grain, state.least)
        x.state = self.state

    def atom(self, name: str, low: int, high: int, value: Num) -> Num:
        new = self.atoms.new(name, low, high, False)
        self.values[next(iter(new.terms))] = value
        return new

    def make_registers(self) -> None:
        new, old = self.new, self.state
        for i, name in enumerate(self.arch.names):
            if name not in self.names or i == self.arch.stack:
                if i != self.arch.stack:
                    new.gpr[i] = ((8, self.engine.junk(8)),)
            elif not self.is_of_caller(old.gpr[i]):
                new.gpr[i] = ((8, self.register(i)),)
        for i in range(32):
            if f"v{i}" in self.names:
                new.vec[i] = self.vector(old.vec[i])
            else:
                new.vec[i] = ((VECTOR, self.engine.junk(VECTOR)),)
        new.masks = [self.engine.junk(8) for _ in new.masks]
        new.flags = Flags()
        if "flags" in self.names or any(n.startswith("k") for n in self.names):
            raise Unproven("flags or masks are read after a cut")
        new.stack = {at: p for at, p in old.stack.items() if self.is_of_caller((p,))}
        self.key += (
            new.dirty,
            new.streams,
            tuple(sorted((at, n) for at, (n, _) in new.stack.items())),
        )

    def is_of_caller(self, bits: Bits) -> bool:
        terms = bits[0][1].terms
        names = [self.atoms.all[a].name for a in terms]
        return len(bits) == 1 and len(names) == 1 and names[0].endswith(" at the call")

    def register(self, i: int) -> Num:
        value = self.engine.x.number(self.state.gpr[i])
        if value.data:
            raise Unproven("data in a register are read after a cut")
        found = self.engine.x.region_of(value)
        self.key += (self.arch.names[i], found[0].name if found else "")
        base = self.new.regions[found[0].name].base if found else ZERO
        return base + self.renamed(found[1] if found else value, self.steps.get(i, 0))

    def renamed(self, value: Num, step: int = 0) -> Num:
        """Returns an offset or a size in terms of the lemma's atoms."""
        moving = [("done", self.done_old, self.done)] if step > 0 else []
        moving += [("left", self.left_old, self.left)] if step < 0 else []
        fixed = [("", ZERO, ZERO), ("size", self.size_old, self.size)]
        for name, old, new in moving or fixed:
            rest = value - old
            if rest.constant is not None:
                self.key += (name, rest.c)
                return new + rest
        raise Unproven(f"{self.atoms.text(value)} is read after a cut")

    def vector(self, bits: Bits) -> Bits:
        """Returns a vector of bytes that were loaded, and will be stored."""
        found: list[tuple[int, Num]] = []
        run: list[Num] = []
        for width, value in bits:
            terms = list(value.terms)
            at = self.atoms.all[terms[0]].place if len(terms) == 1 and width == 1 else None
            if value.constant is None and not at:
                raise Unproven("a vector is read after a cut that holds no data")
            if at:
                offset = self.renamed(self.engine.resolved(self.state, at[1]))
                run.append(offset)
                value = self.atoms.byte(at[0], offset)
            else:
                self.key += (width, value.c)
            found.append((width, value))
        if run and (run[-1] - run[0]).constant == len(run) - 1:
            self.held.append((run[0], run[-1] + 1))
        return tuple(found)

    def make_lemma(self) -> MoveLemma:
        if any(step > 0 for step in self.steps.values()):
            stored, rest = (ZERO, self.done), (self.done, self.size)
        else:  # from the end backwards
            stored, rest = (self.left, self.size), (ZERO, self.left)
        if not self.case.overlap:  # any order is right
            stored = ZERO, self.size
        lemma = MoveLemma(self.new, [], {}, self.size)
        lemma.names, lemma.atoms, lemma.left = self.names, list(self.values), self.left
        lemma.stored, lemma.promised = [stored], [rest, *self.held]
        return lemma


def divided(n: Num, by: int) -> Num:
    terms = {a: k // by for a, k in n.terms.items()}
    assert n.c % by == 0 and all(k % by == 0 for k in n.terms.values())
    return Num(n.c // by, terms, -(1 << 80), 1 << 80, n.data)


class Moves(Proof):
    """Proves one function in one case."""

    engine: MoveEngine

    def __init__(self, function: Function, case: Case, least: int = 0, dirty: bool = False) -> None:
        super().__init__(MoveEngine(function, case), MOVE)
        self.case, self.dirty = case, dirty
        self.least = max(least, 1 if case.overlap else 0)
        self.tails: set[Tail] = set()

    def start(self) -> MoveLemma:
        """Returns the lemma at a call."""
        atoms, case = self.atoms, self.case
        plain = root(self.engine, self.claim).start
        state = MoveState(**vars(plain))
        state.least, state.dirty = self.least, self.dirty
        size = atoms.new("size", self.least, case.size_max, False) if case.size_max else ZERO
        d = atoms.new("d", case.d_min, case.d_max, False) if case.d_max else ZERO
        anchor = atoms.new("dst", 0, HIGH, False)
        place(case, state, anchor, d, size)
        # At a call, the stack is aligned, except for the return address that the call may push.
        engine, pushed = self.engine, self.engine.x.pushed
        stack = atoms.new("stack", 1 << 20, HIGH >> 4, False) * 16 - pushed
        state.regions["stack"].base = stack - (1 << 12) + pushed
        state.regions["stack"].size = number((1 << 12) - pushed)
        state.gpr[engine.arch.stack] = ((8, stack),)
        for region, i in (("dst", engine.to), ("data", engine.source)):
            state.gpr[i] = ((8, state.regions[region].base),)
        state.gpr[engine.count] = ((8, size),)
        return MoveLemma(state, [], {}, size, promised=[(ZERO, size)])

    def prove(self) -> None:
        first = self.start()
        self.at_call = first.start
        self.check_vectors()
        self.engine.moves[("root",)] = first
        done: set[Key] = set()
        while waiting := [key for key in self.engine.moves if key not in done]:
            key = waiting[0]
            done.add(key)
            lemma = self.engine.moves[key]
            for end in self.engine.run(lemma.start.copy()):
                self.executions += 1
                state = end.state if isinstance(end, Edge) else end
                assert isinstance(state, MoveState)
                self.engine.x.state = state
                try:
                    self.finish(key, lemma, end, state)
                except Unproven as error:
                    raise self.engine.located(error, state) from None

    def finish(self, key: Key, lemma: MoveLemma, end: State | Edge, state: MoveState) -> None:
        later: list[Interval] = []
        if isinstance(end, MoveEdge):
            later = self.enter(key, lemma, end, state)
        elif state.tail:
            if state.dirty:
                self.tails.add((state.tail, self.least_handed(state)))
            state.dirty = False
            self.check_abi(state)
        else:
            self.check_abi(state)
        self.check_order(lemma, state)
        stores = [self.span(state, a) for a in self.stores(state)]
        for a in self.stores(state):
            self.check_store(state, a)
        for low, high in self.resolved(state, lemma.promised):
            self.check_written(low, high, stores + later)

    def least_handed(self, state: MoveState) -> int:
        """Returns the least size that an execution passes to the function that it tail-calls."""
        is_all = state.handed.same(state.regions["data"].size)
        return max(self.atoms.natural(state.handed)[0], state.least if is_all else 0)

    # --- Order, and written bytes ---

    def covers(self, a: Num, b: Num) -> bool:
        return self.engine.x.shown(a - b)

    def span(self, state: State, a: Access) -> Interval:
        low = self.engine.resolved(state, a.offset)
        return low, low + self.engine.resolved(state, a.width)

    def resolved(self, state: State, spans: list[Interval]) -> list[Interval]:
        return [(self.engine.resolved(state, u), self.engine.resolved(state, v)) for u, v in spans]

    def check_order(self, lemma: MoveLemma, state: MoveState) -> None:
        """Checks that no load reads bytes that were stored before."""
        if not self.case.overlap:
            return
        stored = self.resolved(state, lemma.stored)
        behind = state.d * self.case.sign
        for a in state.accesses:
            low, high = self.span(state, a)
            if a.content is not None:
                stored.append((low, high))
                continue
            for start, end in stored:
                if not (self.covers(start + behind, high) or self.covers(low, end + behind)):
                    text = self.atoms.text
                    raise Unproven(
                        f"loads [{text(low)}, {text(high)}) of the source when [{text(start)}, "
                        f"{text(end)}) of the target may be stored already"
                    )

    # --- Lemmas ---

    def enter(self, key: Key, lemma: MoveLemma, edge: MoveEdge, state: MoveState) -> list[Interval]:
        """Checks that a state that arrives at a lemma matches it; returns the bytes that the lemma
        will write."""
        target = self.engine.moves[edge.target]
        # Lemmas of one key have their atoms in the same order.
        values = dict(zip(target.atoms, edge.values.values(), strict=True))
        put = self.engine.atoms.put_in
        for atom, value in values.items():
            known = self.atoms.all[atom]
            if not (
                self.covers(value, number(known.low)) and self.covers(number(known.high), value)
            ):
                raise Unproven(f"{known.name} is not what a loop needs")
        for fact in target.start.facts:  # type: ignore[attr-defined]
            if not self.covers(put(fact, values), ZERO):
                raise Unproven(f"{self.atoms.text(fact)} >= 0 is not what a loop needs")
        self.compare(target, state, values)
        stored = [(put(u, values), put(v, values)) for u, v in target.stored]
        for low, high in [
            *self.resolved(state, lemma.stored),
            *(self.span(state, a) for a in self.stores(state)),
        ]:
            if not any(self.covers(low, u) and self.covers(v, high) for u, v in stored):
                raise Unproven("a loop stores what it has yet to load")
        self.check_end(key, lemma, edge, put(target.left, values))
        return [(put(u, values), put(v, values)) for u, v in target.promised]

    def compare(self, target: MoveLemma, state: MoveState, values: dict[int, Num]) -> None:
        """Checks that each value that code after the lemma may read equals the lemma's value."""
        start, arch = target.start, self.engine.arch
        assert start.dirty == state.dirty and start.at == state.at
        assert start.streams == state.streams
        named = (i for i, n in enumerate(arch.names) if n in target.names)
        pairs = [(start.gpr[i], state.gpr[i]) for i in (*named, arch.stack)]
        pairs += [(start.vec[i], state.vec[i]) for i in range(32) if f"v{i}" in target.names]
        pairs += [((p,), (state.stack[at],)) for at, p in start.stack.items()]
        for new, old in pairs:
            if [n for n, _ in new] != [n for n, _ in old]:
                old = ((8, self.engine.x.number(old)),)
            for (n, u), (m, v) in zip(new, old, strict=True):
                if n != m or not self.is_same(u, v, state, values):
                    raise Unproven(f"{self.atoms.text(v)} is not what a loop has")
        for name in ("data", "dst"):
            base = self.atoms.put_in(start.regions[name].base, values)
            size = self.atoms.put_in(start.regions[name].size, values)
            assert base.same(state.regions[name].base) and size.same(state.regions[name].size)

    def is_same(self, new: Num, old: Num, state: MoveState, values: dict[int, Num]) -> bool:
        if not new.terms or not new.data:
            return self.atoms.put_in(new, values).same(old)
        u, v = self.place_of(new), self.place_of(old)
        if not u or not v:
            return new.same(old)
        return self.atoms.put_in(u, values).same(self.engine.resolved(state, v))

    def place_of(self, n: Num) -> Num | None:
        """Returns the offset of a byte of the data, or None."""
        found = self.atoms.all[next(iter(n.terms))].place if n.terms else None
        return found[1] if found and n.c == 0 and list(n.terms.values()) == [1] else None

    def check_end(self, key: Key, lemma: MoveLemma, edge: MoveEdge, left: Num) -> None:
        """Checks that fewer bytes are left after a jump back, and never more."""
        if key == ("root",):
            return
        before = self.engine.resolved(edge.state, lemma.left)
        back = edge.target[0] <= key[0]  # type: ignore[operator]
        if not self.covers(before - (1 if back else 0), left):
            raise Unproven("a loop might go on for ever")


def function_of(image: Image, name: str) -> Function:
    """Returns a function; only backward jumps that close a loop make heads."""
    function = Function.of(image, name, frozenset())
    after = {at: function.arch.targets(i) for at, i in function.code.items()}
    function.heads = {
        h for h in function.heads if any(h in after[at] and at >= h for at in reached(after, h))
    }
    return function


def reached(after: dict[int, list[int]], start: int) -> set[int]:
    found: set[int] = set()
    waiting = [start]
    while waiting:
        at = waiting.pop()
        if at in after and at not in found:
            found.add(at)
            waiting += after[at]
    return found


@dataclass
class MoveProof:
    """Proves one function in all cases. Also proves the functions that it tail-calls while vector
    registers are dirty."""

    image: Image
    name: str
    cases: tuple[Case, ...] = CASES
    executions: int = 0

    def run(self) -> None:
        tails: set[Tail] = set()
        for case in self.cases:
            tails |= self.prove(Moves(function_of(self.image, self.name), case))
        done: set[Tail] = set()
        while waiting := tails - done:
            name, least = tail = min(waiting)
            done.add(tail)
            for case in self.cases_of(name):
                if case.size_max >= least:
                    tails |= self.prove(Moves(function_of(self.image, name), case, least, True))

    def cases_of(self, name: str) -> tuple[Case, ...]:
        """Returns the cases of a function that is tail-called with dirty vector registers."""
        if name not in self.image.functions:
            raise Unproven(f"goes on in {name} with vectors that are dirty")
        return CASES if kind_of(name) == "move" else APART

    def prove(self, proof: Moves) -> set[Tail]:
        try:
            proof.prove()
        except Unproven as error:
            raise Unproven(f"{proof.case.name}: {error}") from None
        self.executions += proof.executions
        return proof.tails
