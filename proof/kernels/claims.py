# SPDX-License-Identifier: MIT
"""Defines the claims about functions: their prototypes, and the conditions when they return."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from engine import Edge, Engine, Lemma
from machine import VECTOR, Access, Bits, Flags, Region, State
from number import ZERO, Atoms, Num, Unproven, number

M = 0xFFFF
Key = tuple[object, ...]
Interval = tuple[Num, Num]
ROOT: Key = ("root",)


@dataclass(frozen=True)
class Claim:
    """One prototype: its arguments in the order of the ABI, and its effect."""

    arguments: tuple[str, ...]
    sums: bool
    copies: bool
    returns: tuple[int, ...]  # indices of the registers for results
    size_max: int = (1 << 63) - 1
    compiled: bool = False  # loops are summarised, and executions are not cut at their heads
    grain: int = 1  # the size and the target are multiples of this

    @property
    def prototype(self) -> tuple[object, ...]:
        return self.arguments, self.sums, self.copies, self.returns


SUM = Claim(("data", "size", "sum"), True, False, (0,))
SUM_COPY = Claim(("dst", "data", "size", "sum"), True, True, (0,))
SUM_COPY_TRY = Claim(("dst", "data", "size", "sum"), True, True, (0, 1))
COPY = Claim(("dst", "data", "size"), False, True, ())
COPY_TRY = Claim(("dst", "data", "size"), False, True, (0,))
COPY_LINES = Claim(("dst", "data", "size"), False, True, (), compiled=True, grain=64)


@dataclass
class Summary:
    """The returned sum modulo 65535, from a lemma on: the factors of its inputs and of the
    bytes at even offsets, and a constant."""

    inputs: tuple[int, ...]
    even: int | None
    constant: int


def root(engine: Engine, claim: Claim) -> Lemma:
    """Returns the lemma at a call: everything that the caller may choose is an atom."""
    atoms, arch = engine.atoms, engine.arch
    grain = claim.grain
    size = atoms.new("size", 0, claim.size_max // grain, False) * grain
    regions: dict[str, Region] = {}
    for name in ("data", "dst"):
        if name in claim.arguments:
            times = grain if name == "dst" else 1
            base = atoms.new(name, 1, (1 << 62) // times, False) * times
            regions[name] = Region(name, base, size, name == "data", name == "dst")
    stack = atoms.new("stack", 1 << 20, 1 << 62, False)
    # Below the stack pointer are pushes and the red zone of x86-64; above is the caller's stack.
    regions["stack"] = Region("stack", stack - (1 << 12), number(1 << 12), True, True)
    gpr: list[Bits] = []
    seed = atoms.any_bytes("sum", 4)
    for name in arch.names:
        what = f"{name} at the call"
        gpr.append(((8, atoms.any_bytes(what, 8)),))
    for name, register in zip(claim.arguments, arch.arguments, strict=False):
        i = arch.names.index(register)
        if name == "size":
            gpr[i] = ((8, size),)
        elif name == "sum":
            gpr[i] = ((4, seed), (4, atoms.any_bytes("the upper half of sum", 4)))
        else:
            gpr[i] = ((8, regions[name].base),)
    gpr[arch.stack] = ((8, stack),)
    vec: list[Bits] = [((VECTOR, atoms.any_bytes(f"v{i} at the call", VECTOR)),) for i in range(32)]
    masks = [atoms.any_bytes(f"k{i} at the call", 8) for i in range(8)]
    start = engine.function.start
    state = State(start, gpr, vec, masks, Flags(), regions)
    inputs = [seed] if claim.sums else []
    return Lemma(state, inputs, {n: r.base for n, r in regions.items()}, size)


class Proof:
    """Proves one function."""

    def __init__(
        self, engine: Engine, claim: Claim, callees: Mapping[str, Claim] | None = None
    ) -> None:
        self.engine, self.claim, self.callees = engine, claim, callees or {}
        self.atoms: Atoms = engine.atoms
        self.summaries: dict[Key, Summary] = {}
        self.executions = 0
        self.pending: list[tuple[Key, Lemma, Edge]] = []

    def run(self) -> Summary:
        start = root(self.engine, self.claim)
        self.at_call = start.start
        self.check_vectors()
        self.engine.lemmas[ROOT] = start
        waiting = [ROOT]
        done = set()
        while waiting:
            key = waiting.pop()
            if key in done:
                continue
            done.add(key)
            lemma = self.engine.lemmas[key]
            for end in self.engine.run(lemma.start.copy()):
                self.executions += 1
                if isinstance(end, Edge):
                    self.edge(key, lemma, end)
                    if end.target[0] != "function":
                        waiting.append(end.target)
                else:
                    self.end(key, lemma, end)
        self.close()
        result = self.summaries.get(ROOT)
        if self.claim.sums and (
            result is None or result.inputs != (1,) or result.even not in (1, None)
        ):
            raise Unproven(f"the result is {result}")
        return result or Summary((), None, 0)

    # --- Ends ---

    def end(self, key: Key, lemma: Lemma, state: State) -> None:
        try:
            self.check_abi(state)
            self.check_accesses(state, state.regions["data"].size)
            if self.claim.returns == (0, 1) or (self.claim.returns and not self.claim.sums):
                self.check_nothing_left(state)
            if self.claim.sums:
                last = self.result(state, self.claim.returns[-1])
                result = self.engine.x.number(self.engine.x.take(last, 0, 4))
                self.check_sum(key, lemma, state, self.atoms.exact(result, 32))
        except Unproven as error:
            raise self.engine.located(error, state) from None

    def result(self, state: State, i: int) -> Bits:
        arch = self.engine.arch
        return state.gpr[arch.names.index(arch.results[i])]

    def check_vectors(self) -> None:
        """Checks that no callee-saved vector is ever written."""
        arch = self.engine.arch
        kept = {f"v{i}" for i in arch.kept_vectors}
        for i in self.engine.function.code.values():
            for name in kept & arch.effects(arch.decode(i))[1]:
                raise Unproven(f"writes {name}, which callers keep")

    def check_abi(self, state: State) -> None:
        arch, x = self.engine.arch, self.engine.x
        for name in (*arch.kept, arch.names[arch.stack]):
            i = arch.names.index(name)
            if not x.number(state.gpr[i]).same(x.number(self.at_call.gpr[i])):
                raise Unproven(f"clobbers {name}")
        if state.dirty:
            raise Unproven("leaves the upper halves of vectors dirty")
        if state.streams:
            raise Unproven("leaves stores past the caches without SFENCE")

    def check_nothing_left(self, state: State) -> None:
        if self.engine.x.number(self.result(state, 0)).constant != 0:
            raise Unproven("returns that bytes are left")

    def check_sum(self, key: Key, lemma: Lemma, state: State, result: Num) -> None:
        """Checks that the result is the sum of the words modulo 65535, and is 0 only if all words
        are 0."""
        weights = self.weights(lemma, state, result)
        even = self.check_tiles(state, weights, number(0), state.regions["data"].size)
        inputs = tuple(self.weight(lemma, result, n) for n in lemma.inputs)
        self.check_zero(lemma, result)
        self.settle(key, Summary(inputs, even, result.c % M))

    def weight(self, lemma: Lemma, result: Num, n: Num) -> int:
        (atom,) = n.terms
        return result.terms.get(atom, 0) % M

    def weights(self, lemma: Lemma, state: State, result: Num) -> list[tuple[int, int]]:
        """Returns the atoms of bytes with their factors. All other atoms, except inputs, must have
        the factor 0."""
        inputs = {a for n in lemma.inputs for a in n.terms}
        found = []
        for atom, k in result.terms.items():
            a = self.atoms.all[atom]
            if a.place or a.run:
                found.append((atom, k % M))
            elif atom not in inputs and k % M:
                what = "loses a carry" if a.of else f"depends on {self.atoms.name(atom)}"
                raise Unproven(what)
        return found

    def check_tiles(
        self, state: State, weights: list[tuple[int, int]], start: Num, end: Num
    ) -> int | None:
        """Checks that each byte from `start` to `end` counts once. Returns the factor of the bytes
        at even offsets, or None if there are no bytes."""
        tiles = []
        for atom, k in weights:
            a = self.atoms.all[atom]
            if a.place:
                offset = self.engine.resolved(state, a.place[1])
                tiles.append(((offset, 1, number(1)), k))
            else:
                assert a.run
                offset = self.engine.resolved(state, a.run.offset)
                tiles.append(((offset, a.run.stride, self.engine.resolved(state, a.run.count)), k))
        return self.follow(tiles, start, end)

    def follow(
        self, tiles: list[tuple[tuple[Num, int, Num], int]], start: Num, end: Num
    ) -> int | None:
        at = start
        even: int | None = None
        waiting = {tile[0][0].key(): tile for tile in tiles}
        if len(waiting) != len(tiles):
            raise Unproven("a byte is counted twice")
        while not at.same(end):
            tile = waiting.pop(at.key(), None)
            if tile is None:
                if self.is_empty(end - at):
                    break
                raise Unproven(f"the byte at {self.atoms.text(at)} is not counted")
            (offset, stride, count), k = tile
            if stride % 2 and count.constant != 1:
                raise Unproven("a loop counts bytes at even and at odd places alike")
            even = self.parity(offset, k, even)
            for i in range(1, stride):
                other = waiting.pop((offset + i).key(), None)
                if other is None or other[0][1] != stride or not other[0][2].same(count):
                    raise Unproven(f"the byte at {self.atoms.text(offset + i)} is not counted")
                even = self.parity(offset + i, other[1], even)
            at = offset + count * stride
        if waiting:
            rest = next(iter(waiting.values()))[0][0]
            raise Unproven(
                f"the byte at {self.atoms.text(rest)} is counted, which is none of these"
            )
        return even

    def is_empty(self, n: Num) -> bool:
        return self.atoms.natural(n) == (0, 0)

    def is_odd(self, offset: Num) -> bool:
        if any(v % 2 for v in offset.terms.values()):
            raise Unproven("whether a place is even or odd is not known")
        return offset.c % 2 == 1

    def parity(self, offset: Num, k: int, even: int | None) -> int:
        """Returns the factor of bytes at even offsets, given the factor `k` of the byte at
        `offset`."""
        mine = k * 256 % M if self.is_odd(offset) else k
        if even is None and mine in (1, 256):
            return mine
        if mine != even:
            raise Unproven(f"the byte at {self.atoms.text(offset)} is counted {k} times")
        return even

    def check_zero(self, lemma: Lemma, result: Num) -> None:
        """Checks that the result is 0 if all bytes and inputs are 0, and only then."""
        zero = self.atoms.zeros([result])
        for atom, k in result.terms.items():
            a = self.atoms.all[atom]
            if a.data and not a.of and k % M and atom not in zero:
                raise Unproven(f"is zero although {self.atoms.name(atom)} need not be")
        if not self.is_zero_of_zeros(result, {}):
            raise Unproven("is not zero where all is")

    def is_zero_of_zeros(self, n: Num, known: dict[int, int]) -> bool:
        return self.value_of_zeros(n, known) == 0

    def value_of_zeros(self, n: Num, known: dict[int, int]) -> int:
        total = n.c
        for atom, k in n.terms.items():
            a = self.atoms.all[atom]
            if a.of:
                if atom not in known:
                    known[atom] = self.value_of_zeros(a.of[0], known) >> a.of[1]
                total += k * known[atom]
            elif not a.data:
                raise Unproven("a result depends on a size")
        return total

    # --- Accesses ---

    def check_accesses(self, state: State, end: Num) -> None:
        """Checks that copies store the right byte everywhere, and all bytes up to the end."""
        if not self.claim.copies:
            return
        stores = list(self.stores(state))
        for a in stores:
            self.check_store(state, a)
        spans = [span for group in grouped(stores) for span in self.intervals(state, group)]
        self.check_written(ZERO, end, spans)

    def stores(self, state: State) -> Iterator[Access]:
        """Yields the stores to the target."""
        return (a for a in state.accesses if a.region == "dst" and a.content is not None)

    def check_store(self, state: State, a: Access) -> None:
        assert a.content is not None
        offset = self.engine.resolved(state, a.offset)
        at = 0
        for width, value in a.content:
            if width > 1 or value.c or list(value.terms.values()) != [1]:
                raise Unproven(f"stores something else at {self.atoms.text(offset + at)}")
            (atom,) = value.terms
            place = self.atoms.all[atom].place
            if place is None or place[0] != "data":
                raise Unproven(f"stores something else at {self.atoms.text(offset + at)}")
            if not self.engine.resolved(state, place[1]).same(offset + at):
                raise Unproven(f"stores another byte at {self.atoms.text(offset + at)}")
            at += width

    def check_written(self, start: Num, end: Num, spans: list[Interval]) -> None:
        """Checks that spans omit no byte: all from `start` to each of `reached` are written."""
        reached, waiting = [start], spans
        while not any(self.covers(at, end) for at in reached):
            next_ones = [s for s in waiting if any(self.covers(at, s[0]) for at in reached)]
            if not next_ones:
                raise Unproven(f"the byte at {self.atoms.text(reached[-1])} is not written")
            reached += [high for _, high in next_ones]
            waiting = [s for s in waiting if s not in next_ones]

    def covers(self, a: Num, b: Num) -> bool:
        """Returns whether a >= b certainly holds."""
        return self.atoms.natural(a - b)[0] >= 0

    def intervals(self, state: State, group: list[Access]) -> Iterable[Interval]:
        """Returns the intervals that one store, or all stores of a loop together, write."""
        first = group[0]
        if first.count is None:
            low = self.engine.resolved(state, first.offset)
            return [(low, low + self.engine.resolved(state, first.width))]
        count = self.engine.resolved(state, first.count)
        stride = first.stride
        spans = []
        for a in group:
            terms = {k: v for k, v in a.offset.terms.items() if self.atoms.all[k].name != "i"}
            start = self.engine.resolved(state, Num(a.offset.c, terms, 0, 0, False))
            spans.append((start, start + self.engine.resolved(state, a.width)))
        spans.sort(key=lambda s: s[0].c)
        low, high = spans[0]
        for start, end in spans[1:]:
            if not self.covers(high, start):
                raise Unproven("a loop does not write all it passes")
            high = end if self.covers(end, high) else high
        if not self.covers(high, low + stride):
            raise Unproven("a loop does not write all it passes")
        return [(low, low + count * stride)]

    # --- Edges ---

    def edge(self, key: Key, lemma: Lemma, edge: Edge) -> None:
        try:
            if edge.target[0] == "function":
                return self.goes_on_in(str(edge.target[1]), key, lemma, edge.state)
            self.check_accesses(edge.state, edge.consumed)
            back = edge.target == key or edge.target in self.finished_before(key)
            # Each return to a place must consume bytes, so that every execution ends.
            has_moved = edge.target[0] in edge.state.moved
            least = number(1) if back and not has_moved else ZERO
            if not self.covers(edge.consumed, least):
                raise Unproven("a loop might go on for ever")
            self.pending.append((key, lemma, edge))
        except Unproven as error:
            raise self.engine.located(error, edge.state) from None

    def goes_on_in(self, name: str, key: Key, lemma: Lemma, state: State) -> None:
        """Checks a tail call. The claim of the called function is a lemma here; that function has
        its own proof."""
        claim = self.callees.get(name)
        if claim is None or claim.prototype != self.claim.prototype:
            raise Unproven(f"goes on in {name}")
        self.check_abi(state)
        registers = zip(claim.arguments, self.engine.arch.arguments, strict=False)
        given = {n: state.gpr[self.engine.arch.names.index(r)] for n, r in registers}
        number_of = self.engine.x.number
        done = number_of(given["data"]) - state.regions["data"].base
        left = state.regions["data"].size - done
        if not number_of(given["size"]).same(left) or not self.covers(left, ZERO):
            raise Unproven(f"hands {name} another size than what is left")
        if self.atoms.natural(left)[1] > claim.size_max:
            raise Unproven(f"hands {name} more than it is proven for")
        if not self.covers(done, ZERO):
            raise Unproven(f"hands {name} what is before the data")
        if "dst" in given and not number_of(given["dst"]).same(state.regions["dst"].base + done):
            raise Unproven(f"hands {name} another target than where it is")
        self.check_accesses(state, done)
        if self.claim.sums:
            so_far = number_of(self.engine.x.take(given["sum"], 0, 4))
            self.check_handed(key, lemma, state, self.atoms.exact(so_far, 32), done)

    def check_handed(self, key: Key, lemma: Lemma, state: State, sum_: Num, done: Num) -> None:
        """Checks the sum that is passed on: later bytes count in the same way as earlier bytes."""
        even = self.check_tiles(state, self.weights(lemma, state, sum_), ZERO, done)
        even = self.parity(self.engine.resolved(state, done), 1, even)
        inputs = tuple(self.weight(lemma, sum_, n) for n in lemma.inputs)
        self.check_zero(lemma, sum_)
        self.settle(key, Summary(inputs, even, sum_.c % M))

    def finished_before(self, key: Key) -> set[Key]:
        """Returns the lemmas up to this one in the code: each return to them must have consumed
        bytes."""
        return {
            k
            for k in self.engine.lemmas
            if k[0] != "root" and key[0] != "root" and k[0] <= key[0]  # type: ignore[operator]
        }

    def close(self) -> None:
        """Computes the summary of each lemma from the summaries of the lemmas to which it leads,
        until none changes."""
        if not self.claim.sums:
            return
        by: dict[int, int | None] = {}  # the factor with which each edge was followed
        progress = True
        while progress:
            progress = False
            for n, (key, lemma, edge) in enumerate(self.pending):
                target = self.summaries.get(edge.target)
                if target is not None and (n not in by or by[n] != target.even):
                    by[n], progress = target.even, True
                    self.follow_edge(key, lemma, edge)
        if len(by) != len(self.pending):
            raise Unproven("a lemma that no execution ends")

    def follow_edge(self, key: Key, lemma: Lemma, edge: Edge) -> None:
        """Computes a lemma's summary from the summary of the lemma that an edge leads to."""
        target = self.summaries[edge.target]
        result = number(target.constant)
        for k, given in zip(target.inputs, edge.given, strict=True):
            result = result + given * k
        try:
            weights = self.weights(lemma, edge.state, result)
            even = self.check_tiles(edge.state, weights, ZERO, edge.consumed)
            rest = target.even
            if rest is not None and self.is_odd(edge.consumed):
                rest = rest * 256 % M
            if even is not None and rest is not None and even != rest:
                raise Unproven("bytes change their places where parts meet")
            inputs = tuple(self.weight(lemma, result, n) for n in lemma.inputs)
            self.check_zero_of(lemma, edge, target, result)
            self.settle(key, Summary(inputs, even if even is not None else rest, result.c % M))
        except Unproven as error:
            raise self.engine.located(error, edge.state) from None

    def check_zero_of(self, lemma: Lemma, edge: Edge, target: Summary, result: Num) -> None:
        """Checks that those inputs of the next lemma that count in its sum are 0 if all bytes and
        inputs that count here are 0, and only then."""
        read = [g for k, g in zip(target.inputs, edge.given, strict=True) if k]
        zero = self.atoms.zeros(read)
        for atom, k in result.terms.items():
            a = self.atoms.all[atom]
            if a.data and not a.of and k % M and atom not in zero:
                raise Unproven(f"is zero although {self.atoms.name(atom)} need not be")
        for given in read:
            if self.value_of_zeros(given, {}) != 0:
                raise Unproven("is not zero where all is")

    def settle(self, key: Key, summary: Summary) -> None:
        known = self.summaries.setdefault(key, summary)
        if known.even is None:
            known.even = summary.even
        if known.inputs != summary.inputs or known.constant != summary.constant:
            raise Unproven(f"sums count {summary}, and elsewhere {known}")
        if summary.even is not None and known.even != summary.even:
            raise Unproven("bytes at even places count differently")


def grouped(stores: list[Access]) -> list[list[Access]]:
    """Groups the stores of each loop; each other store is a group."""
    found: list[list[Access]] = []
    for a in stores:
        last = found[-1][0] if found else None
        if a.count is not None and last is not None and last.count is a.count:
            found[-1].append(a)
        else:
            found.append([a])
    return found
