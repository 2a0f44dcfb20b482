# SPDX-License-Identifier: MIT
"""Compares instructions executed by the CPU with their meanings in the proof of kernels.

A trial gives values to registers and memory. In the symbolic state, atoms represent these values:
bytes, words or whole registers, exactly or only modulo 2^w, as data or as sizes. After the
execution, the symbolic state must equal the state of the CPU when each atom has its value.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import random
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import digest
from image import Image, Instruction
from machine import Access, Bits, Demand, Flags, Region, Split, State
from number import Atoms, Num, Unproven, number
from processor import Immediate, Register, Vector, apply
from words import HALVES, Word, Words, WordX86
from x86_64 import MEANINGS, NAMES, RSP, X86, Decoded, Mask, Memory, decode

ROOT = Path(__file__).resolve().parents[3]
PAGE = mmap.PAGESIZE
ROOM = 2 * PAGE
ARENAS = ("data", "dst", "stack")
CARRY, PARITY, ZERO_FLAG, SIGN, OVERFLOW = 1, 4, 0x40, 0x80, 0x800
FLAGS, MASKS, VECTORS = 128, 192, 256  # as in meanings_x86_64.S
BLOCK = VECTORS + 32 * 64
ALL64 = (1 << 64) - 1
EXTREMES = [0, 1, ALL64, 1 << 63, (1 << 63) - 1, 0xFFFFFFFF, 1 << 32, ALL64 - 1]
EXTREMES += [0x8000800080008000, 0x7FFF7FFF7FFF7FFF, 0xFF00FF00FF00FF00, 0x80, 8, 300]
LINEAR = {"crc32", *HALVES}
LOGIC = {"and", "or", "xor", "test"}


class Arena:
    """Readable and writable pages, between inaccessible ones."""

    def __init__(self, room: int = ROOM) -> None:
        self.room = -(-room // PAGE) * PAGE
        self.map = mmap.mmap(-1, self.room + 2 * PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        libc = ctypes.CDLL(None, use_errno=True)
        for at in (start, start + PAGE + self.room):
            assert libc.mprotect(ctypes.c_void_p(at), ctypes.c_size_t(PAGE), 0) == 0
        self.base = start + PAGE

    @property
    def content(self) -> bytes:
        return self.map[PAGE : PAGE + self.room]

    @content.setter
    def content(self, content: bytes) -> None:
        self.map[PAGE : PAGE + self.room] = content


def assembled(folder: Path, texts: Iterable[str]) -> tuple[Path, list[Instruction]]:
    """Returns a library that contains the runner, and the instructions of the texts."""
    library = folder / "meanings.so"
    more = folder / "more.S"
    lines = "\n".join(texts)
    more.write_text(
        f".intel_syntax noprefix\n.text\n.type more, @function\nmore:\n{lines}\n"
        '.size more, . - more\n.section .note.GNU-stack, "", @progbits\n'
    )
    runner = Path(__file__).with_name("meanings_x86_64.S")
    subprocess.run(["gcc", "-shared", "-o", str(library), str(runner), str(more)], check=True)
    return library, list(Image(library).instructions("more").values())


@dataclass(frozen=True)
class Place:
    """The place of a machine's readable and writable pages."""

    base: int


@dataclass(eq=False)
class Machine:
    """The properties of the executing machine that a trial needs."""

    more: list[Instruction]
    features: set[str]
    start: int  # of code
    arenas: Mapping[str, Place | Arena]

    @property
    def vectors(self) -> int:
        """Returns the number of bytes of a vector."""
        wide = {"avx512f", "avx512bw"} <= self.features
        return 64 if wide else 32 if "avx2" in self.features else 16

    def moved(self, program: list[Instruction]) -> list[Instruction]:
        """Returns the same instructions at the address at which they are executed."""
        at, found = self.start, []
        for i in program:
            found.append(Instruction(at, i.code, i.text))
            at += len(i.code)
        return found


