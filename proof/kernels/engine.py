# SPDX-License-Identifier: MIT
"""Executes a function for every size, alignment and content.

Execution begins with a size that is an atom. If a branch depends on it, both sides are followed.
Execution is cut where code needs the lowest bits of the size, and at the heads of loops: the state
that the code reads from there on becomes a lemma, with a size, registers and sums that are new
atoms. The lemma is proven once for all executions that arrive there. A loop that returns to its
lemma with fewer bytes left is an induction. Other loops are summed up: one round in the middle
shows the addends of each round.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from architectures import ARCHITECTURES
from image import Image, Instruction
from liveness import live
from machine import FEW, VECTOR, Bits, Demand, Flags, Open, Split, State
from number import ZERO, Atoms, Num, Run, Unproven, number
from processor import Architecture, Decoded, Immediate, Processor, apply

EXAMPLES = (0, 1, 2, 3, 100, 1 << 17)


@dataclass
class Edge:
    """An execution that arrived at a lemma, or at another function."""

    target: tuple[object, ...]
    state: State
    given: list[Num]  # the values of the lemma's sums at the arrival
    consumed: Num  # the number of processed bytes of the data


@dataclass
class Lemma:
    """The state at which a proof continues, and the ends of executions from there."""

    start: State
    inputs: list[Num]
    base: dict[str, Num]
    size: Num
    ends: list[State] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)


@dataclass
class Function:
    """A function of an image, and the facts that are computed before its proof."""

    image: Image
    name: str
    arch: Architecture
    code: dict[int, Instruction]
    live: dict[int, frozenset[str]]
    heads: set[int]
    unusual: frozenset[int]

    @classmethod
    def of(cls, image: Image, name: str, returns: frozenset[int], called: bool = False) -> Function:
        """Returns a function; with `called`, the functions that it calls are part of it."""
        code = image.instructions(name)
        arch = ARCHITECTURES[image.machine]
        if called:
            add_called(image, code, arch)
        at_return = {*arch.kept, arch.names[arch.stack], *(arch.results[i] for i in returns)}
        jumps = ((i.address, t) for i in code.values() for t in arch.targets(i))
        heads = {t for at, t in jumps if t <= at and t in code}
        lives = live(code, frozenset(at_return), arch)
        return cls(image, name, arch, code, lives, heads, frozenset(arch.unusual(code)))

    def loop(self, head: int) -> set[int]:
        """Returns the instructions from which execution may return to the head within the loop."""
        before: dict[int, list[int]] = {}
        for at, i in self.code.items():
            for target in self.arch.targets(i):
                before.setdefault(target, []).append(at)
        body = {head}
        waiting = [at for at in before.get(head, ()) if at >= head]
        while waiting:
            at = waiting.pop()
            if at not in body:
                body.add(at)
                waiting += before.get(at, [])
        return body

    @property
    def start(self) -> int:
        start: int = self.image.functions[self.name][0]
        return start


class Engine:
    """All executions of one function."""

    builder: type[Cut]
    many = 400  # the most rounds of a loop that are followed one by one

    def __init__(self, function: Function, sums: bool = True, cuts: bool = True) -> None:
        self.function, self.sums = function, sums
        self.atoms = Atoms()
        self.arch = function.arch
        self.x: Processor = self.arch.machine(function.image, self.atoms)
        self.lemmas: dict[tuple[object, ...], Lemma] = {}
        self.order: list[tuple[object, ...]] = []
        self.cuts = cuts
        self.counted: dict[int, bool] = {}
        self.steps = 0
        self.at: Instruction | None = None

    # --- Executions ---

    def run(self, start: State) -> Iterator[State | Edge]:
        """Executes from a state on; yields the ends of executions."""
        waiting = [start]
        while waiting:
            state = waiting.pop()
            first = True
            while True:
                try:
                    end = self.advance(state, first)
                except Split as split:
                    waiting += self.split(state, split)
                    break
                except Demand as demand:
                    if self.may_cut(state, demand) and not (first and state is start):
                        yield self.cut(state)
                    else:
                        waiting += self.by_bits(state, demand)
                    break
                except Unproven as error:
                    raise self.located(error, state) from None
                first = False
                if end is not None:
                    yield end
                    break

    def by_bits(self, state: State, demand: Demand) -> list[State]:
        try:
            return self.split(state, self.x.split(demand.atom, demand.bits))
        except Unproven as error:
            raise self.located(error, state) from None

    def located(self, error: Unproven, state: State) -> Unproven:
        if self.at is None or str(error).startswith(self.function.name):
            return error
        offset = self.at.address - self.function.start
        size = self.atoms.text(state.regions["data"].size) if "data" in state.regions else "?"
        where = f"{self.function.name}+{offset:#x} ({self.at.text}), {size} bytes"
        found = Unproven(f"{where}: {error}")
        if "data" in state.regions:
            data = state.regions["data"]
            modulus = 1 << min(data.base.twos(), 12)
            found.start = data.base.c % modulus, modulus
            found.sizes = tuple(self.example(data.size, step) for step in EXAMPLES)
        return found

    def example(self, n: Num, step: int) -> int:
        """Returns the number for atoms that are `step` above their lowest values, if possible."""
        atoms = ((self.atoms.all[a], k) for a, k in n.terms.items())
        return n.c + sum(k * min(a.low + step, a.high) for a, k in atoms)

    def resolved(self, state: State, n: Num) -> Num:
        """Returns the number in terms of the present atoms of the state."""
        for _ in range(64):
            other = self.atoms.put_in(n, state.put)
            if other is n:
                return n
            n = other
        raise Unproven("an atom whose value contains it")

    def split(self, state: State, split: Split) -> list[State]:
        found = []
        for value in split.values:
            other = state.copy()
            other.put[split.atom] = value
            values = self.atoms.replacing(split.atom, value)
            other.change(lambda n, v=values: self.atoms.put_in(n, v))  # type: ignore[misc]
            found.append(other)
        return found[::-1]

    def advance(self, state: State, first: bool) -> State | Edge | None:
        """Executes one instruction, or a loop; returns the end of the execution, or None."""
        if state.at in self.function.heads and not state.loop and not first:
            end = self.at_head(state)
            if end is not None:
                return end
        return self.step(state)

    def step(self, state: State) -> State | Edge | None:
        instruction = self.function.code.get(state.at)
        if instruction is None:
            raise Unproven("execution leaves the function")
        self.at = instruction
        if state.at in self.function.unusual:
            raise Unproven("is not encoded as assemblers do it")
        self.steps += 1
        saved = (list(state.gpr), list(state.vec), list(state.masks), state.flags)
        rest = (len(state.accesses), state.stack, state.dirty, state.streams)
        self.x.state = state
        self.x.carry_is_read = "flags" in self.function.live.get(instruction.after, ("flags",))
        try:
            return self.execute(state, instruction)
        except (Split, Demand):
            state.gpr, state.vec, state.masks, state.flags = saved
            del state.accesses[rest[0] :]
            _, state.stack, state.dirty, state.streams = rest
            raise

    def execute(self, state: State, instruction: Instruction) -> State | Edge | None:
        d = self.arch.decode(instruction)
        if d.name == "ret":
            return self.leave(state, d)
        if not self.arch.targets(instruction):
            raise Unproven("goes on where a register or memory says")
        if d.name == "call":
            self.x.push(number(instruction.after))
            return self.go_to(state, self.arch.targets(instruction)[0])
        if d.name.startswith("j"):
            return self.jump(state, instruction, d.name)
        stack = state.gpr[self.arch.stack]
        apply(self.x, d, self.arch.meanings)
        if state.gpr[self.arch.stack] is not stack:
            self.x.stack_has_moved(self.arch.stack)
        state.at = instruction.after
        return None

    def jump(self, state: State, instruction: Instruction, name: str) -> State | Edge | None:
        target = self.arch.targets(instruction)[0]
        if name != "jmp" and not self.x.holds(name[1:]):
            target = instruction.after
        return self.go_to(state, target)

    def leave(self, state: State, d: Decoded) -> State | None:
        """Executes a return. Returns the final state if it leads to the caller, or None if it ends
        a call within the function."""
        top = self.x.number(state.gpr[self.arch.stack])
        more = sum(o.value for o in d.operands if isinstance(o, Immediate))
        found = self.x.region_of(top) if self.arch.returns_by_stack else None
        if found and found[1].constant is not None and found[1].c in state.stack:
            back = self.x.constant(self.x.number(self.x.load(top, 8)), 64, "a return")
            state.gpr[self.arch.stack] = ((8, top + 8 + more),)
            if back not in self.function.code:
                raise Unproven("execution leaves the function")
            state.at = back
            return None
        state.gpr[self.arch.stack] = ((8, top + more),)
        state.at = -1
        return state

    def go_to(self, state: State, target: int) -> State | Edge | None:
        state.at = target
        if target in self.function.code:
            return None
        other = self.function.image.function_at(target)
        if other is None:
            raise Unproven("execution leaves the function")
        return Edge(("function", other), state, [], ZERO)

    # --- Lemmas ---

    def is_open(self, size: Num) -> bool:
        """Returns whether a size has no narrow bounds yet."""
        return any(self.x.span(atom) > FEW and k == 1 for atom, k in size.terms.items())

    def may_cut(self, state: State, demand: Demand) -> bool:
        size = state.regions["data"].size
        return self.cuts and not state.loop and demand.atom in size.terms and self.is_open(size)

    def at_head(self, state: State) -> Edge | None:
        size = state.regions["data"].size
        if self.cuts and self.is_open(size) and not self.is_counted(state):
            return self.cut(state)
        rounds = self.rounds_before(state)
        if self.counts(state) and rounds == 0:
            self.sum_up(state)
        elif rounds == 2:
            self.try_to_sum_up(state)
        return None

    def rounds_before(self, state: State) -> int:
        """Returns how many times the execution was at this head of a loop before, and counts this
        time."""
        rounds = state.heads.get(state.at, 0)
        state.heads[state.at] = rounds + 1
        if rounds > self.many:
            raise Unproven("a loop goes on too long to be followed round by round")
        return rounds

    def try_to_sum_up(self, state: State) -> None:
        """Sums up a loop if possible; otherwise, execution follows it round by round."""
        try:
            self.sum_up(state)
        except Unproven:
            return

    def is_counted(self, state: State) -> bool:
        """Returns whether constants alone decide how many rounds a loop has."""
        if state.at not in self.counted:
            try:
                rounds = Rounds(self, state)
                once = rounds.round(state.copy(), number(0))
                known = all(d.constant is not None for _, d in rounds.stays)
                self.counted[state.at] = known and once is not None
            except (Split, Demand, Unproven):
                self.counted[state.at] = False
        return self.counted[state.at]

    def counts(self, state: State) -> bool:
        """Returns whether a live register holds a number with an atom that is not the start of a
        region."""
        bases = {a for r in state.regions.values() for a in r.base.terms}
        names = self.function.live[state.at]
        for i, name in enumerate(self.arch.names):
            if name in names and i != self.arch.stack:
                for _, value in state.gpr[i]:
                    if not value.data and any(a not in bases for a in value.terms):
                        return True
        return False

    def cut(self, state: State) -> Edge:
        """Ends an execution at a lemma, and makes the lemma if it is new."""
        state.change(lambda n: n)
        builder = self.builder(self, state, self.function.live[state.at])
        key = (state.at, *builder.key)
        if key not in self.lemmas:
            self.lemmas[key] = builder.lemma()
            self.order.append(key)
        return Edge(key, state, builder.given, builder.consumed)

    # --- Loops that are summed up ---

    def sum_up(self, state: State) -> None:
        """Advances a state at the head of a loop by the rounds that certainly follow."""
        Rounds(self, state).sum_up()


class Cut:
    """Makes a lemma of a state: keeps only values that are still read, in terms of new atoms."""

    behind = 256  # the most bytes before a pointer that a lemma assumes to exist

    def __init__(self, engine: Engine, state: State, names: frozenset[str]) -> None:
        self.engine, self.state, self.names = engine, state, names
        self.arch = engine.arch
        self.atoms = engine.atoms
        self.key: list[object] = []
        self.given: list[Num] = []
        self.inputs: list[Num] = []
        self.consumed = self.offset()
        self.new = state.copy()
        self.new.accesses, self.new.heads, self.new.put = [], {}, {}
        self.rename_regions()
        self.rename_registers()

    def offset(self) -> Num:
        """Returns how far the live pointers have advanced in the data."""
        known = [o.c for o in self.offsets() if o.constant is not None]
        return number(min(known, default=0))

    def offsets(self) -> list[Num]:
        values = (
            self.engine.x.number(self.state.gpr[i])
            for i, name in enumerate(self.arch.names)
            if name in self.names
        )
        found = (self.pointer(value) for value in values)
        return [place[1] for place in found if place and place[0] == "data"]

    def pointer(self, value: Num) -> tuple[str, Num] | None:
        if value.data:
            return None
        for name, region in self.state.regions.items():
            if region.base.terms and all(a in value.terms for a in region.base.terms):
                return name, value - region.base
        return None

    def rename_regions(self) -> None:
        self.old = {name: replace(r) for name, r in self.state.regions.items()}
        left = self.state.regions["data"].size - self.consumed
        low, high = self.atoms.natural(left)
        if low < 0:
            raise Unproven("more bytes are passed than there are")
        self.left = left
        self.size = self.new_size(low, high)
        for name, region in self.new.regions.items():
            if name == "stack":
                continue
            moved = region.base + self.consumed
            twos = min(moved.twos(), 6)
            low_bits = moved.c & (1 << twos) - 1
            base = self.atoms.new(name, 1, 1 << 56, False) * (1 << twos) + low_bits
            region.base, region.size = base, self.size
            behind = min(region.behind + self.atoms.natural(self.consumed)[0], self.behind)
            region.behind = behind & ~63
            self.key.append((name, twos, low_bits, region.behind))

    def new_size(self, low: int, high: int) -> Num:
        """Returns the size of the lemma. If it covers more sizes than arrive, more executions can
        use it."""
        if high > 1 << 62 or self.state.at in self.engine.function.heads:
            high = (1 << 63) - 1
        low = 1 << low.bit_length() - 1 if low else 0
        self.key.append((low, high))
        return self.atoms.new("size", low, high, False)

    def rename_registers(self) -> None:
        for i, name in enumerate(self.arch.names):
            if i == self.arch.stack or name not in self.names:
                if i != self.arch.stack:
                    self.new.gpr[i] = ((8, self.junk(name, 8)),)
                continue
            kept = self.entry_value(i)
            self.key.append(name)
            if not kept:
                self.new.gpr[i] = self.pieces(self.state.gpr[i])
        for i in range(32):
            if f"v{i}" in self.names:
                self.key.append(f"v{i}")
                self.new.vec[i] = self.lanes(self.state.vec[i])
            else:
                self.new.vec[i] = ((VECTOR, self.junk(f"v{i}", VECTOR)),)
        for i in range(8):
            if f"k{i}" not in self.names:
                self.new.masks[i] = self.junk(f"k{i}", 8)
                continue
            if self.state.masks[i].constant is None:
                raise Unproven("a mask that is not known is read after a cut")
            self.key.append(self.state.masks[i].c)
        self.new.flags = Flags()
        if "flags" in self.names:
            raise Unproven("flags are read after a cut")
        self.key += [self.state.dirty, self.state.streams]
        self.key.append(self.engine.x.number(self.state.gpr[self.arch.stack]).key())
        self.new.stack = {k: p for k, p in self.state.stack.items() if self.stays(p[1])}
        stack = sorted((k, n, v.key()) for k, (n, v) in self.new.stack.items())
        self.key.append(tuple(stack))

    def entry_value(self, i: int) -> bool:
        """Returns whether a callee-saved register still holds its value at the call."""
        value = self.state.gpr[i]
        name = self.arch.names[i]
        return name in self.arch.kept and len(value) == 1 and self.is_of_caller(value[0][1], name)

    def is_of_caller(self, value: Num, name: str = "") -> bool:
        """Returns whether a value is the content that a register had at the call: the register
        `name`, or any register."""
        if value.c or list(value.terms.values()) != [1]:
            return False
        known = self.atoms.all[next(iter(value.terms))].name.partition(" at the call")
        return bool(known[1]) and name in ("", known[0])

    def stays(self, value: Num) -> bool:
        """Returns whether a value means the same after a cut, unlike bytes and addresses."""
        return value.constant is not None or self.is_of_caller(value)

    def junk(self, name: str, width: int) -> Num:
        return self.atoms.any_bytes(f"what was in {name}", width)

    def pieces(self, bits: Bits) -> Bits:
        if all(not v.data for _, v in bits):
            bits = ((8, self.engine.x.number(bits)),)
        found = []
        for width, value in bits:
            byte = self.byte(width, value)
            self.key.append((width, byte is not None, value.data))
            if byte:
                found.append((1, byte))
            elif value.data:
                value = self.atoms.exact(value, 8 * width)
                room = 32 if value.high < 1 << 32 <= 1 << 8 * width else 8 * width
                found.append((width, self.input(value, 0, (1 << room) - 1)))
            else:
                found.append((width, self.rename(value)))
        return tuple(found)

    def byte(self, width: int, value: Num) -> Num | None:
        """Returns the byte, at its new offset, if a copy has loaded it and not stored it yet; else
        None."""
        if self.engine.sums or width != 1 or value.c or len(value.terms) != 1:
            return None
        place = self.atoms.all[next(iter(value.terms))].place
        if not place:
            return None
        offset = self.engine.resolved(self.state, place[1]) - self.consumed
        return self.atoms.byte(place[0], self.rename(offset))

    def input(self, value: Num, low: int, high: int) -> Num:
        """Returns a new atom for the sum up to the lemma."""
        new = self.atoms.new(f"sum{len(self.inputs)}", 0, high - low, True)
        self.given.append(value - low)
        self.inputs.append(new)
        self.key.append((low, high))
        return new + low

    def lanes(self, bits: Bits) -> Bits:
        if not any(v.data for _, v in bits):
            self.key.append(tuple((n, v.key()) for n, v in bits))
            return bits
        before = len(self.key)
        loaded = [(n, self.loaded(n, v)) for n, v in bits]
        if all(v is not None for _, v in loaded):
            return tuple((n, v) for n, v in loaded if v is not None)
        del self.key[before:]  # the lemma holds for any constants
        known = [(n, self.atoms.bound(v)) for n, v in bits]
        used = [v for n, v in known if n <= 8] or [ZERO]
        low = min(v.low for v in used)
        high = low + (1 << (max(v.high for v in used) - low).bit_length()) - 1
        found = []
        for width, value in known:
            self.key.append(width)
            if width <= 8:
                found.append((width, self.input(value, low, high)))
                continue
            self.key.append(value.constant)
            found.append((width, self.junk("a vector", width) if value.terms else value))
        return tuple(found)

    def loaded(self, width: int, value: Num) -> Num | None:
        """Returns a piece of a vector that is constant or a byte of the data, else None."""
        if value.constant is None:
            return self.byte(width, value)
        self.key.append((width, value.c))
        return value

    def rename(self, value: Num) -> Num:
        """Returns an address, a size or an offset in terms of the new atoms."""
        if value.constant is not None:
            self.key.append(value.c)
            return value
        for name, region in self.old.items():
            if name == "stack":
                continue
            rest = value - region.base - self.consumed
            if rest.constant is not None:
                self.key.append((name, rest.c))
                return self.new.regions[name].base + rest.c
        for k in (1, -1):
            rest = value - self.left * k
            if rest.constant is not None:
                self.key.append(("size", k, rest.c))
                return self.size * k + rest.c
        raise Unproven(f"{self.atoms.text(value)} is read after a cut")

    def lemma(self) -> Lemma:
        base = {name: r.base for name, r in self.new.regions.items()}
        return Lemma(self.new, self.inputs, base, self.size)


Engine.builder = Cut


class Rounds:
    """Sums up a loop by the effect of one round in the middle."""

    def __init__(self, engine: Engine, state: State) -> None:
        self.engine, self.state, self.head = engine, state, state.at
        self.atoms, self.x, self.arch = engine.atoms, engine.x, engine.arch
        self.body = engine.function.loop(state.at)
        self.stays: list[tuple[str, Num]] = []
        self.compared: list[tuple[Num, Num, int]] = []

    def adds_up(self) -> bool:
        """Returns whether each round adds only bytes of the data to live registers. If not, the sum
        over all rounds is unknown. The proof does not rely on this result."""
        once = self.round(self.state.copy(), number(0))
        if once is None:
            return False
        counter = self.atoms.new("i", 0, 1 << 57, False)
        middle, sums, _ = self.middle(once, counter)
        after = self.round(middle, counter)
        if after is None:
            return False
        live = self.engine.function.live[self.head]
        for (kind, i, at), (atom, _) in sums.items():
            source = after.gpr[i] if kind == "g" else after.vec[i]
            name = self.arch.names[i] if kind == "g" else f"v{i}"
            width = (atom.high.bit_length() + 7) // 8
            added = self.x.number(self.x.take(source, at, width)) - atom
            if width > 8 or name not in live:  # such a register is wider than any lane, or dead
                continue
            if any(not self.atoms.all[a].place for a in added.terms):
                return False
        return True

    def sum_up(self) -> None:
        once = self.round(self.state.copy(), number(0))
        if once is None:
            return
        counter = self.atoms.new("i", 0, 1 << 57, False)
        middle, sums, moves = self.middle(once, counter)
        self.stays, self.compared = [], []
        after = self.round(middle.copy(), counter)
        if after is None:
            return
        count = self.count(counter)
        if count is None:
            return
        self.check_conditions(counter, count)
        self.check_rest(middle, after, sums, moves)
        self.check_accesses(after, counter, count)
        self.go_on(after, sums, moves, counter, count)

    def round(self, state: State, counter: Num) -> State | None:
        """Returns the state after one round, or None if no round completes. Notes the conditions
        that may end the loop, and assumes that they do not hold."""
        state.loop = self.head, counter
        while True:
            instruction = self.engine.function.code[state.at]
            d = self.arch.decode(instruction)
            if d.name.startswith("j") and d.name != "jmp" and self.leaves(instruction):
                if not self.goes_on(state, instruction, d.name[1:]):
                    return None
            else:
                end = self.engine.step(state)
                if end is not None:
                    raise Unproven("a loop that is summed up has another end")
            if state.at == self.head:
                state.loop = None
                return state

    def goes_on(self, state: State, i: Instruction, condition: str) -> bool:
        """Returns whether the loop can continue, and then continues it; notes open conditions."""
        jump, fall = self.arch.targets(i)
        self.x.state = state
        try:
            state.at = jump if self.x.holds(condition) else fall
        except (Split, Demand, Open):
            self.stay(state, i, condition)
        return state.at in self.body

    def leaves(self, i: Instruction) -> bool:
        return any(t not in self.body for t in self.arch.targets(i))

    def stay(self, state: State, i: Instruction, condition: str) -> None:
        """Continues in the loop, and notes the condition for that: a number is positive, or is not
        0."""
        jump, fall = self.arch.targets(i)
        stays_by_jump = jump in self.body
        if not stays_by_jump:
            opposite = {"a": "be", "ae": "b", "b": "ae", "be": "a", "e": "ne", "ne": "e"}
            if condition not in opposite:
                raise Unproven(f"a loop ends by {condition}")
            condition = opposite[condition]
        f = state.flags
        if f.left.data or f.right.data or not f.known:
            raise Unproven("a branch depends on the data")
        self.compared.append((f.left, f.right, f.bits))
        d = f.left - f.right
        match condition:
            case "a":
                self.stays.append(("positive", d))
            case "ae":
                self.stays.append(("positive", d + 1))
            case "b":
                self.stays.append(("positive", -d))
            case "be":
                self.stays.append(("positive", -d + 1))
            case "ne":
                self.stays.append(("other", d))
            case _:
                raise Unproven(f"a loop goes on by {condition}")
        state.at = jump if stays_by_jump else fall

    def middle(
        self, once: State, counter: Num
    ) -> tuple[State, dict[tuple[str, int, int], tuple[Num, Num]], dict[int, list[int]]]:
        """Returns the state at round `counter`, with addresses and sizes advanced and sums as
        atoms; also these atoms, and the steps of the addresses and sizes."""
        middle = self.state.copy()
        middle.accesses = []
        middle.flags = Flags()  # only the first round can read the flags from before the loop
        sums: dict[tuple[str, int, int], tuple[Num, Num]] = {}
        moves: dict[int, list[int]] = {}
        for i in range(len(self.arch.names)):
            before, after = self.state.gpr[i], once.gpr[i]
            if before is after or same(before, after):
                continue
            steps = self.steps(before, after)
            if steps:
                moves[i] = steps
                middle.gpr[i] = self.moved(before, steps, counter)
                continue
            middle.gpr[i] = self.unknown("g", i, before, after, sums)
        for i in range(32):
            before, after = self.state.vec[i], once.vec[i]
            if before is not after and not same(before, after):
                middle.vec[i] = self.unknown("v", i, before, after, sums)
        return middle, sums, moves

    def steps(self, before: Bits, after: Bits) -> list[int] | None:
        """Returns the change of each piece of an address or a size in one round, or None."""
        if [n for n, _ in before] != [n for n, _ in after]:
            before, after = ((8, self.x.number(before)),), ((8, self.x.number(after)),)
        if any(v.data for _, v in (*before, *after)):
            return None
        steps = [v - u for (_, u), (_, v) in zip(before, after, strict=True)]
        return [s.c for s in steps] if all(s.constant is not None for s in steps) else None

    def moved(self, bits: Bits, steps: list[int], rounds: Num) -> Bits:
        """Returns an address or a size after `rounds` rounds."""
        if len(steps) != len(bits):
            bits = ((8, self.x.number(bits)),)
        return tuple((n, v + rounds * step) for (n, v), step in zip(bits, steps, strict=True))

    def unknown(
        self,
        kind: str,
        i: int,
        before: Bits,
        after: Bits,
        sums: dict[tuple[str, int, int], tuple[Num, Num]],
    ) -> Bits:
        found = []
        at = 0
        for width, _ in after:
            first = self.x.number(self.x.take(before, at, width))
            atom = self.atoms.any_bytes(f"{kind}{i}.{at}", width)
            sums[kind, i, at] = atom, first
            found.append((width, atom))
            at += width
        return tuple(found)

    def count(self, counter: Num) -> Num | None:
        """Returns the number of rounds that certainly return to the head, or None for 0."""
        best: Num | None = None
        (i,) = counter.terms
        for kind, d in self.stays:
            step = d.terms.get(i, 0)
            if step == 0:
                self.decide(kind, d)
                continue
            rest = d - counter * step
            count = self.solve(kind, rest, step)
            if best is None:
                best = count
            else:
                raise Unproven("a loop has several ends")
        if best is None:
            raise Unproven("a loop whose rounds cannot be counted")
        self.atoms.bound(best)
        low, high = self.atoms.natural(best)
        if low < 0:
            raise Unproven("a loop might go on for ever")
        if high == 0:
            return None
        return best

    def decide(self, kind: str, d: Num) -> None:
        """Decides a condition that is the same in all rounds; splits if it is open."""
        stays = self.x.is_positive(d) if kind == "positive" else not self.x.is_zero(d)
        if not stays:
            raise Unproven("a loop that has no second round")

    def solve(self, kind: str, rest: Num, step: int) -> Num:
        """Returns the number of rounds for which rest + step * i is positive, or is not 0."""
        if kind == "other":
            if any(k % step for k in (*rest.terms.values(), rest.c)):
                raise Unproven("a loop that jumps over its end")
            terms = {a: -k // step for a, k in rest.terms.items()}
            return self.atoms.bound(Num(-rest.c // step, terms, -(1 << 80), 1 << 80, False))
        if step > 0:
            raise Unproven("a loop that goes on for ever")
        for atom, k in rest.terms.items():
            if k % step:
                raise Demand(atom, (-step).bit_length() - 1)
        terms = {a: k // -step for a, k in rest.terms.items()}
        c = -(-rest.c // -step)
        return self.atoms.bound(Num(c, terms, -(1 << 80), 1 << 80, False))

    def check_conditions(self, counter: Num, count: Num) -> None:
        """Checks that in each round all compared numbers fit into their bits."""
        for left, right, bits in self.compared:
            for value in (left, right):
                if not self.within(value, counter, count, bits):
                    raise Unproven("a loop compares numbers that may have wrapped")

    def within(self, value: Num, counter: Num, count: Num, bits: int) -> bool:
        """Returns whether a number fits into `bits` bits in each round."""
        (i,) = counter.terms
        high = self.atoms.natural(count)[1]
        first = self.atoms.new("i", 0, max(high - 1, 0), False)
        last = count - 1 - self.atoms.new("j", 0, max(high - 1, 0), False)
        ends = [self.atoms.natural(self.atoms.put_in(value, {i: at})) for at in (first, last)]
        return max(low for low, _ in ends) >= 0 and min(high for _, high in ends) < 1 << bits

    def check_rest(
        self,
        middle: State,
        after: State,
        sums: dict[tuple[str, int, int], tuple[Num, Num]],
        moves: dict[int, list[int]],
    ) -> None:
        """Checks that registers unchanged by the first round are unchanged by all other rounds,
        that no round changes masks or the stack, and that none reads flags from before it."""
        changed = {(kind, i) for kind, i, _ in sums} | {("g", i) for i in moves}
        for kind, one, other in (("g", middle.gpr, after.gpr), ("v", middle.vec, after.vec)):
            for i, (before, now) in enumerate(zip(one, other, strict=True)):
                if (kind, i) not in changed and before is not now and not same(before, now):
                    raise Unproven("a loop changes a register in some rounds only")
        masks = all(a.same(b) for a, b in zip(middle.masks, after.masks, strict=True))
        if not masks or middle.stack != after.stack:
            raise Unproven("a loop changes masks or the stack")
        if "flags" in self.engine.function.live[self.head]:
            raise Unproven("a loop begins with flags that it reads")

    def check_accesses(self, after: State, counter: Num, count: Num) -> None:
        """Checks that no access leaves its region in any round: by the first and the last round."""
        (i,) = counter.terms
        high = self.atoms.natural(count)[1]
        first = self.atoms.new("i", 0, max(high - 1, 0), False)
        last = count - 1 - self.atoms.new("j", 0, max(high - 1, 0), False)
        for a in after.accesses:
            stride = a.offset.terms.get(i, 0)
            a.stride, a.count = stride, count
            region = after.regions[a.region]
            low_end = self.atoms.put_in(a.offset, {i: first})
            high_end = self.atoms.put_in(a.offset + a.width, {i: last})
            if stride < 0:
                raise Unproven("a loop that goes down")
            verb = "reads" if a.content is None else "writes"
            if self.atoms.natural(low_end)[0] < 0:
                raise Unproven(f"{verb} before the start of {a.region}")
            if self.atoms.natural(region.size - high_end)[0] < 0:
                raise Unproven(f"{verb} past the end of {a.region}")

    def go_on(
        self,
        after: State,
        sums: dict[tuple[str, int, int], tuple[Num, Num]],
        moves: dict[int, list[int]],
        counter: Num,
        count: Num,
    ) -> None:
        state = self.state
        for i, step in moves.items():
            if not same(self.moved(state.gpr[i], step, counter + 1), after.gpr[i]):
                raise Unproven("an address of a loop does not advance evenly")
        for i, step in moves.items():
            state.gpr[i] = self.moved(state.gpr[i], step, count)
        for kind, registers in (("g", state.gpr), ("v", state.vec)):
            for i in {n for k, n, _ in sums if k == kind}:
                source = after.gpr[i] if kind == "g" else after.vec[i]
                registers[i] = self.summed(kind, i, source, sums, counter, count)
        state.flags = Flags()
        state.dirty, state.streams = after.dirty, after.streams
        state.accesses += after.accesses
        state.heads[self.head] = state.heads.get(self.head, 0) + 1

    def summed(
        self,
        kind: str,
        i: int,
        after: Bits,
        sums: dict[tuple[str, int, int], tuple[Num, Num]],
        counter: Num,
        count: Num,
    ) -> Bits:
        """Returns a register after all rounds: with all that they added to it, or unknown."""
        found = []
        at = 0
        for width, value in after:
            atom, first = sums.get((kind, i, at), (ZERO, ZERO))
            added = value - atom
            is_same_piece = atom.high == (1 << 8 * width) - 1
            total = self.over_rounds(added, counter, count) if is_same_piece else None
            if total is None:
                name = f"what a loop leaves in {kind}{i}"
                found.append((width, self.atoms.any_bytes(name, width)))
            else:
                found.append((width, first + total))
            at += width
        return tuple(found)

    def over_rounds(self, added: Num, counter: Num, count: Num) -> Num | None:
        """Returns the sum over all rounds of bytes of the data and a constant, or None."""
        (i,) = counter.terms
        total = count * added.c
        for atom, k in added.terms.items():
            a = self.atoms.all[atom]
            if a.place is None:
                return None
            region, offset = a.place
            stride = offset.terms.get(i, 0)
            start = offset - counter * stride
            total = total + self.run_of(region, start, stride, count) * k
        return total

    def run_of(self, region: str, start: Num, stride: int, count: Num) -> Num:
        key = region, start.key(), stride, count.key()
        if key not in self.atoms.runs:
            run = Run(region, start, stride, count)
            high = 255 * self.atoms.natural(count)[1]
            self.atoms.runs[key] = self.atoms.new(f"a run of {region}", 0, high, True, run=run)
        return self.atoms.runs[key]


def add_called(image: Image, code: dict[int, Instruction], arch: Architecture) -> None:
    waiting = list(code.values())
    while waiting:
        i = waiting.pop()
        for target in arch.targets(i):
            name = image.function_at(target)
            if name is not None and target not in code:
                more = image.instructions(name)
                code |= more
                waiting += more.values()


def same(a: Bits, b: Bits) -> bool:
    return len(a) == len(b) and all(
        m == n and u.same(v) for (m, u), (n, v) in zip(a, b, strict=True)
    )
