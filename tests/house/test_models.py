# SPDX-License-Identifier: MIT
"""The input of bench/models.py to llvm-mca, and its evaluation of the answers."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "bench"))

from model import emulated, mca, table  # noqa: E402
from model.path import (  # noqa: E402
    Call,
    Function,
    Instruction,
    PathError,
    Stepper,
    build,
    parse_listing,
)

X86_64 = pytest.mark.skipif(platform.machine() != "x86_64", reason="steps through x86-64")
CPU = mca.Cpu("skylake-avx512", "some CPU", 14, frozenset())
SERIAL = mca.Cpu("sapphirerapids", "another", 17, frozenset(), serial=True)

# Counts down by eights, with a vector instruction that no CPU before AVX-512 has.
LOOP = """
    .globl model_loop
    .type model_loop, @function
model_loop:
    vpaddd %zmm1, %zmm0, %zmm0
    sub $8, %rsi
    ja model_loop
    ret
    .size model_loop, . - model_loop
    .globl model_leaves
    .type model_leaves, @function
model_leaves:
    jmp model_loop
    .size model_leaves, . - model_leaves
    .section .note.GNU-stack, "", @progbits
"""


def stepper(folder: Path, *functions: str) -> Stepper:
    source = folder / "loop.S"
    source.write_text(LOOP)
    return Stepper(build(folder, functions, [source]), functions)


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Stepper:
    return stepper(tmp_path_factory.mktemp("loop"), "model_loop")


@X86_64
@pytest.mark.parametrize(("size", "turns"), [(1, 1), (8, 1), (9, 2), (80, 10)])
def test_path_has_the_instructions_of_a_call(loop: Stepper, size: int, turns: int) -> None:
    [path] = loop.paths([Call("model_loop", "sum", size)])
    shown = [one.text.split()[0] for one in path]
    assert shown == ["vpaddd", "sub", "ja"] * turns + ["ret"]


@X86_64
def test_path_into_another_function_is_refused(loop: Stepper, tmp_path: Path) -> None:
    stepping = stepper(tmp_path, "model_leaves")
    stepping.skipped = loop.skipped
    with pytest.raises(PathError, match="of a function that was not named"):
        stepping.paths([Call("model_leaves", "sum", 8)])


@X86_64
def test_a_function_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(PathError, match="no function model_none"):
        stepper(tmp_path, "model_none")


def test_a_listing_has_instructions_without_comments_and_targets() -> None:
    text = """
0000000000401000 <one>:
  401000:\tf3 0f 1e fa          \tendbr64
  401004:\t48 8d 05 00 00 00 00 \tlea    0x95(%rip),%rax        # 40 <x>
  40100b:\t0f 87 01 00 00 00    \tja     401012 <one+0x12>
  401011:\t2e 2e 48 03 17       \tcs cs add (%rdi),%rdx