class Cpu(Machine):
    """Executes instructions with given registers."""

    def __init__(self, folder: Path, texts: Iterable[str]) -> None:
        library, more = assembled(folder, texts)
        done = ctypes.CDLL(str(library))
        self.run_code = done.meanings_run
        self.block = (ctypes.c_char * BLOCK).in_dll(done, "meanings_block")
        self.back = ctypes.cast(done.meanings_back, ctypes.c_void_p).value or 0
        self.code = mmap.mmap(-1, PAGE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self.pages = {name: Arena() for name in ARENAS}
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.code))
        super().__init__(more, features(), start, self.pages)

    def run(self, trial: Trial) -> tuple[bytes, dict[str, bytes]]:
        """Returns the registers and memory after a trial."""
        for name, arena in self.pages.items():
            arena.content = trial.memory[name]
        code = b"".join(i.code for i in trial.program)
        back = b"\xff\x25\0\0\0\0" + self.back.to_bytes(8, "little")  # jmp *0(%rip)
        self.code[: len(code) + len(back)] = code + back
        self.block.raw = trial.block()
        self.run_code(ctypes.c_void_p(self.start), self.vectors)
        return self.block.raw, {name: arena.content for name, arena in self.pages.items()}


def features() -> set[str]:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return set(line.split(":")[1].split())
    return set()


def needs(i: Instruction) -> set[str]:
    """Returns the CPU features that an instruction needs, as /proc/cpuinfo names them."""
    d = decode(i)
    wide = any(isinstance(o, Vector) and (o.width == 64 or o.index > 15) for o in d.operands)
    masks = any(isinstance(o, Mask) or getattr(o, "mask", None) for o in d.operands)
    evex = wide or masks or d.name in ("vmovdqu8", "vpandd", "vpxord", "vpternlogd", "vprolvd")
    if d.name == "vpdpwssd":
        return {"avx512f", "avx512_vnni", "avx512vl"} if "{vex}" not in i.text else {"avx_vnni"}
    if evex:
        return {"avx512f", "avx512bw", "avx512vl"}
    if d.name in LINEAR:
        return {"sse4_2", "pclmulqdq"}
    if d.name in ("bzhi", "shlx", "rorx"):
        return {"bmi2"}
    return {"avx2"} if d.vex else set()


class Constants:
    """Returns constants from the memory of a trial, as an Image does from a file."""

    def __init__(self, trial: Trial) -> None:
        self.constant = trial.constant_at


