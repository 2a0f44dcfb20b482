#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Computes the canonical bytes of a kernel, independent of the linker, and their SHA-256.

usage: digest.py BUILD...

Reports whether the kernels in these builds have rows in proven.def, which the prover writes.

The canonical bytes of a function are its code, of the size of its symbol, with zeros in the fields
that a linker fills in; and then for each field, in the order of the code,

    four numbers of 32 bits, little-endian: the offset of the field in the function, the addend of
    its relocation, 0 for a table and 1 for a function, and the size of the table or the name
    for the first of two words that hold an address: the offset of the second word, 32 bits
    the table that it refers to (the whole section of an assembly file), or the function's name

Thus they contain everything that the code reads, except its arguments. They are the same in an
object, in each program into which it is linked, and in memory. From the code in memory, `carry
selftest --proof` computes the address to which a field refers from the value that the linker has
filled in:

    start of table or function = place of the field + its value - addend
"""

import hashlib
import re
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import Relocation
from elftools.elf.sections import Section, Symbol, SymbolTableSection

FOLDER = Path(__file__).resolve().parent
SOURCES = FOLDER.parent.parent / "src"
PROVEN = FOLDER / "proven.def"

# The tables of kernels, and the forms that each row has: the functions are carry_<form>_<name>.
TABLES = {
    "sum/kernels.def": ("sum", "sum_copy", "sum_copy_try"),
    "copy/kernels.def": ("copy", "copy_try", "copy_move"),
    "sum/crc32c_kernels.def": ("crc32c",),
}
MAKERS = {
    rb"GNU AS ([\d.]+)": "GNU as",
    rb"GNU C\d+ ([\d.]+)[^\0]*": "GCC",
    rb"clang version ([\d.]+)": "clang",
}
NO_TABLE = SH_FLAGS.SHF_WRITE | SH_FLAGS.SHF_EXECINSTR
ROW = re.compile(r"^CARRY_\w+_KERNEL\((\w+), (\w+),", re.MULTILINE)


class DigestError(Exception):
    """Reports why a function has no canonical bytes, or other bytes than the proven ones."""


@dataclass(frozen=True)
class Shape:
    """The bits of a field's word that the linker fills in, and their unit in bytes."""

    name: str
    mask: int
    unit: int = 1

    def value(self, word: int) -> int:
        return signed(word, self.mask) * self.unit


def signed(value: int, mask: int) -> int:
    """Returns the lowest bits of a value, those in `mask`, as a signed number."""
    sign = (mask >> 1) + 1
    return ((value & mask) ^ sign) - sign


WORD = Shape("WORD", 0xFFFFFFFF)
BRANCH = Shape("BRANCH", 0x03FFFFFF, 4)
# On AArch64, an adrp contains the distance in pages, and an add the lowest bits of the address.
PAGES = Shape("PAGES", 0x60FFFFE0)
LOW = Shape("LOW", 0x003FFC00)
ADD_LOW = 277  # R_AARCH64_ADD_ABS_LO12_NC

# For each machine, the name in proven.def, and the known relocations by their numbers.
MACHINES: dict[str, tuple[str, dict[int, Shape]]] = {
    "EM_X86_64": ("x86_64", {2: WORD, 4: WORD}),  # PC32, PLT32
    # JUMP26, CALL26, ADR_PREL_PG_HI21
    "EM_AARCH64": ("aarch64", {282: BRANCH, 283: BRANCH, 275: PAGES, ADD_LOW: LOW}),
}


@dataclass(frozen=True)
class Field:
    """A field that the linker fills in: a reference to a table, or to a function."""

    at: int
    addend: int
    shape: Shape
    to: bytes | str  # empty for the second word of an address
    low: int = 0  # in the first word of an address: the offset of the second word

    @property
    def canonical(self) -> bytes:
        content = self.to.encode() if isinstance(self.to, str) else self.to
        kind = int(isinstance(self.to, str))
        low = struct.pack("<I", self.low) if self.low else b""
        return struct.pack("<IiII", self.at, self.addend, kind, len(content)) + low + content

    @property
    def row(self) -> str:
        if self.shape == LOW:
            return f"LOW({self.at})"
        if self.shape == PAGES:
            return f"PAGES({self.at}, {self.addend}, {self.low}, {len(self.to)})"
        to = self.to if isinstance(self.to, str) else len(self.to)
        kind = "FUNCTION" if isinstance(self.to, str) else "TABLE"
        return f"{kind}({self.at}, {self.addend}, {self.shape.name}, {to})"


