# SPDX-License-Identifier: MIT
"""`carry sites` on AArch64 files, on any machine: as they are compiled, and damaged."""

from __future__ import annotations

import functools
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from carry_tool import BAD, CLEAN, SOURCE, Run
from test_sites import RECORD, can_do_sites, check, edit, named, record_of, refused, section, show

pytestmark = pytest.mark.usefixtures(can_do_sites.__name__)

COMPILER = "aarch64-linux-gnu-gcc"
NOP = 0xD503201F

SITES = """
#include <carry/patch.h>
CARRY_OP(uint64_t, route, uint64_t);
CARRY_OP(uint64_t, step, uint64_t);
CARRY_KEY(tracing);
#define HERE __attribute__((noinline, used))

HERE uint64_t route_plain(uint64_t x) { return 3 * x; }
HERE uint64_t route_fast(uint64_t x) { return 5 * x; }
HERE static uint64_t after(uint64_t x) {
    CARRY_BODY(after, "add x0, x0, #1");
    return x + 1;
}

CARRY_OP_DEFINE(route, route_plain);
CARRY_OP_DEFINE(step, after);
CARRY_KEY_DEFINE(tracing, false);

HERE uint64_t forward(uint64_t x) {
    if (carry_unlikely(tracing))
        x++;
    return carry_call(route)(x) + carry_call(step)(x);
}

HERE uint64_t alternatives(uint64_t x) {
    __asm__(CARRY_ALT("add %0, %0, #1", neon, "add %0, %0, #2\\n\\tadd %0, %0, #1") : "+r"(x));
    __asm__(CARRY_ALT_KEY_ONE("add %0, %0, #1", tracing, "sub %0, %0, #1")
            : "+r"(x)
            : CARRY_ALT_INPUT(tracing));
    __asm__ volatile(CARRY_ALT_KEY("nop", tracing, "bl forward") :
                     : CARRY_ALT_INPUT(tracing) : "x30", "memory");
    return x;
}

__asm__(".pushsection .text\\n"
        "tail: b 1f\\n"
        "1: adrp x16, carry_op_route\\nadd x16, x16, :lo12:carry_op_route\\n"
        "ldar x16, [x16]\\nbr x16\\n"
        ".pushsection carry_sites, \\"ao\\", %progbits, tail\\n"
        ".long tail - ., carry_op_route - ., 1b - .\\n.byte 2, 4, 0, 1\\n"
        ".popsection\\n.popsection\\n");
"""

