# SPDX-License-Identifier: MIT
"""Compares each meaning of an instruction with the CPU, with random and extreme operands.

The instructions are some of each form in the kernels, and the instructions listed below.
CARRY_TEST_LEVEL determines the number of trials of each; every run repeats the same trials.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import random
import re
from pathlib import Path

import pytest

pytest.importorskip("elftools", reason="python3-pyelftools is not installed")
from bochs import Bochs
from meanings import (
    MEANINGS,
    RSP,
    VECTORS,
    Cpu,
    Image,
    Instruction,
    Machine,
    Memory,
    Trial,
    Unproven,
    Words,
    decode,
    digest,
    needs,
)

TRIALS = {"short": 4, "medium": 10, "long": 500}[os.environ.get("CARRY_TEST_LEVEL", "medium")]
LIBRARY = Path(os.environ["CARRY_BUILD"]) / "src/libcarry.so"
if platform.machine() != "x86_64":
    pytest.skip("the meanings are those of x86-64", allow_module_level=True)

CONDITIONS = ("a", "ae", "b", "be", "e", "ne", "l", "le", "g", "ge", "s", "ns")
# Instructions that set flags, each followed by a move under each condition; jumps use the same
# conditions.
SETTERS = ("cmp rax, rcx", "cmp eax, ecx", "sub rax, rcx", "cmp al, cl", "neg rax", "neg ecx")
AFTER_SUMS = ("add rax, rcx", "add eax, ecx", "dec rax", "inc eax", "test rax, rax", "and rax, rax")
SIGNED = {"l", "le", "g", "ge"}
CARRIES = {"a", "ae", "b", "be"}  # increments and decrements leave the carry

MORE = """
add al, cl; add ax, cx; add QWORD PTR [rdi], rax; add DWORD PTR [rdi + 4], 7; add ah, cl
adc al, cl; adc cx, 0; adc QWORD PTR [rdi], rax; adc eax, 0xffffffff
sub al, cl; sub ax, cx; sub ecx, DWORD PTR [rdi]; cmp ax, 0x1234; cmp QWORD PTR [rdi], rcx
neg al; neg cx; dec rax; dec cl; inc rcx; inc eax; inc ax; not rax; not ecx; not cl
imul eax, ecx, 0x18; imul rax, rcx, -1; imul rcx, QWORD PTR [rdi], 7; imul ax, cx, 3
and al, 0xf; and ax, 0xff00; and eax, 0xffff; and rax, -8; and rax, 0x3f; and ecx, 0xfffffff0
or eax, 0xff; or rax, -11; or rcx, -16; or ecx, 0; or ecx, 0xfffffff5; or al, cl
xor rax, rcx; xor eax, 0xffffffff; xor rax, rax; xor cx, cx; xor ax, 0x8000; test eax, ecx
or rax, rax; and ecx, ecx; test al, 1; test rax, rcx; test QWORD PTR [rdi], rax
bt rax, 40; bt ecx, 31
shl al, 1; shl ax, 9; shl ax, cl; shl al, cl; shr al, cl; shr ax, 8; shr rax, cl; shl eax, cl
rol ax, 8; rol al, 3; rol rax, 16; rol ecx, 8; rol eax, 1; shl rax, 32; shr ecx, 31; shr ax, cl
rol ax, cl; rol al, cl; shl eax, 8; shr eax, 16; shr ah, 4
shlx eax, ecx, edx; shlx rax, QWORD PTR [rdi], rcx; rorx eax, ecx, 8; rorx rax, QWORD PTR [rdi], 9
bzhi eax, ecx, edx; bzhi rax, QWORD PTR [rdi], rcx
mov al, cl; mov ah, cl; mov cl, ah; mov ax, cx; mov rax, -1; mov QWORD PTR [rdi], -2; mov cx, 0xffff
mov BYTE PTR [rdi], 0x80; mov spl, al; mov sil, dil; movabs rax, 0x123456789abcdef0
movzx ax, cl; movzx eax, cx; movzx rax, cl; movzx rax, WORD PTR [rdi]; movzx eax, ah
movsx rax, cl; movsx eax, WORD PTR [rdi]; movsxd rax, ecx; movsx ax, cl; movsx rax, WORD PTR [rdi]
sbb al, cl; sbb rax, rax; vpternlogd zmm5{k1}{z}, zmm5, zmm5, 255; cmp rax, rcx | seta [rdi]
xchg rax, rcx; xchg eax, ecx; xchg al, cl; xchg ax, ax; .byte 0x87, 0xc0
lea rax, [rcx + rdx * 8 - 5]; lea eax, [rcx + rcx]; lea ax, [rcx + 1]; lea rax, [rip + 0x100]
lea rax, [rdx * 4 + 0x10]; lea eax, [rax + rcx + 5]; lea ecx, [rcx + rdx * 2 - 1]
movdqu xmm0, [rsi]; movdqu [rdi], xmm1; movups xmm0, [rsi]; movups [rdi], xmm2; movdqu xmm3, xmm4
movdqa xmm0, [rsi]; movdqa [rdi], xmm1; movaps xmm0, [rsi]; movaps [rdi], xmm1; movaps xmm3, xmm4
movntdq [rdi], xmm1; vmovdqu ymm0, ymm1; vmovdqu xmm0, xmm1; vmovdqu64 zmm0, zmm1
vmovdqu64 ymm17, [rsi]; vmovdqu8 zmm0, [rsi]; vmovdqu8 [rdi], zmm3
movq xmm0, rax; movq rax, xmm0; movq xmm0, [rdi]; movq [rdi], xmm1; movq xmm1, xmm2
movd xmm0, eax; movd eax, xmm0; movd xmm0, DWORD PTR [rdi]; movd DWORD PTR [rdi], xmm1
vmovq xmm0, rax; vmovd xmm0, eax; vmovd eax, xmm0; vmovq xmm0, xmm1; vmovq xmm0, [rdi]
vpextrq rax, xmm0, 0; vpextrq [rdi], xmm0, 1; vextracti128 xmm0, ymm1, 0
vbroadcasti128 ymm0, [rsi]; vpbroadcastd ymm0, xmm1; vpbroadcastd xmm0, DWORD PTR [rsi]
pxor xmm0, xmm0; pxor xmm0, xmm1; paddq xmm0, xmm1; psrldq xmm0, 8; psrldq xmm1, 3; psrldq xmm1, 16
vpaddd ymm0, ymm1, [rsi]; vpsubq xmm0, xmm1, xmm2; vpaddq ymm1, ymm2, [rsi]
vpmaddwd xmm0, xmm1, xmm2; vpmaddwd ymm0, ymm1, [rsi]
vpsrlw ymm0, ymm1, 8; vpsrlw ymm0, ymm1, 16; vpsllw ymm0, ymm1, 3; vpsllw ymm0, ymm1, 17
vpsrld ymm0, ymm1, 31; vpsrld ymm0, ymm1, 8; vpsllq ymm0, ymm1, 5; vpsrlq ymm0, ymm1, 63
vpsllq xmm0, xmm1, 32; vpsrlq xmm0, xmm1, 7; vpshufb xmm0, xmm1, xmm2; vpshufb ymm0, ymm1, [rsi]
vpsrldq xmm0, xmm1, 8; vpsrldq xmm1, xmm1, 3; vpsrldq xmm0, xmm1, 16
vpaddb zmm0{k1}, zmm0, [rsi]; vpaddb ymm0{k1}, ymm0, [rsi]
vpcmpeqd xmm0, xmm1, xmm1; vpxor xmm0, xmm1, xmm2; vpand xmm0, xmm1, xmm2; vpand ymm3, ymm3, ymm3
punpckldq xmm0, xmm1; punpckhdq xmm0, xmm1; punpcklqdq xmm0, xmm1; punpckhdq xmm2, xmm2
shufps xmm0, xmm1, 0x88; shufps xmm0, xmm1, 0xdd; shufps xmm2, xmm2, 0x1b
vmovq rax, xmm3 | vzeroupper | vpaddq ymm0, ymm0, ymm1
bswap rax; bswap ecx; crc32 rax, rcx; crc32 eax, cl; crc32 eax, DWORD PTR [rdi]; crc32 rax, cl
crc32 rax, QWORD PTR [rdi]; pclmulqdq xmm0, xmm1, 0; pclmulqdq xmm0, xmm1, 0x11
pclmulqdq xmm0, xmm1, 1; pclmulqdq xmm0, xmm1, 0x10
rep movsb; prefetcht0 [rsi + 64]; sfence; nop; endbr64
push rax | pop rcx; push rax | push rcx | pop rax; push rsp | pop rax; push -1 | pop rax
cmova rax, QWORD PTR [rdi]
""".replace("\n", ";")

# Random chains consist of these instructions. If no bits are lost, carries follow from bounds.
SUMS = """
add rax, QWORD PTR [rdi]; adc rax, QWORD PTR [rdi + 8]; adc rdx, QWORD PTR [rdi + 16]
adc rax, 0; adc rax, rdx; add rax, rdx; mov edx, eax; shr rax, 32; add eax, edx; adc eax, 0
rol rax, 32; rol rax, 8; rol eax, 16; mov rdx, rax; movzx edx, WORD PTR [rdi + 24]; adc edx, 0
rorx rdx, rax, 32; add edx, edx; mov eax, DWORD PTR [rdi + 28]; mov eax, eax; adc edx, eax
""".replace("\n", ";")
VECTOR_SUMS = """
vpxor ymm0, ymm14, [rdi]; vpmaddwd ymm0, ymm0, ymm15; vpaddd ymm1, ymm1, ymm0
vpaddq ymm1, ymm1, ymm2; vpsrlq ymm2, ymm1, 32; vpaddd ymm0, ymm0, ymm2; vpsubq ymm1, ymm1, ymm0
vpmaddwd ymm2, ymm1, ymm15; vpsrld ymm0, ymm1, 16; vmovdqu ymm2, [rdi + 32]; vpxor ymm1, ymm14, ymm1
vextracti128 xmm2, ymm1, 1; vpaddq xmm1, xmm1, xmm2; vpsllq ymm2, ymm1, 32; vpsrlw ymm0, ymm1, 8
""".replace("\n", ";")
KNOWN_WORDS = {14: 0x8000, 15: 1}

# Instructions that the prover must refuse, because it would give them a wrong meaning.
REFUSED = """
mov eax, DWORD PTR [esi]; lea rax, [esi + 4]; mov rax, fs:[0x28]; rep movsq; rep stosb
std; ldmxcsr [rsi]; stmxcsr [rdi]; fldcw [rsi]; movd mm0, eax
vmovdqu64 zmm0{k1}{z}, [rsi]; vmovdqu64 [rdi]{k1}, zmm0; vpaddd zmm0{k1}, zmm1, zmm2
vpternlogd zmm5{k1}, zmm5, zmm5, 255; vpternlogd zmm5, zmm5, zmm5, 0x96
vpaddb zmm0, zmm0, [rsi]; vpaddb zmm0{k1}{z}, zmm0, [rsi]; vpaddb zmm0{k1}, zmm1, zmm2
vpcmpeqd k1{k2}, zmm1, zmm1; vpaddd zmm0, zmm1, DWORD PTR [rsi]{1to16}; vmovdqu8 zmm0{k1}, [rsi]
vpbroadcastd zmm0{k1}{z}, eax; vpsrlq ymm0, ymm1, xmm2; imul rax, rcx; vpcmpeqd ymm0, ymm1, ymm2
""".replace("\n", ";")


def programs(text: str) -> list[list[str]]:
    """Splits a text into programs of one or more instructions."""
    found = [p.strip() for p in text.split(";") if p.strip()]
    return [[i.strip() for i in p.split("|")] for p in found]


def all_programs() -> list[list[str]]:
    found = programs(MORE)
    for condition in CONDITIONS:
        setters = [*SETTERS, *(AFTER_SUMS if condition not in SIGNED else ())]
        if condition in CARRIES:
            setters = [s for s in setters if not s.startswith(("dec", "inc"))]
        found += [[s, f"cmov{condition} rdx, rbx"] for s in setters]
        found += [[s, f"set{condition} dl"] for s in setters]
        found.append([SETTERS[0], f"cmov{condition} edx, ebx"])
    found += [[s, "sbb rdx, rbx"] for s in (*SETTERS[:4], *AFTER_SUMS[:2])]
    found += [["add al, cl", "setb al"], ["add rdx, QWORD PTR [rdi]", "setb bl"]]
    found += [
        [s, "adc rdx, rbx"] for s in (*SETTERS[:4], *AFTER_SUMS, "bt rax, 3", "bzhi rax, rax, rcx")
    ]
    return found


def form(i: Instruction) -> tuple[object, ...]:
    """Returns the form; instructions of the same form differ only in registers and numbers."""
    d = decode(i)
    kinds = [
        (type(o).__name__, getattr(o, "width", 0), getattr(o, "mask", None) is not None)
        for o in d.operands
    ]
    return (
        d.name,
        *kinds,
        len(d.operands) > 1 and d.operands[-1] == d.operands[-2],
        "{vex}" in i.text,
    )


def of_kernels() -> list[Instruction]:
    """Returns some instructions of each form in the kernels."""
    image = Image(LIBRARY)
    forms: dict[tuple[object, ...], dict[bytes, Instruction]] = {}
    for name in digest.functions("x86_64"):
        if name in image.functions:
            for i in image.instructions(name).values():
                d = decode(i)
                on_stack = any(isinstance(o, Memory) and o.base == RSP for o in d.operands)
                if d.name in MEANINGS and d.name not in ("push", "pop") and not on_stack:
                    forms.setdefault(form(i), {})[i.code] = i
    chosen = random.Random(1)
    return [i for f in forms.values() for i in chosen.sample(list(f.values()), min(4, len(f)))]


@pytest.fixture(scope="module")
def cpu(tmp_path_factory: pytest.TempPathFactory) -> Cpu:
    texts = [i for t in (SUMS, VECTOR_SUMS, REFUSED) for p in programs(t) for i in p]
    texts = [i for p in all_programs() for i in p] + texts
    return Cpu(tmp_path_factory.mktemp("meanings"), texts)


@functools.cache
def instructions(cpu: Machine) -> dict[str, list[list[Instruction]]]:
    """Returns programs by the names of the instructions that they contain, and by their pool."""
    found: dict[str, list[list[Instruction]]] = {}
    for i in of_kernels():
        if not loads_constant(i):
            found.setdefault(decode(i).name, []).append([i])
    more = iter(cpu.more)
    for texts in all_programs():
        program = [next(more) for _ in texts]
        for name in {decode(i).name for i in program}:
            found.setdefault(name, []).append(program)
    for name in (SUMS, VECTOR_SUMS, REFUSED):
        found[name] = [[next(more)] for _ in programs(name)]
    return found


def loads_constant(i: Instruction) -> bool:
    """Returns whether an instruction loads from an address without a register. A trial cannot place
    that address; the programs of this file load the same from addresses in registers."""
    d = decode(i)
    return d.name != "lea" and any(
        isinstance(o, Memory) and o.base is None and o.index is None for o in d.operands
    )


def shown(program: list[Instruction]) -> str:
    return "; ".join(re.sub(r"\s+", " ", i.text) for i in program)


def run(cpu: Cpu, program: list[Instruction]) -> str | None:
    """Runs TRIALS trials of one program, or more until one has a meaning, within a limit. Returns
    why none had a meaning, or None if one had."""
    reason = None
    had_meaning = 0
    for n in range(20 * TRIALS):
        if n >= TRIALS and had_meaning:
            break
        try:
            trial = Trial(cpu, program, random.Random(f"{shown(program)} {n}"))
            trial.execute()
            trial.judge(*cpu.run(trial))
        except Unproven as error:
            reason = str(error)
            continue
        had_meaning += 1
    return None if had_meaning else reason


@pytest.mark.parametrize("name", sorted(MEANINGS))
def test_meaning_is_what_the_cpu_does(cpu: Cpu, name: str) -> None:
    found = instructions(cpu).get(name, [])
    assert found, "no instruction tries this meaning"
    missing: set[str] = set()
    tried = 0
    for program in found:
        lacks = {f for i in program for f in needs(i)} - cpu.features
        if lacks:
            missing |= lacks
            continue
        reason = run(cpu, program)
        assert reason is None, f"{shown(program)}: in no trial has it a meaning: {reason}"
        tried += 1
    if not tried:
        pytest.skip(f"this CPU lacks {', '.join(sorted(missing))} (Bochs runs AVX-512's)")


@pytest.mark.parametrize("pool", [SUMS, VECTOR_SUMS], ids=["general", "vectors"])
def test_chains_are_what_the_cpu_does(cpu: Cpu, pool: str) -> None:
    """Chains of instructions have the CPU's results; no number in them exceeds its bounds."""
    single = [p[0] for p in instructions(cpu)[pool]]
    if {f for i in single for f in needs(i)} - cpu.features:
        pytest.skip("this CPU lacks avx2 or bmi2")
    compared = {True: 0, False: 0}  # numbers of trials with atoms of the type Words, and without
    for n in range(20 * TRIALS):
        chosen = random.Random(n)
        trial = Trial(cpu, chosen.choices(single, k=chosen.randrange(2, 16)), chosen, KNOWN_WORDS)
        try:
            trial.execute()
            trial.judge(*cpu.run(trial))
        except Unproven:
            continue
        compared[isinstance(trial.atoms, Words)] += 1
    assert compared[False] > 2 * TRIALS and compared[True] > TRIALS / 2, compared