@dataclass
class Trial:
    """One program with one assignment of values."""

    cpu: Machine
    program: list[Instruction]
    random: random.Random
    # The words that fill some vectors, by the index of the vector.
    words: dict[int, int] = field(default_factory=dict)
    atoms: Atoms = field(default_factory=Words)
    values: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.program = self.cpu.moved(self.program)
        self.decoded = [decode(i) for i in self.program]
        linear = any(d.name in LINEAR for d in self.decoded) or self.random.random() < 0.2
        machine = WordX86 if linear else X86
        self.atoms = Words() if linear else Atoms()
        self.x = machine(Constants(self), self.atoms)  # type: ignore[arg-type]
        self.patterns = {name: self.pattern() for name in ARENAS}
        self.memory = {n: (p * (ROOM // len(p) + 1))[:ROOM] for n, p in self.patterns.items()}
        self.registers = [self.extreme() for _ in NAMES]
        self.vectors = [self.bytes_of_vector() for _ in range(32)]
        self.masks = [self.extreme() for _ in range(8)]
        self.bases = {n: self.atom(a.base // 64, 1, 1 << 58, False) * 64 for n, a in self.arenas}
        self.state = self.begin()

    # --- Values ---

    @property
    def arenas(self) -> Iterable[tuple[str, Place | Arena]]:
        return self.cpu.arenas.items()

    def constant_at(self, address: int, size: int) -> bytes | None:
        start = self.cpu.arenas["data"].base
        at = address - start
        return self.memory["data"][at : at + size] if 0 <= at <= ROOM - size else None

    def extreme(self) -> int:
        if self.random.random() < 0.6:
            return self.random.choice(EXTREMES)
        return self.random.getrandbits(64)

    def pattern(self) -> bytes:
        """Returns the bytes that an arena repeats."""
        match self.random.randrange(5):
            case 0:
                return bytes(self.random.choices((0, 0xFF), k=128))
            case 1:
                return self.random.choice((b"\0\x80", b"\0\0", b"\xff\xff")) * 64
            case 2:
                return bytes(self.random.choices((0, 1, 0x7F, 0x80, 0xFF), k=128))
            case _:
                return self.random.randbytes(509)  # a prime, so that aligned places differ

    def bytes_of_vector(self) -> bytes:
        return b"".join(self.extreme().to_bytes(8, "little") for _ in range(8))

    def atom(self, value: int, low: int, high: int, data: bool = True) -> Num:
        found = self.atoms.new("x", low, high, data)
        (atom,) = found.terms
        self.values[atom] = value
        return found

    # --- The symbolic state ---

    def begin(self) -> State:
        self.used = {o.index for d in self.decoded for o in d.operands if isinstance(o, Vector)}
        self.exact: set[tuple[str, int]] = {("v", i) for i in self.words}
        for i, word in self.words.items():
            self.vectors[i] = word.to_bytes(2, "little") * 32
        if not self.words:
            self.choose()
        gpr = [self.general(i) for i in range(16)]
        vec = [self.vector(i) for i in range(32)]
        regions = {
            name: Region(name, self.bases[name], number(ROOM), True, True)
            for name, _ in self.arenas
        }
        gpr[RSP] = ((8, self.bases["stack"] + PAGE),)
        self.registers[RSP] = self.cpu.arenas["stack"].base + PAGE
        self.addresses: dict[int, Num] = {}
        self.place(gpr)
        masks = [number(m) for m in self.masks]  # after place(), which changes masks
        return State(0, gpr, vec, masks, self.first_flags(), regions)

    def choose(self) -> None:
        """Chooses the values that must be known, because the meaning depends on them."""
        for d in self.decoded:
            for o in self.must_be_known(d):
                if isinstance(o, Register):
                    self.exact.add(("g", o.index))
                    if d.name in LOGIC and not isinstance(d.operands[1], Immediate):
                        self.registers[o.index] = self.bytes_all_or_none(8)
                    elif d.name in ("bzhi", "shlx", "rol", "shl", "shr"):
                        self.registers[o.index] = self.random.choice(
                            (0, 1, 8, 31, 32, 63, 64, 65, 255, self.random.getrandbits(64))
                        )
                elif isinstance(o, Vector):
                    self.exact.add(("v", o.index))
                    if d.name == "vpaddb":
                        self.vectors[o.index] = bytes(self.random.choices((0, 0x80), k=64))
                    elif d.name.startswith(("vpand", "vpxor", "pxor")):
                        self.vectors[o.index] = self.mask_of_vector(d.name)

    def bytes_all_or_none(self, n: int) -> int:
        return int.from_bytes(bytes(self.random.choices((0, 0xFF), k=n)), "little")

    def mask_of_vector(self, name: str) -> bytes:
        if "xor" in name and self.random.random() < 0.5:
            return b"\0\x80" * 32
        return bytes(self.random.choices((0, 0xFF), k=64))

    def must_be_known(self, d: Decoded) -> list[object]:
        o = d.operands
        if len(self.decoded) > 1 and d.name not in ("adc", "sbb"):
            return list(o)
        match d.name:
            case "rol" | "shl" | "shr" if len(o) > 1:
                return [o[1]]
            case "vpaddb":
                return [o[0]]
            case "shlx" | "bzhi" | "vprolvd" | "vpshufb":
                return [o[2]]
            case "bt":
                return [o[0]]
            case _ if d.name in LOGIC and isinstance(o[1], Immediate):
                return [o[0]]
            case _ if d.name in LOGIC:
                return [self.random.choice(o[:2])]
            case "vpand" | "vpandd" | "vpxor" | "vpxord" | "vpmaddwd" | "vpdpwssd" | "pxor":
                return [self.random.choice(o[-2:])]
            case _ if d.name in HALVES:
                return [self.random.choice(o[-2:])]
            case "kmovd" | "kmovq":
                return list(o)
        return []

    def general(self, i: int) -> Bits:
        value = self.registers[i]
        if ("g", i) in self.exact and self.random.random() < 0.9:
            return self.known_value(value)
        kind = self.random.randrange(8)
        if kind == 0:
            return self.known_value(value)
        if kind == 1 and value < 1 << 63:
            twos = min((value & -value).bit_length() - 1, 6) if value else 6
            return ((8, self.atom(value >> twos, 0, (1 << 63 - twos) - 1, False) * (1 << twos)),)
        width = self.random.choice((1, 2, 4, 8, 8))
        return self.pieces(value.to_bytes(8, "little"), width)

    def known_value(self, value: int) -> Bits:
        match self.random.randrange(5):
            case 0:  # right only modulo 2^64, like differences of sizes
                return ((8, number(value - (1 << 64))),)
            case 1:
                low = max(value - 3, 0)
                return ((8, self.atom(value, low, low + 6, False)),)
            case 2 if value < 1 << 63:  # an address, or a size whose lowest bits are known
                return ((8, self.atom(value >> 6, 0, 1 << 57, False) * 64 + (value & 63)),)
            case _:
                return ((8, number(value)),)

    def vector(self, i: int) -> Bits:
        value = self.vectors[i]
        if i not in self.used:
            return ((64, number(int.from_bytes(value, "little"))),)
        if ("v", i) in self.exact and (self.words or self.random.random() < 0.9):
            return tuple((1, number(b)) for b in value)
        return self.pieces(value, self.random.choice((1, 2, 4, 8, 64)))

    def pieces(self, content: bytes, width: int) -> Bits:
        found = []
        kind = self.random.randrange(6)
        for at in range(0, len(content), width):
            value = int.from_bytes(content[at : at + width], "little")
            found.append((width, self.piece(value, 8 * width, kind)))
        return tuple(found)

    def piece(self, value: int, bits: int, kind: int) -> Num:
        full = (1 << bits) - 1
        other = self.random.getrandbits(bits)
        match kind:
            case 0:  # a sum that may exceed the register
                return self.atom(other, 0, full) + self.atom(value - other & full, 0, full)
            case 1:
                return self.atom(other, 0, full) - self.atom(other - value & full, 0, full)
            case 2:  # like words whose sign bits are flipped
                half = 1 << bits - 1
                return self.atom((value + half) & full, 0, full) - half
            case 3:
                low = max(value - 3, 0)
                return self.atom(value, low, min(low + 6, full))
            case 4 if self.random.random() < 0.5:
                return number(value)
            case _:
                return self.atom(value, 0, full)

    def first_flags(self) -> Flags:
        left, right = self.extreme(), self.extreme()
        difference = left - right & ALL64
        signed = (left ^ (1 << 63)) - (right ^ (1 << 63))
        self.flags = 2 | self.random.choice((0, PARITY))
        self.flags |= CARRY * (left < right) | ZERO_FLAG * (left == right)
        self.flags |= SIGN * (difference >> 63)
        self.flags |= OVERFLOW * ((signed < 0) != bool(difference >> 63))
        match self.random.randrange(3):
            case 0:
                return Flags()
            case 1:
                return Flags(carry=self.atom(int(left < right), 0, 1))
        return Flags(number(left), number(right), 64, compared=True, known=True)

    def place(self, gpr: list[Bits]) -> None:
        """Places addresses at the start, at the end or in the middle of pages."""
        for d in self.decoded:
            if d.name == "rep movs":
                self.place_copy(gpr)
            for o in d.operands:
                if isinstance(o, Memory) and d.name not in ("lea", "nop") and o.base != RSP:
                    self.place_operand(d, o, gpr)

    def place_copy(self, gpr: list[Bits]) -> None:
        n = self.random.choice((0, 1, 7, 64, PAGE))
        self.set(gpr, 1, number(n), n)
        for i, name in ((6, "data"), (7, "dst")):
            at = self.random.choice((0, ROOM - n, 100))
            self.set(gpr, i, self.bases[name] + at, self.cpu.arenas[name].base + at)

    def place_operand(self, d: Decoded, m: Memory, gpr: list[Bits]) -> None:
        first, end = 0, m.width or 1
        masks = [getattr(o, "mask", None) for o in d.operands]
        mask = next((mask for mask in masks if mask is not None), None)
        if mask:
            self.masks[mask] = self.random.choice(
                (0, 1, (1 << self.random.randrange(65)) - 1, self.random.getrandbits(64), 1 << 31)
            )
            bits = self.masks[mask] & (1 << m.width) - 1
            first, end = (bits & -bits).bit_length() - 1 if bits else 0, bits.bit_length()
        at = self.random.choice((-first, ROOM - end, PAGE - 64 + self.random.randrange(2) * 16))
        if self.words:
            at = PAGE + m.offset
        rest = at - m.offset
        if m.index is not None and m.index != m.base:
            times = self.random.choice((0, 1, 3, 16)) if m.base is not None else 0
            self.set(gpr, m.index, number(times), times)
            rest -= times * m.scale
        if m.base is None or m.base == m.index:
            raise Unproven("an address that this test cannot place")
        real = self.cpu.arenas["data"].base + rest
        is_store = isinstance(d.operands[0], Memory) and d.name not in ("cmp", "test")
        if is_store or self.random.random() < 0.7:
            self.set(gpr, m.base, self.bases["data"] + rest, real)
        else:
            self.set(gpr, m.base, number(real), real)

    def set(self, gpr: list[Bits], i: int, value: Num, real: int) -> None:
        gpr[i] = ((8, value),)
        self.registers[i] = real & ALL64

    # --- Execution ---

    def execute(self) -> None:
        for d in self.decoded:
            for _ in range(100):
                saved = self.state.copy()
                self.x.state = self.state
                try:
                    apply(self.x, d, MEANINGS)
                    break
                except Split as split:
                    self.state = self.side(saved, split)
                except Demand as demand:
                    self.state = self.side(saved, self.x.split(demand.atom, demand.bits))
            else:
                raise Unproven("many cases")

    def side(self, state: State, split: Split) -> State:
        """Returns the state of the case that the values select."""
        value = self.value_of_atom(split.atom)
        for case in split.values:
            if not case.terms:
                if case.c != value:
                    continue
            else:
                ((atom, k),) = case.terms.items()
                new, rest = divmod(value - case.c, k)
                a = self.atoms.all[atom]
                if rest or not a.low <= new <= a.high:
                    continue
                self.values[atom] = new
            values = self.atoms.replacing(split.atom, case)
            state.change(functools.partial(self.atoms.put_in, values=values))
            return state
        raise AssertionError("no case of a split is the one that there is")

    # --- Values of the state ---

    def value_of_atom(self, atom: int) -> int:
        if atom not in self.values:
            a = self.atoms.all[atom]
            if a.of:
                self.values[atom] = self.value(a.of[0]) >> a.of[1]
            else:
                words = self.atoms if isinstance(self.atoms, Words) else None
                if words and atom in words.known and not a.place:
                    self.values[atom] = self.linear(words, words.known[atom])
                    return self.values[atom]
                if not a.place:
                    raise Unproven(f"an unknown: {a.name}")
                self.values[atom] = self.memory[a.place[0]][self.value(a.place[1])]
        value, a = self.values[atom], self.atoms.all[atom]
        assert a.low <= value <= a.high, f"{value:#x} is not within the bounds of {a}"
        return value

    def linear(self, words: Words, word: Word) -> int:
        """Returns the value of `word`, whose bits are exclusive ors of the bits of atoms."""
        variables = 1
        made = {atom for n in words.words.values() for atom in n.terms}  # dependent atoms
        for atom, own in words.known.items():
            if own and atom not in made:
                shift = own[0].bit_length() - 1
                variables |= self.value_of_atom(atom) << shift
        return sum(((bit & variables).bit_count() & 1) << i for i, bit in enumerate(word))

    def value(self, n: Num) -> int:
        value = n.c + sum(k * self.value_of_atom(atom) for atom, k in n.terms.items())
        assert n.low <= value <= n.high, f"{value:#x} is not from {n.low:#x} to {n.high:#x}"
        return value

    def bits(self, bits: Bits) -> int:
        total = at = 0
        for width, value in bits:
            total |= (self.value(value) & (1 << 8 * width) - 1) << at
            at += 8 * width
        return total

    def memory_after(self) -> dict[str, bytes]:
        found = {name: bytearray(content) for name, content in self.memory.items()}
        for a in self.state.accesses:
            if a.content is not None:
                self.store(found[a.region], a)
        for at, (width, value) in self.state.stack.items():
            content = (self.value(value) & (1 << 8 * width) - 1).to_bytes(width, "little")
            found["stack"][at : at + width] = content
        return {name: bytes(content) for name, content in found.items()}

    def store(self, memory: bytearray, a: Access) -> None:
        at, width = self.value(a.offset), self.value(a.width)
        assert a.content is not None
        if a.content[0][0] == 0:  # a copy of `width` bytes of memory
            (source,) = a.content[0][1].terms
            place = self.atoms.all[source].place
            assert place
            start = self.value(place[1])
            memory[at : at + width] = self.memory[place[0]][start : start + width]
        else:
            memory[at : at + width] = self.bits(a.content).to_bytes(width, "little")

    # --- Comparison ---

    def block(self) -> bytes:
        """Returns the initial registers, as meanings_x86_64.S loads them."""
        block = bytearray(BLOCK)
        for i, value in enumerate(self.registers):
            block[8 * i : 8 * i + 8] = value.to_bytes(8, "little")
        block[FLAGS : FLAGS + 8] = self.flags.to_bytes(8, "little")
        for i, mask in enumerate(self.masks):
            block[MASKS + 8 * i : MASKS + 8 * i + 8] = mask.to_bytes(8, "little")
        for i, vector in enumerate(self.vectors):
            block[VECTORS + 64 * i : VECTORS + 64 * i + 64] = vector
        return bytes(block)

    def judge(self, block: bytes, memory: Mapping[str, bytes]) -> None:
        """Compares the state with the state of the CPU."""
        self.after = block
        self.compare_registers()
        self.compare_flags()
        expected = self.memory_after()
        for name in ARENAS:
            self.same(f"memory of {name}", expected[name], memory[name])

    def same(self, what: str, symbolic: object, real: object) -> None:
        if symbolic != real:
            text = "; ".join(i.text for i in self.program)
            if isinstance(symbolic, int) and isinstance(real, int):
                symbolic, real = hex(symbolic), hex(real)
            raise AssertionError(f"{text}: {what} is {real} on the CPU, by its meaning {symbolic}")

    def word(self, at: int) -> int:
        return int.from_bytes(self.after[at : at + 8], "little")

    def compare_registers(self) -> None:
        for i, name in enumerate(NAMES):
            bits = self.state.gpr[i]
            self.same(name, self.bits(bits), self.word(8 * i))
            exact = self.atoms.exact(self.x.number(bits), 64)
            self.same(f"{name} as a number", self.value(exact) & ALL64, self.word(8 * i))
        width = self.cpu.vectors
        for i in range(32 if width == 64 else 16):
            real = int.from_bytes(self.after[VECTORS + 64 * i :][:width], "little")
            low = self.x.take(self.state.vec[i], 0, width)
            self.same(f"v{i}", f"{self.bits(low):0{2 * width}x}", f"{real:0{2 * width}x}")
        if width == 64:
            for i, mask in enumerate(self.state.masks):
                self.same(f"k{i}", self.value(mask) & ALL64, self.word(MASKS + 8 * i))

    def compare_flags(self) -> None:
        f, real = self.state.flags, self.word(FLAGS)
        full, half = (1 << f.bits) - 1, 1 << f.bits - 1
        left, right = self.value(f.left) & full, self.value(f.right) & full
        if f.compared:
            self.same("carry", int(left < right), real & CARRY)
            is_less = (left ^ half) < (right ^ half)
            self.same("less", is_less, bool(real & SIGN) != bool(real & OVERFLOW))
        elif f.carry is not None:
            self.same("carry", self.value(f.carry), real & CARRY)
        if f.known:
            self.same("zero", left == right, bool(real & ZERO_FLAG))
            self.same("sign", bool(left - right & half), bool(real & SIGN))


__all__ = [
    "MEANINGS",
    "RSP",
    "VECTORS",
    "Cpu",
    "Image",
    "Instruction",
    "Machine",
    "Memory",
    "Trial",
    "Unproven",
    "Words",
    "decode",
    "digest",
    "needs",
]