Build = Callable[..., Path]


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Returns a function that compiles each source once, to a shared object without the library."""
    if not shutil.which(COMPILER):
        pytest.skip(f"{COMPILER} is not installed (Debian package gcc-aarch64-linux-gnu)")
    folder = tmp_path_factory.mktemp("aarch64")

    @functools.cache
    def run(source: str, *flags: str) -> Path:
        path = folder / f"{run.cache_info().currsize}.so"
        text = path.with_suffix(".c")
        text.write_text(source)
        command = [COMPILER, "-O2", "-w", "-shared", "-fPIC", "-nostdlib"]
        options = [f"-I{SOURCE / 'include'}", *flags]
        subprocess.run([*command, *options, "-o", path, text], check=True, timeout=600)
        return path

    return run


@pytest.fixture
def build(compiled: Callable[..., Path], tmp_path: Path) -> Build:
    def run(source: str, *flags: str) -> Path:
        return Path(shutil.copy(compiled(source, *flags), tmp_path / "object.so"))

    return run


def place_of(path: Path, address: int) -> int:
    """Returns the offset in the file of an address in the text."""
    start, offset, _ = section(path, ".text")
    return address - start + offset


def word_at(path: Path, address: int) -> int:
    return struct.unpack_from("<I", path.read_bytes(), place_of(path, address))[0]


def put_word(path: Path, address: int, word: int) -> None:
    edit(path, place_of(path, address), struct.pack("<I", word))


def branch(opcode: int, start: int, target: int) -> int:
    return opcode | ((target - start) // 4 & 0x3FFFFFF)


def sites_of(carry: Run, path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    return named(show(carry, path))


def symbol(path: Path, name: str) -> int:
    lines = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
    return next(
        int(line.split()[0], 16) for line in lines.splitlines() if line.endswith(f" {name}")
    )


def record_address(path: Path, at: int) -> int:
    start, offset, _ = section(path, "carry_sites")
    return start + at - offset


def stub_of(path: Path, site: dict[str, Any]) -> int:
    at, fields = record_of(path, site["address"])
    return record_address(path, at) + 8 + fields[2]


# --- The list of sites ---


@pytest.mark.parametrize("flags", [[], ["-mbranch-protection=standard"], ["-O0"], ["-g"]])
def test_each_kind_of_site(carry: Run, build: Build, flags: list[str]) -> None:
    """Each kind of site is listed, with its name and state."""
    path = build(SITES, *flags)
    sites = show(carry, path)
    found = named(sites)
    assert set(found) == {
        ("call", "route"),
        ("call", "step"),
        ("jump", "route"),
        ("branch", "tracing"),
        ("alternative", "neon"),
        ("alternative", "tracing"),
        ("body", "after"),
    }
    assert {site["state"] for site in sites} == {"original", "body"}
    call = found["call", "route"]
    assert (call["symbol"], call["target_name"], call["reason"]) == ("forward", "route_plain", None)
    assert call["instructions"][0].startswith("bl ")
    assert found["branch", "tracing"]["instructions"][0].startswith("b ")
    assert found["body", "after"]["instructions"] == [".inst 0x91000400"]
    assert found["alternative", "neon"]["instructions"][1:] == ["nop"]
    assert check(carry, path) == (CLEAN, [])


def test_stripped(carry: Run, build: Build) -> None:
    """A stripped program has the same sites."""
    path = build(SITES)
    whole = [site["address"] for site in show(carry, path)]
    subprocess.run(["aarch64-linux-gnu-strip", path], check=True, timeout=600)
    assert [site["address"] for site in show(carry, path)] == whole
    assert check(carry, path) == (CLEAN, [])


def test_states(carry: Run, build: Build) -> None:
    """Each state is shown after the change that a commit would make to the text."""
    path = build(SITES)
    found = sites_of(carry, path)
    call, step, jump = found["call", "route"], found["call", "step"], found["jump", "route"]
    key = found["branch", "tracing"]
    away = stub_of(path, key) + 16
    target = away + 4 * ((word_at(path, away) & 0x3FFFFFF ^ 0x2000000) - 0x2000000)
    plain = symbol(path, "route_plain")
    put_word(path, call["address"], branch(0x94000000, call["address"], plain))
    put_word(path, jump["address"], branch(0x14000000, jump["address"], plain))
    put_word(path, step["address"], 0x91000400)
    put_word(path, key["address"], branch(0x14000000, key["address"], target))
    put_word(path, found["alternative", "neon"]["address"], 0x91000800)
    found = sites_of(carry, path)
    assert [found[name]["state"] for name in found if name[1] == "route"] == ["direct", "direct"]
    assert found["call", "route"]["instructions"] == ["bl route_plain"]
    assert found["call", "step"]["state"] == "inline"
    assert found["branch", "tracing"]["state"] == "jump"
    # Only one of two instructions of this alternative was replaced.
    assert found["alternative", "neon"]["state"] == "unknown bytes"
    put_word(path, found["alternative", "neon"]["address"] + 4, 0x91000400)
    put_word(path, key["address"], NOP)
    found = sites_of(carry, path)
    assert found["branch", "tracing"]["state"] == "nop"
    assert found["alternative", "neon"]["state"] in {"replacement", "unknown bytes"}
    put_word(path, call["address"], branch(0x94000000, call["address"], symbol(path, "route_fast")))
    status, wrong = check(carry, path)
    assert (status, "key" in {each["what"] for each in wrong}) == (BAD, True)


# --- Errors ---


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("call", "route"),
        ("jump", "route"),
        ("branch", "tracing"),
        ("alternative", "neon"),
        ("alternative", "tracing"),
    ],
)
@pytest.mark.parametrize("word", [0xD65F03C0, 0x00000000])  # ret, udf
def test_another_instruction(carry: Run, build: Build, kind: str, name: str, word: int) -> None:
    """An instruction that no patch wrote is unknown, and wrong."""
    path = build(SITES)
    site = sites_of(carry, path)[kind, name]
    put_word(path, site["address"], word)
    assert sites_of(carry, path)[kind, name]["state"] == "unknown bytes"
    status, found = check(carry, path)
    assert (status, [each["what"] for each in found]) == (BAD, ["bytes"])
    assert found[0]["address"] == site["address"]


@pytest.mark.parametrize(
    ("index", "value", "text"),
    [
        (3, 9, "kind 9"),
        (6, 2, "version 2"),
        (4, 6, "cannot have 6 bytes"),
        (3, 6, "AArch64 has no sites of its kind"),
    ],
)
def test_records_of_another_library(
    carry: Run, build: Build, index: int, value: int, text: str
) -> None:
    """A record of an unknown kind, version or size is wrong."""
    path = build(SITES)
    at, fields = record_of(path, sites_of(carry, path)["call", "route"]["address"])
    edit(path, at, RECORD.pack(*fields[:index], value, *fields[index + 1 :]))
    status, found = check(carry, path)
    assert status == BAD
    assert any(each["what"] == "record" and text in each["text"] for each in found)


def test_an_address_between_instructions(carry: Run, build: Build) -> None:
    """An address that is not a multiple of 4 is wrong."""
    path = build(SITES)
    at, fields = record_of(path, sites_of(carry, path)["call", "route"]["address"])
    edit(path, at, RECORD.pack(fields[0] + 2, *fields[1:]))
    status, found = check(carry, path)
    assert status == BAD
    assert any("not a multiple of 4" in each["text"] for each in found)


@pytest.mark.parametrize("kind", ["call", "branch", "alternative"])
@pytest.mark.parametrize("field", [0, 1, 2])
@pytest.mark.parametrize("value", [0x7FFFFFF0, -0x80000000])
def test_records_outside_the_program_are_wrong(
    carry: Run, build: Build, kind: str, field: int, value: int
) -> None:
    """A record that points outside the program is wrong."""
    path = build(SITES)
    name = {"call": "route", "branch": "tracing", "alternative": "neon"}[kind]
    at, fields = record_of(path, sites_of(carry, path)[kind, name]["address"])
    edit(path, at, RECORD.pack(*fields[:field], value, *fields[field + 1 :]))
    status, found = check(carry, path)
    assert status == BAD
    assert "record" in {each["what"] for each in found}


@pytest.mark.parametrize(("kind", "words"), [("call", 4), ("jump", 4), ("branch", 6)])
def test_damaged_stub_is_wrong(carry: Run, build: Build, kind: str, words: int) -> None:
    for i in range(words):
        path = build(SITES)
        site = sites_of(carry, path)[kind, "tracing" if kind == "branch" else "route"]
        # The branch away may lead anywhere, so another instruction replaces it.
        put_word(path, stub_of(path, site) + 4 * i, 0xD65F03C0)
        status, found = check(carry, path)
        assert (status, [each["what"] for each in found]) == (BAD, ["record"])
        assert "stub" in found[0]["text"]


def test_a_stub_that_jumps_for_the_other_value(carry: Run, build: Build) -> None:
    """A stub that jumps for the other value of its key is wrong."""
    path = build(SITES)
    stub = stub_of(path, sites_of(carry, path)["branch", "tracing"])
    put_word(path, stub + 12, word_at(path, stub + 12) ^ 1 << 24)  # cbz to cbnz
    status, found = check(carry, path)
    assert (status, [each["what"] for each in found]) == (BAD, ["record"])


def test_overlap(carry: Run, build: Build) -> None:
    """Sites that overlap are wrong."""
    path = build(SITES)
    sites = sites_of(carry, path)
    first, fields = record_of(path, sites["call", "route"]["address"])
    second, _ = record_of(path, sites["call", "step"]["address"])
    moved = [offset + first - second for offset in fields[:3]]
    edit(path, second, RECORD.pack(moved[0], moved[1] + 8, moved[2], *fields[3:]))
    status, found = check(carry, path)
    assert status == BAD
    assert {each["what"] for each in found} >= {"overlap", "lost"}


def test_records_that_were_dropped(carry: Run, build: Build) -> None:
    path = build(SITES)
    wanted = {
        (site["kind"], site["name"], site["address"])
        for site in show(carry, path)
        if site["kind"] in {"call", "jump", "branch"}
    }
    remove = ["aarch64-linux-gnu-objcopy", "--remove-section=carry_sites", path]
    subprocess.run(remove, check=True, timeout=600)
    status, found = check(carry, path)
    assert (status, {each["what"] for each in found}) == (BAD, {"lost"})
    assert {(each["kind"], each["name"], each["address"]) for each in found} == wanted


PLANTED = {
    "body of two": (
        'uint64_t f(uint64_t x) { CARRY_BODY(route_fast, "add x0, x0, #1; nop"); return x; }',
        "body",
    ),
    "half a body": (
        'uint64_t f(uint64_t x) { CARRY_BODY(route_fast, ".short 1"); return x; }',
        "body",
    ),
    "undefined instruction as the body": (
        'uint64_t f(uint64_t x) { CARRY_BODY(route_fast, "udf #1"); return x; }',
        "body",
    ),
    "body relative": (
        'uint64_t f(uint64_t x) { CARRY_BODY(route_fast, "adr x0, ."); return x; }',
        "relative",
    ),
    "body that is said to be relative": (
        'uint64_t f(uint64_t x) { CARRY_BODY_TEXT(route_fast, "nop", "4"); return x; }',
        "relative",
    ),
    "call not at the start": (
        'void f(void) { __asm__ volatile(CARRY_ALT("nop; bl forward", neon, "nop") ::: "x30"); }',
        "relative",
    ),
    "literal": (
        'void f(void) { __asm__ volatile(CARRY_ALT_ONE("ldr x0, . + 64", neon, "nop") ::: "x0"); }',
        "relative",
    ),
    "conditional branch": (
        'void f(void) { __asm__ volatile(CARRY_ALT("nop", neon, "cbz x0, . + 64") ::: "x0"); }',
        "relative",
    ),
    "unknown feature": (
        'void f(void) { __asm__ volatile(CARRY_ALT_TEXT("nop", CARRY_ALT_PAD, "nop", '
        'CARRY_ALT_NAME("avx2"), "1") :::); }',
        "feature",
    ),
}


@pytest.mark.parametrize("defect", PLANTED)
def test_planted_defects(carry: Run, build: Build, defect: str) -> None:
    """Each planted defect is found and reported by its name."""
    source, what = PLANTED[defect]
    status, found = check(carry, build(SITES + source, "-fvisibility=hidden"))
    assert status == BAD
    # Position-dependent bytes also differ from those that the record expects.
    assert {each["what"] for each in found} - {"bytes"} == {what}


def test_an_alternative_may_jump_within(carry: Run, build: Build) -> None:
    source = 'void f(void) { __asm__ volatile(CARRY_ALT("cbz x0, 1f; nop; 1:", neon, "nop") :::); }'
    assert check(carry, build(SITES + source)) == (CLEAN, [])


def test_a_function_out_of_reach(carry: Run, build: Build) -> None:
    """A function beyond the reach of a branch stays original, with the reason."""
    source = SITES.replace(
        "HERE uint64_t route_plain", '__attribute__((section(".far"))) HERE uint64_t route_plain'
    )
    flags = ["-fvisibility=hidden", "-fno-asynchronous-unwind-tables", "-Wl,-z,noseparate-code"]
    path = build(source, *flags, "-Wl,--section-start=.far=0x20000000")
    site = sites_of(carry, path)["call", "route"]
    assert (site["state"], site["target_name"], site["reason"]) == (
        "original",
        "route_plain",
        "range",
    )
    status, found = check(carry, path)
    assert (status, {each["what"] for each in found}) == (BAD, {"range"})
    assert all("128 MiB" in each["text"] for each in found)


def test_landing_pads(carry: Run, build: Build) -> None:
    """In an object that is compiled for BTI, a target without a landing pad is wrong."""
    bare = 'extern uint64_t bare(uint64_t); __asm__(".text; bare: add x0, x0, #1; ret");'
    source = SITES.replace("CARRY_OP_DEFINE(step, after)", f"{bare}CARRY_OP_DEFINE(step, bare)")
    assert check(carry, build(source)) == (CLEAN, [])
    status, found = check(carry, build(source, "-mbranch-protection=standard"))
    assert (status, [each["what"] for each in found]) == (BAD, ["landing"])
    padded = source.replace("bare: add", "bare: hint #34; add")
    assert check(carry, build(padded, "-mbranch-protection=standard")) == (CLEAN, [])


def test_missing_registration_is_wrong(carry: Run, build: Build) -> None:
    """Sites that no code registers are wrong."""
    source = (
        "#include <carry/patch.h>\n"
        'void f(void) { __asm__ volatile(CARRY_ALT("nop", neon, "nop") :::); }\n'
    )
    status, found = check(carry, build(source))
    assert (status, [each["what"] for each in found]) == (BAD, ["registration"])
    assert check(carry, build(source + "CARRY_PATCH_OBJECT;\n")) == (CLEAN, [])


# --- Files that are refused ---


def test_big_endian(carry: Run, build: Build) -> None:
    """Big-endian programs are refused."""
    path = build("int nothing;", "-mbig-endian")
    assert "not little-endian" in refused(carry, path)


def test_truncated_everywhere(carry: Run, build: Build, tmp_path: Path) -> None:
    """A program that is cut anywhere is refused."""
    data = build(SITES).read_bytes()
    path = tmp_path / "cut"
    for size in range(0, len(data), len(data) // 40):
        path.write_bytes(data[:size])
        refused(carry, path)