@dataclass(frozen=True)
class Code:
    arch: str
    name: str
    by: str  # the assembler or compiler that made it, if the file names it
    content: bytes  # with zeros in the fields
    fields: tuple[Field, ...]

    @property
    def size(self) -> int:
        return len(self.content)

    @property
    def canonical(self) -> bytes:
        return self.content + b"".join(field.canonical for field in self.fields)

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.canonical).hexdigest()


# --- Objects ---


def symbols_of(elf: ELFFile) -> SymbolTableSection:
    return elf.get_section_by_name(".symtab")


def function_in(symbols: SymbolTableSection, name: str) -> Symbol:
    for symbol in symbols.get_symbol_by_name(name) or []:
        if symbol["st_shndx"] != "SHN_UNDEF":
            return symbol
    raise DigestError(f"{name}: not in {symbols.stream.name}")


def relocations_of(elf: ELFFile, section: Section) -> list[Relocation]:
    table = elf.get_section_by_name(".rela" + section.name)
    return sorted(table.iter_relocations(), key=lambda row: row["r_offset"]) if table else []


def referred(elf: ELFFile, symbol: Symbol) -> bytes | str:
    """Returns the table to which a symbol of an object refers, or the name of the function."""
    if symbol["st_shndx"] == "SHN_UNDEF" or symbol["st_info"]["type"] == "STT_FUNC":
        return str(symbol.name)
    section = elf.get_section(symbol["st_shndx"])
    if section["sh_flags"] & NO_TABLE or relocations_of(elf, section):
        raise DigestError(f"{section.name} of {elf.stream.name}: no table of constants")
    start, size = symbol["st_value"], symbol["st_size"]
    if section["sh_flags"] & SH_FLAGS.SHF_MERGE:
        size = section["sh_entsize"]
    elif symbol["st_info"]["type"] == "STT_SECTION":
        size = section.data_size
    return bytes(section.data()[start : start + size])


def blank_field(code: bytearray, field: Field) -> None:
    (word,) = struct.unpack_from("<I", code, field.at)
    struct.pack_into("<I", code, field.at, word & ~field.shape.mask)


def maker(content: bytes) -> str:
    """Returns the maker of a file, by its debug information: "GNU as 2.40" or "GCC 12.2.0 -O2"."""
    for said, name in MAKERS.items():
        if found := re.search(said, content):
            level = re.findall(rb" -O\S*", found[0])[-1:]
            return " ".join([name, found[1].decode()]) + b"".join(level).decode()
    return "unknown"


def fields_of(elf: ELFFile, function: Symbol) -> Iterator[Field]:
    _, shapes = MACHINES[elf["e_machine"]]
    symbols = symbols_of(elf)
    start, size = function["st_value"], function["st_size"]
    section = elf.get_section(function["st_shndx"])
    rows = [r for r in relocations_of(elf, section) if 0 <= r["r_offset"] - start < size]
    for row in rows:
        at = row["r_offset"] - start
        if row["r_info_type"] not in shapes:
            raise DigestError(f"{function.name}: a relocation of type {row['r_info_type']}")
        shape = shapes[row["r_info_type"]]
        if shape == LOW:
            yield Field(at, 0, LOW, b"")
            continue
        to = referred(elf, symbols.get_symbol(row["r_info_sym"]))
        low = second_word(rows, row) - start if shape == PAGES else 0
        yield Field(at, row["r_addend"], shape, to, low)


def check_addresses(function: str, fields: Iterable[Field]) -> None:
    """Checks that each address in two words refers to a table, and has its own second word."""
    pages = [field for field in fields if field.shape == PAGES]
    words = [field.at for field in fields if field.shape == LOW]
    if sorted(field.low for field in pages) != words or any(type(f.to) is str for f in pages):
        raise DigestError(f"{function}: an address in words that do not belong together")


def second_word(rows: list[Relocation], first: Relocation) -> int:
    """Returns the offset of the second word of an address; the first word has the page."""
    for row in rows:
        is_same = all(row[name] == first[name] for name in ("r_info_sym", "r_addend"))
        if is_same and row["r_info_type"] == ADD_LOW and row["r_offset"] > first["r_offset"]:
            return int(row["r_offset"])
    return int(first["r_offset"])  # there is none