"""
    code = parse_listing(text).functions[0x401000]
    assert code[0x401004] == Instruction("lea    0x95(%rip),%rax", 7)
    assert code[0x40100B] == Instruction("ja somewhere", 6)
    assert code[0x401011] == Instruction("add (%rdi),%rdx", 5)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("adc    0x8(%rdi),%rdx", ["mov 0x8(%rdi), %r13", "adc %r13, %rdx"]),
        ("add    (%rdi),%edx", ["mov (%rdi), %r13d", "add %r13d, %edx"]),
        (
            "vpxor  0x20(%rdi),%ymm14,%ymm9",
            ["vmovdqu 0x20(%rdi), %ymm5", "vpxor %ymm5, %ymm14,%ymm9"],
        ),
        ("mov    (%rdi),%rax", ["mov    (%rdi),%rax"]),
        ("vmovdqu (%rdi),%ymm0", ["vmovdqu (%rdi),%ymm0"]),
        ("add    %rax,(%rdi)", ["add    %rax,(%rdi)"]),
        ("vbroadcasti128 (%rax,%rcx,1),%ymm9", ["vbroadcasti128 (%rax,%rcx,1),%ymm9"]),
    ],
)
def test_load_is_split_from_its_operation(text: str, parts: list[str]) -> None:
    assert mca.split(text, 5) == parts


@pytest.mark.parametrize(
    ("text", "cleared"),
    [
        ("xor    %ecx,%ecx", "mov $0, %ecx"),
        ("xor    %ecx,%edx", "xor    %ecx,%edx"),
        ("vpxor  %xmm1,%xmm1,%xmm1", "vpxor %xmm5, %xmm5, %xmm1"),
        ("vpxor  %ymm1,%ymm1,%ymm2", "vpxor  %ymm1,%ymm1,%ymm2"),
        ("vpaddd %ymm1,%ymm1,%ymm1", "vpaddd %ymm1,%ymm1,%ymm1"),
    ],
)
def test_a_cleared_register_does_not_wait(text: str, cleared: str) -> None:
    assert mca.clear(text, 5) == cleared


def region(*texts: str, waits: bool = False) -> mca.Region:
    path = tuple(Instruction(text, 4) for text in ("endbr64", *texts, "ret"))
    return mca.Region(Call("some", "sum", 24), waits, path)


def test_region_begins_with_arguments_and_has_no_return() -> None:
    lines = region("adc (%rdi),%rdx").assembly(CPU).splitlines()
    assert "movl $24, %esi" in lines and lines[-2:] == ["nop", "adc (%rdi),%rdx"]
    assert region("adc (%rdi),%rdx").assembly(SERIAL).splitlines()[-1] == "adc %r13, %rdx"


@pytest.mark.skipif(not mca.find_programs(), reason="no llvm-mca")
def test_a_chain_takes_its_latency_and_a_call_that_waits_more() -> None:
    program = max(mca.find_programs().items())[1]
    chain = region(*["imul %rdx,%rdx"] * 10)
    found = mca.cycles(program, CPU, [chain, region("mov (%rdi),%eax", waits=True)])
    cycles = list(found.values())
    assert cycles[0] == pytest.approx(10, abs=1), "calls overlap: one multiplication a cycle"
    assert cycles[1] >= 6, "a load, and what the next address waits for"


@pytest.mark.skipif(not mca.find_programs(), reason="no llvm-mca")
def test_instruction_unknown_to_a_model_is_an_error() -> None:
    with pytest.raises(mca.ModelError):
        mca.cycles(max(mca.find_programs().items())[1], CPU, [region("nosuch %rax")])


LIBRARY = Path(os.environ.get("CARRY_TOOL", SOURCE / "build/tools/carry/carry")).parents[2]
ARCHIVE = LIBRARY / "src/libcarry.a"
COMMANDS = LIBRARY / "compile_commands.json"
IS_OF_GCC = COMMANDS.is_file() and "clang" not in json.loads(COMMANDS.read_text())[0]["command"]


@X86_64
@pytest.mark.skipif(not ARCHIVE.is_file(), reason="the library was not built as an archive")
@pytest.mark.skipif(not IS_OF_GCC, reason="the record is of GCC, whose assembler pads otherwise")
def test_paths_of_a_kernel_have_as_many_instructions_as_callgrind_counts(tmp_path: Path) -> None:
    """The recorded counts also include carry_sum(), which jumps to the kernel."""
    record = (SOURCE / "bench/instructions/counts.txt").read_text()
    counts = {
        int(size): int(count)
        for size, count in re.findall(r"^sum +(\d+) +adc +(\d+)", record, re.M)
    }
    stepping = Stepper(build(tmp_path, ["carry_sum_adc"], [ARCHIVE]), ["carry_sum_adc"])
    paths = stepping.paths([Call("carry_sum_adc", "sum", size) for size in counts])
    assert counts and [len(path) + 2 for path in paths] == list(counts.values())


# --- AArch64 ---

ARM = mca.Cpu("neoverse-n1", "an Arm CPU", 17, frozenset({"pmull"}), arch="aarch64")
EMULATES = pytest.mark.skipif(
    not shutil.which(emulated.QEMU) or not shutil.which(f"{emulated.CROSS}gcc"),
    reason="no cross compiler for AArch64, or no emulator (gcc-aarch64-linux-gnu, qemu-user)",
)
# model_loop counts by the size of a vector, in bytes, until the count reaches x1; model_jump jumps
# to model_loop.
ARM_LOOP = """
    .arch armv8.2-a+sve
    .globl model_loop
    .type model_loop, %function
model_loop:
    mov x2, #0
1:  incb x2
    cmp x2, x1
    b.lo 1b
    ret
    .size model_loop, . - model_loop
    .globl model_jump
    .type model_jump, %function
model_jump:
    b model_loop
    .size model_jump, . - model_jump
    .section .note.GNU-stack, "", %progbits
