# SPDX-License-Identifier: MIT
"""examples/audit.c, an auditor of the dynamic linker, preserves vector arguments and clean upper
halves."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

import pytest
from carry_tool import SOURCE

BUILD = Path(os.environ.get("CARRY_BUILD", SOURCE / "build"))
AUDITOR = BUILD / "examples/libcarry-audit.so"

pytestmark = pytest.mark.skipif(not AUDITOR.is_file(), reason=f"{AUDITOR} was not built")

# Functions whose arguments fill all registers for arguments (8 vectors of 512 bits), and the stack.
LIBRARY = """
#include <immintrin.h>
typedef __m512d V;
V combine(V a, V b, V c, V d, V e, V f, V g, V h);
V combine(V a, V b, V c, V d, V e, V f, V g, V h) {
    const V w = _mm512_set_pd(8, 7, 6, 5, 4, 3, 2, 1);
    V sum = _mm512_add_pd(_mm512_add_pd(a, _mm512_mul_pd(b, w)), _mm512_sub_pd(c, d));
    return _mm512_add_pd(sum, _mm512_sub_pd(_mm512_mul_pd(e, f), _mm512_mul_pd(g, h)));
}
long many(long a, long b, long c, long d, long e, long f, long g, long h, double x);
long many(long a, long b, long c, long d, long e, long f, long g, long h, double x) {
#ifdef LEAVES_DIRTY
    __asm__ volatile("vpternlogd $255, %%zmm15, %%zmm15, %%zmm15" : : : "xmm15");
#endif
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + (long)x;
}
"""

# Only this code makes upper halves dirty, and it cleans them before each call of many().
PROGRAM = """
#include <immintrin.h>
#include <stdio.h>
#include <string.h>
typedef __m512d V;
V combine(V a, V b, V c, V d, V e, V f, V g, V h);
long many(long a, long b, long c, long d, long e, long f, long g, long h, double x);
static unsigned in_use(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return low & (4 | 64);
}
static int wrong(double first) {
    double in[8][8], out[8];
    for (int i = 0; i < 64; i++)
        in[i / 8][i % 8] = first + i * 1.5;
    V v[8];
    for (int i = 0; i < 8; i++)
        v[i] = _mm512_loadu_pd(in[i]);
    _mm512_storeu_pd(out, combine(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]));
    for (int i = 0; i < 8; i++)
        if (out[i] != in[0][i] + in[1][i] * (i + 1) + (in[2][i] - in[3][i]) +
                          (in[4][i] * in[5][i] - in[6][i] * in[7][i]))
            return 1;
    return 0;
}
int main(void) {
    int bad = 0, dirty = 0;
    for (int i = 0; i < 100; i++) {
        bad += wrong(i);
        _mm256_zeroupper();
        bad += many(1, 2, 3, 4, 5, 6, 7, 8, 9.5) != 213;
        dirty += in_use() != 0;
    }
    printf("%d wrong, %d dirty\\n", bad, dirty);
    return bad || dirty;
}
"""


def needs(*features: str) -> None:
    flags = Path("/proc/cpuinfo").read_text() if platform.machine() == "x86_64" else ""
    missing = [one for one in features if not re.search(rf"^flags\b.* {one}\b", flags, re.M)]
    if missing:
        pytest.skip(f"this CPU has no {missing[0]}")


def run(program: str | Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "LD_AUDIT": str(AUDITOR)}
    command = [str(program), *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)


def compile_auditor_program(folder: Path, *options: str) -> Path:
    (folder / "library.c").write_text(LIBRARY)
    (folder / "program.c").write_text(PROGRAM)
    compiler = ["gcc", "-O1", "-mavx512f", *options]
    library = ["-shared", "-fPIC", "-o", "libwide.so", "library.c"]
    subprocess.run([*compiler, *library], cwd=folder, check=True)
    program = ["-o", "program", "program.c", "-L.", "-lwide", "-Wl,-rpath,$ORIGIN"]
    subprocess.run([*compiler, *program], cwd=folder, check=True)
    return folder / "program"


@pytest.mark.parametrize("binding", ["lazy", "now"])
def test_vector_arguments_and_clean_halves_are_preserved(binding: str, tmp_path: Path) -> None:
    """The program calls combine() with dirty upper halves; the auditor finds clean ones."""
    needs("avx512f", "xgetbv1")
    done = run(compile_auditor_program(tmp_path, f"-Wl,-z,{binding}"))
    assert (done.returncode, done.stdout) == (0, "0 wrong, 0 dirty\n"), done.stderr
    for function in ("combine", "many"):
        assert re.search(rf"^ +100 calls, 0 dirty: {function}$", done.stderr, re.M), done.stderr


def test_dirty_upper_halves_are_detected(tmp_path: Path) -> None:
    needs("avx512f", "xgetbv1")
    done = run(compile_auditor_program(tmp_path, "-DLEAVES_DIRTY"))
    assert (done.returncode, done.stdout) == (1, "0 wrong, 100 dirty\n"), done.stderr


def test_auditor_does_not_change_a_program() -> None:
    """Output and status do not change, and calls are counted though the program closes its
    files."""
    plain = subprocess.run(["ls", "-d", "/"], capture_output=True, text=True, timeout=60)
    done = run("ls", "-d", "/")
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    assert re.search(r"^ +[1-9]\d* calls, 0 dirty: \w+$", done.stderr, re.M)