def canonical(path: Path, function: str) -> Code:
    """Returns the canonical bytes of a function of an object file."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        symbol = function_in(symbols_of(elf), function)
        start, size = symbol["st_value"], symbol["st_size"]
        fields = tuple(fields_of(elf, symbol))
        check_addresses(function, fields)
        code = bytearray(elf.get_section(symbol["st_shndx"]).data()[start : start + size])
        for field in fields:
            blank_field(code, field)
        arch, _ = MACHINES[elf["e_machine"]]
        return Code(arch, function, maker(path.read_bytes()), bytes(code), fields)


# --- Linked code ---


def read_bytes(elf: ELFFile, address: int, size: int) -> bytes:
    """Returns the bytes at an address of a program or shared library."""
    for segment in elf.iter_segments("PT_LOAD"):
        at = address - segment["p_vaddr"]
        if at >= 0 and at + size <= segment["p_filesz"]:
            return bytes(segment.data()[at : at + size])
    raise DigestError(f"{address:#x}: not in {elf.stream.name}")


def read_word(elf: ELFFile, address: int) -> int:
    (found,) = struct.unpack("<I", read_bytes(elf, address, 4))
    return int(found)


def referred_from(elf: ELFFile, function: int, field: Field) -> int:
    """Returns the address to which a field refers, by the value that the linker has filled in."""
    place = function + field.at
    first = read_word(elf, place)
    if field.shape != PAGES:
        return place + field.shape.value(first) - field.addend
    pages = signed((first >> 5 & 0x7FFFF) << 2 | first >> 29 & 3, 0x1FFFFF)
    low = (read_word(elf, function + field.low) & LOW.mask) >> 10
    return ((place >> 12) + pages << 12) + low - field.addend


def linked_field(elf: ELFFile, symbols: SymbolTableSection, function: int, field: Field) -> Field:
    """Returns the field of a linked function, with the table or function to which it refers. The
    name is empty if the field refers to another function."""
    if field.shape == LOW:
        return field
    start = referred_from(elf, function, field)
    if isinstance(field.to, bytes):
        return replace(field, to=read_bytes(elf, start, len(field.to)))
    return field if start == function_in(symbols, field.to)["st_value"] else replace(field, to="")


def tables(path: Path, code: Code) -> list[tuple[int, int]]:
    """Returns the addresses and sizes of the tables to which a linked function refers."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        function = function_in(symbols_of(elf), code.name)["st_value"]
        return [
            (referred_from(elf, function, field), len(field.to))
            for field in code.fields
            if isinstance(field.to, bytes) and field.shape != LOW
        ]


def linked(path: Path, codes: Iterable[Code]) -> Iterator[Code]:
    """Yields the functions `codes` with their code in a program or shared library that is not
    stripped."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        symbols = symbols_of(elf)
        for code in codes:
            start = function_in(symbols, code.name)["st_value"]
            found = bytearray(read_bytes(elf, start, code.size))
            for field in code.fields:
                blank_field(found, field)
            fields = (linked_field(elf, symbols, start, field) for field in code.fields)
            yield replace(code, content=bytes(found), fields=tuple(fields))


# --- All kernels ---


def functions(arch: str) -> list[str]:
    """Returns the functions of an architecture: each row of the tables in each of its forms."""
    return [
        f"carry_{form}_{name}"
        for table, forms in TABLES.items()
        for form in forms
        for of, name in ROW.findall((SOURCES / table).read_text())
        if of in ("any", arch)
    ]


def objects(build: Path) -> dict[str, Path]:
    """Returns the object of each function in the modules that have kernels."""
    found = {}
    modules = {Path(name).parts[0] for name in TABLES}
    paths = [path for module in modules for path in build.glob(f"src/libcarry-*.a.p/{module}_*.o")]
    for path in sorted(paths):
        with path.open("rb") as file:
            for symbol in symbols_of(ELFFile(file)).iter_symbols():
                if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_shndx"] != "SHN_UNDEF":
                    found[symbol.name] = path
    return found


def architecture(path: Path) -> str:
    with path.open("rb") as file:
        return MACHINES[ELFFile(file)["e_machine"]][0]


def kernel(path: Path, function: str) -> Code:
    """Returns a kernel. It must call only kernels: `carry selftest` cannot find other functions."""
    code = canonical(path, function)
    called = {field.to for field in code.fields if isinstance(field.to, str)}
    for other in sorted(called - set(functions(code.arch))):
        raise DigestError(f"{function}: calls {other}, which is no kernel")
    return code


def kernels(build: Path) -> Iterator[Code]:
    """Yields the kernels of one build; prints the reason if a function has no canonical bytes."""
    found = objects(build)
    if not found:
        raise DigestError(f"{build}: no objects of kernels")
    for function in functions(architecture(next(iter(found.values())))):
        try:
            yield kernel(found[function], function)
        except DigestError as error:
            print(error)


# --- The table ---

HEAD = """\
/* SPDX-License-Identifier: MIT */
/*
 * The code of kernels that was proven, written by prove.py: a row for each function
 * as an assembler or compiler makes it. `carry selftest --proof` compares the library with it.
 *
 * CARRY_PROVEN(arch, function, by, bytes, digest[, fields])
 *
 * by       what made this code; other versions may make the same
 * bytes    the size of the code
 * digest   SHA-256 of the canonical bytes: digest.py
 * fields   what the link fills in: TABLE(place, addend, bits, bytes) refers to a table of that
 *          size, FUNCTION(place, addend, bits, name) to another function; PAGES(place, addend, low,
 *          bytes) to a table by two words, of which LOW(place) is the second one
 */