"""


def emulator(folder: Path, bits: int) -> emulated.Emulator:
    source = folder / "loop.S"
    source.write_text(ARM_LOOP)
    program = emulated.build(folder, ["model_loop", "model_jump"], [source])
    return emulated.Emulator(program, bits)


@EMULATES
@pytest.mark.parametrize("bits", [128, 256, 2048])
def test_an_emulated_path_has_vectors_of_that_length(tmp_path: Path, bits: int) -> None:
    calls = [Call("model_loop", "sum", 512), Call("model_jump", "sum", 1)]
    long, short = emulator(tmp_path, bits).paths(calls, ["model_loop", "model_jump"])
    loop = ["incb x2", "cmp x2, x1", "b.cc somewhere"]
    turns = 512 * 8 // bits
    names = [re.sub(r"b\.(cc|lo)\b", "b.cc", one.text.split(" //")[0]) for one in long]
    assert names == ["mov x2, #0x0", *loop * turns, "ret"]
    assert short[0].text == "b somewhere"
    assert len(short) == 1 + 1 + 3 + 1


@EMULATES
def test_an_emulated_function_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(PathError, match="no function model_none"):
        emulator(tmp_path, 128).paths([], ["model_none"])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("b.ne\t400abc <one+0x1c>  // b.any", "b.ne somewhere"),
        ("bl\t400644 <other>", "bl somewhere"),
        ("tbz\tx1, #3, 400abc <one+0x1c>", "tbz x1, #3, somewhere"),
        ("cbnz\tx1, 400abc <one+0x1c>", "cbnz x1, somewhere"),
        ("adrp\tx16, 4a0000 <table>", "adrp x16, somewhere"),
        ("mov\tw8, #0xbeef                \t// #48879", "mov w8, #0xbeef"),
        ("ldp\tq7, q6, [x3]", "ldp q7, q6, [x3]"),
    ],
)
def test_instructions_are_shown_without_comments_and_targets(text: str, shown: str) -> None:
    assert emulated.clean_instruction(text) == shown


def test_aarch64_call_has_arguments_in_registers() -> None:
    one = mca.Region(Call("f", "sum", 20), True, (Instruction("ret", 4), Instruction("nop", 4)))
    lines = one.assembly(ARM).split("\n")
    assert lines == [*mca.ARM_SUM[:1], "mov x1, #20", "mov w2, #0", "nop", *mca.WAIT["aarch64"]]


# --- The tables ---

ONE = Function("one", "one", frozenset())
TWO = Function("two", "two", frozenset())


def test_minimum_is_bold_and_missing_value_a_dash() -> None:
    figures = {
        (CPU, ONE, 8): (4.0, 12.0),
        (CPU, TWO, 8): (5.0, 11.0),
        (CPU, ONE, 1500): (50.0, 70.0),
    }
    lines = list(table.table_lines(figures))
    assert lines[0] == "| CPU | function | 8 | 1,500 |"
    assert lines[2] == "| some CPU | one | **4.0** / 12 | **50** / **70** |"
    assert lines[3] == "|  | two | 5.0 / **11** | - |"


def test_a_measurement_is_shown_in_cycles_beside_the_models_share() -> None:
    row = {"cpu": "C", "model": CPU.name, "where": "there", "sizes": [8, 64], "ghz": [2.0, 1.0]}
    lines = list(
        table.measured_lines({(CPU, ONE, 8): (5.0, 9.0)}, [row | {"ns": {"one": [5, 20]}}])
    )
    assert lines[2] == "| C | one | 10 (0.50) | 20 |"
    assert lines[-1] == "- C, by the model of skylake-avx512: there."


def test_rows_of_measurements_are_complete() -> None:
    models = {cpu.name for cpu in mca.CPUS}
    for row in table.read_measured():
        assert row["model"] in models
        figures = [row["ghz"], *row["ns"].values()]
        assert all(len(column) == len(row["sizes"]) for column in figures)


def test_document_keeps_text_around_tables() -> None:
    text = (SOURCE / "docs/models.md").read_text()
    made = table.rewrite(text, ["new"])
    before, _, behind = made.partition("\n\nnew\n\n".lstrip("\n"))
    assert text.startswith(before.rstrip("\n")) and text.endswith(behind)
    assert table.rewrite(made, ["new"]) == made


def test_each_architecture_has_its_part_of_the_document() -> None:
    text = (SOURCE / "docs/models.md").read_text()
    both = table.rewrite(table.rewrite(text, ["one"]), ["two"], table.ARM_BEGIN)
    assert both.index("\none\n") < both.index(table.ARM_BEGIN) < both.index("\ntwo\n")
    assert table.rewrite(both, ["one"]) == both


def test_instructions_are_counted_by_length_of_vectors() -> None:
    lines = list(table.count_lines({(128, ONE, 64): 1041, (256, ONE, 64): 41}))
    assert lines[2:] == ["| 128 bits | one | 1,041 |", "| 256 bits | one | 41 |"]


def test_packages_contain_required_programs() -> None:
    rows = (SOURCE / "scripts/packages.txt").read_text().splitlines()
    commands = [row.split()[2] for row in rows if row.startswith("models ")]
    assert any(command.startswith("llvm-mca-") for command in commands)