def is_decoded(program: list[Instruction]) -> bool:
    try:
        return all(decode(i) for i in program)
    except Unproven:
        return False


def test_no_meaning_is_taken_for_another(cpu: Cpu) -> None:
    for program in filter(is_decoded, instructions(cpu)[REFUSED]):
        for n in range(10):
            trial = Trial(cpu, program, random.Random(n))
            with pytest.raises(Unproven):
                trial.execute()


def is_wide(program: list[Instruction]) -> bool:
    return any(f.startswith("avx512") for i in program for f in needs(i))


def trials_of(bochs: Bochs, program: list[Instruction]) -> list[Trial]:
    """Returns trials of a program: only two if other CPUs can execute it too, because all trials
    must fit on the emulated disk."""
    found = []
    for n in range(min(TRIALS, 10) if is_wide(program) else 2):
        with contextlib.suppress(Unproven):
            trial = Trial(bochs, program, random.Random(f"{shown(program)} {n}"))
            trial.execute()
            found.append(trial)
    return found


def trials_of_all(bochs: Bochs) -> list[tuple[str, Trial]]:
    """Returns the trials with the names of their meanings."""
    return [
        (name, trial)
        for name, found in instructions(bochs).items()
        for program in found
        if name in MEANINGS and not {f for i in program for f in needs(i)} - bochs.features
        for trial in trials_of(bochs, program)
    ]


def test_meanings_are_what_a_cpu_with_avx512_does(cpu: Cpu, tmp_path: Path) -> None:
    """All trials run in one boot of the CPU. Results with a changed bit in the first vector are
    refused."""
    bochs = Bochs(cpu.more)
    trials = trials_of_all(bochs)
    judged: dict[str, int] = {}
    results = bochs.run_all([trial for _, trial in trials], tmp_path)
    for (name, trial), (block, memory) in zip(trials, results, strict=True):
        with contextlib.suppress(Unproven):
            trial.judge(block, memory)
            judged[name] = judged.get(name, 0) + is_wide(trial.program)
            with pytest.raises(AssertionError):
                trial.judge(
                    block[:VECTORS] + bytes([block[VECTORS] ^ 1]) + block[VECTORS + 1 :], memory
                )
    for name, trial in trials:
        assert judged.get(name) or not is_wide(trial.program), (
            f"{name}: in no trial has it a meaning"
        )