"""
PROVEN_ROW = re.compile(r'^CARRY_PROVEN\((\w+), (\w+), "([^"]*)", (\d+),\s+"(\w+)"', re.MULTILINE)


def row_text(code: Code, by: Iterable[str]) -> str:
    start, end = "CARRY_PROVEN(", ",\n" + " " * len("CARRY_PROVEN(")
    made = ", ".join(sorted(by))
    parts = [f'{code.arch}, {code.name}, "{made}", {code.size}', f'"{code.digest}"']
    fields = end[1:].join(field.row for field in code.fields)
    return start + end.join([*parts, fields] if fields else parts) + ")\n"


def row_key(key: tuple[str, str, str]) -> tuple[str, int, str]:
    """Returns the sort key of a row: rows are in the order of the tables."""
    arch, name, sha256 = key
    return arch, functions(arch).index(name), sha256


def recorded() -> dict[tuple[str, str, str], tuple[set[str], str]]:
    """Returns the makers of the code, and the row, by architecture, function and digest."""
    rows = re.findall(r"^CARRY_PROVEN\(.*?\)$(?!\n )", PROVEN.read_text(), re.M | re.S)
    found = {}
    for text in rows:
        match = PROVEN_ROW.match(text)
        if match:
            arch, name, by, _, sha256 = match.groups()
            found[arch, name, sha256] = set(by.split(", ")), text + "\n"
    return found


def record(proven: Iterable[Code], failed: Iterable[Code] = ()) -> None:
    """Writes proven.def: adds proven code, removes failed code, and keeps the rest."""
    rows = recorded()
    for code in failed:
        rows.pop((code.arch, code.name, code.digest), None)
    for code in proven:
        key = code.arch, code.name, code.digest
        by, _ = rows.get(key, (set(), ""))
        by = (by | {code.by}) - ({"unknown"} if by | {code.by} != {"unknown"} else set())
        rows[key] = by, row_text(code, by)
    PROVEN.write_text(HEAD + "".join(rows[key][1] for key in sorted(rows, key=row_key)))


def unproven(codes: Iterable[Code]) -> list[Code]:
    """Returns the functions whose code has no row in proven.def."""
    known = {(name, digest) for _, name, _, _, digest in PROVEN_ROW.findall(PROVEN.read_text())}
    return [code for code in codes if (code.name, code.digest) not in known]


def main() -> int:
    if len(sys.argv) < 2:
        print("usage: digest.py BUILD...", file=sys.stderr)
        return 2
    try:
        codes = [code for build in sys.argv[1:] for code in kernels(Path(build))]
    except (DigestError, OSError) as error:
        print(f"digest.py: {error}", file=sys.stderr)
        return 2
    missing = unproven(codes)
    for code in missing:
        print(f"{code.name}: not proven as {code.by} makes it")
    print(f"{len(codes)} functions, {len(codes) - len(missing)} of them proven")
    return 1 if missing or not codes else 0


if __name__ == "__main__":
    sys.exit(main())
