# SPDX-License-Identifier: MIT
"""`carry xstate`: reports on registers that these tests control; times need only be plausible."""

from __future__ import annotations

import math
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from carry_tool import BAD, CLEAN, ERROR, HANGS, SOURCE, Run
from schemas import conforming

pytestmark = [
    pytest.mark.of_compilers,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="extended state is of x86-64"),
]


def parts() -> list[str]:
    table = (SOURCE / "tools/carry/xstate/parts.def").read_text()
    return re.findall(r"^CARRY_XSTATE_PART\((\w+)", table, re.MULTILINE)


def components() -> dict[int, str]:
    table = (SOURCE / "include/carry/components.def").read_text()
    rows = re.findall(r"^CARRY_COMPONENT\((\d+), (\w+)", table, re.MULTILINE)
    return {int(bit): name for bit, name in rows}


def show(carry: Run, *arguments: str, mask: str = "", status: int = CLEAN) -> dict[str, Any]:
    env = {**os.environ, "CARRY_CPU_MASK": mask}
    done = carry("xstate", *arguments, "--json", env=env)
    assert (done.returncode, done.stderr) == (status, "")
    return conforming(f"xstate_{arguments[0]}", done.stdout)


# --- All parts ---


def test_help_lists_the_parts(carry: Run) -> None:
    for arguments in (["xstate"], ["xstate", "--help"], ["help", "xstate"]):
        done = carry(*arguments)
        assert (done.returncode, done.stderr) == (CLEAN, "")
        assert all(re.search(rf"^  {part} ", done.stdout, re.MULTILINE) for part in parts())


@pytest.mark.parametrize("part", parts())
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_of_a_part(carry: Run, part: str, option: str) -> None:
    """The help of each part has usage, examples and exit status, in 80 columns."""
    done = carry("xstate", part, option)
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert done.stdout.startswith(f"Usage: carry xstate {part} ")
    assert "Examples:\n" in done.stdout and "Exit status" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize("part", parts())
def test_an_unknown_option(carry: Run, part: str) -> None:
    """An unknown option is refused in one line."""
    done = carry("xstate", part, "--nosuch")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr.startswith(f"carry xstate {part}: ") and done.stderr.count("\n") == 1


def test_an_unknown_part(carry: Run) -> None:
    """An unknown part is refused with a hint."""
    done = carry("xstate", "nosuch")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr == "carry xstate: no part 'nosuch'; see carry xstate --help\n"


# --- layout ---


def flags() -> set[str]:
    text = Path("/proc/cpuinfo").read_text()
    return set(re.search(r"^flags\s*: (.*)$", text, re.MULTILINE)[1].split())


def test_layout_is_that_of_the_system(carry: Run) -> None:
    shown = show(carry, "layout")
    known = flags()
    assert shown["features"]["xsavec"] == ("xsavec" in known)
    assert shown["features"]["xsaveopt"] == ("xsaveopt" in known)
    assert shown["features"]["xgetbv1"] == ("xgetbv1" in known)
    named = {row["name"]: row for row in shown["components"]}
    assert {row["bit"]: row["name"] for row in named.values()}.items() <= components().items()
    assert {"X87", "SSE"} <= named.keys()
    assert ("AVX" in named) == ("avx" in known)
    assert ("HI16_ZMM" in named) == ("avx512f" in known)


def test_layout_has_no_overlaps(carry: Run) -> None:
    shown = show(carry, "layout")
    for form in ("standard", "compact"):
        placed = [row for row in shown["components"] if row[form] is not None]
        placed.sort(key=lambda row: row[form])
        for row, after in pairwise(placed):
            assert row[form] + row["size"] <= after[form]
        last = placed[-1]
        assert last[form] + last["size"] <= shown[f"{form}_size"]
    for row in shown["components"]:
        assert (row["standard"] is None) == (row["compact"] is None) == row["supervisor"]


def test_layout_shows_components_that_the_library_saves(carry: Run) -> None:
    shown = show(carry, "layout")
    rows = {row["name"]: row for row in shown["components"]}
    assert sum(1 << row["bit"] for row in rows.values() if row["enabled"]) == shown["enabled"]
    assert sum(1 << row["bit"] for row in rows.values() if row["default"]) == shown["default"]
    assert not any(rows[name]["default"] for name in ("PKRU", "TILEDATA") if name in rows)


@pytest.mark.parametrize(("mask", "instruction"), [("xsavec", "XSAVE"), ("xsave", "FXSAVE")])
def test_layout_follows_the_mask(carry: Run, mask: str, instruction: str) -> None:
    before, after = show(carry, "layout"), show(carry, "layout", mask=mask)
    assert before["xcr0"] == after["xcr0"] and before["features"] == after["features"]
    assert after["saves_by"] == (instruction if "xsave" in flags() else "FXSAVE")
    assert after["enabled"] == (before["enabled"] if mask == "xsavec" else 3)


def test_layout_text_has_a_row_for_each_component(carry: Run) -> None:
    """The table has a row for each component, in 80 columns."""
    done = carry("xstate", "layout")
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\033" not in done.stdout
    for row in show(carry, "layout")["components"]:
        assert re.search(rf"^ +{row['bit']}  {row['name']} ", done.stdout, re.MULTILINE)


def test_layout_takes_no_argument(carry: Run) -> None:
    done = carry("xstate", "layout", "file")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert "unexpected argument 'file'" in done.stderr


# --- cost ---

# Replaces the code around xstate/aes.c.
AES_MAIN = """
#include "xstate/xstate_measure.h"
#include <carry/xstate.h>

bool xstate_grid_measure(struct xstate_grid *grid, struct bench_plan *plan,
                         const struct xstate_effort *effort) {
    return grid && plan && effort;
}
size_t xstate_uppers(void) { return 1; }
void carry_xstate_clean(enum carry_xstate_level level) { (void)level; }
int main(void) { return !xstate_aes_is_right(); }
"""

OPS = {"FXSAVE": None, "XSAVE": "xsave", "XSAVEC": "xsavec", "XRSTOR": "xsave", "XGETBV": "xgetbv1"}


def uppers(mask: str = "") -> list[str]:
    """Returns the states of upper halves on this CPU without the features that `mask` hides."""
    if "avx" not in flags() or mask in {"avx", "xsave", "all"}:
        return ["clean"]
    if "avx512f" not in flags() or mask == "avx512f":
        return ["clean", "ymm"]
    return ["clean", "ymm", "zmm"]


def is_time(value: float) -> bool:
    return math.isfinite(value) and 0 < value < 1e9


@pytest.mark.parametrize("mask", ["", "avx512f", "avx", "xsavec", "xsave"])
def test_cost_measures_components_of_the_cpu(carry: Run, mask: str) -> None:
    shown = show(carry, "cost", "--quick", mask=mask)
    states = uppers(mask)
    dirty = states[1:]
    assert [row["function"] for row in shown["libm"]] == ["exp", "sin", "pow"]
    for row in shown["libm"]:
        assert (list(row["ns"]), list(row["factor"])) == (states, dirty)
    cleaned = [name + suffix for name in dirty for suffix in ("", "_vzeroupper")]
    if "aes" in flags():
        assert [row["bytes"] for row in shown["aes_128_cbc"]] == [16, 64, 256, 1024, 8192]
        for row in shown["aes_128_cbc"]:
            assert (list(row["ns"]), list(row["factor"])) == (["clean", *cleaned], cleaned)
    else:
        assert shown["aes_128_cbc"] is None
    timed = [*shown["libm"], *(shown["aes_128_cbc"] or [])]
    assert all(map(is_time, [v for row in timed for v in [*row["ns"].values()]]))
    assert all(map(is_time, [v for row in timed for v in [*row["factor"].values()]]))
    assert [list(row["added_ns"]) for row in shown["transitions"]] == [dirty] * (6 * bool(dirty))
    added = [v for row in shown["transitions"] for v in row["added_ns"].values()]
    assert all(math.isfinite(value) for value in added)


def test_each_event_begins_with_clean_uppers() -> None:
    """The CPU sets dirty uppers aside when SSE code runs. A VEX instruction other than vzeroupper
    must come before each event; otherwise the event includes the restoration of uppers that the
    previous event left dirty."""
    with tempfile.TemporaryDirectory() as folder:
        made = f"{folder}/cost.o"
        source = SOURCE / "tools/carry/xstate/cost_x86_64.S"
        command = ["gcc", "-c", f"-I{SOURCE / 'tools/carry'}", "-o", made, str(source)]
        subprocess.run(command, check=True)
        command = ["objdump", "-d", "--no-show-raw-insn", made]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    shots = re.findall(r"<(xstate_shot_\w+)>:\n(.*?)\n\n", text + "\n", re.DOTALL)
    assert len(shots) == 7 * 3
    for name, body in shots:
        instructions = [line.split("\t")[1].split()[0] for line in body.splitlines()]
        vectors = [one for one in instructions if one.startswith("v") or one.endswith("ps")]
        assert (vectors[0][0], vectors[:2].index("vzeroupper")) == ("v", 1), name


def save_rows(mask: str) -> list[list[str]]:
    """Returns the components in use in the rows of the tables of saves and sections."""
    last = {"clean": 1, "ymm": 2, "zmm": 4}[uppers(mask)[-1]]
    all_vectors = ["SSE", "AVX", "OPMASK", "ZMM_HI256", "HI16_ZMM"]
    rows = [["SSE"], ["SSE", "AVX"], ["SSE", "OPMASK", "HI16_ZMM"], all_vectors]
    return [rows[place] for place in (0, 2, 1, 3) if place < last]


def save_features(mask: str) -> set[str]:
    """Returns the features for saving that this CPU has and `mask` does not hide."""
    has = {name for name in ("xsave", "xsavec", "xgetbv1") if name in flags()} - {mask}
    return has if "xsave" in has else set()


@pytest.mark.parametrize("mask", ["", "avx512f", "avx", "xsavec", "xsave"])
def test_cost_uses_save_instructions_of_the_cpu(carry: Run, mask: str) -> None:
    shown = show(carry, "cost", "--quick", mask=mask)
    has = save_features(mask)
    # Sanitizers use vector registers at the end of a function.
    if has and not os.environ.get("CARRY_SANITIZED"):
        assert [row["in_use"] for row in shown["saves"]] == save_rows(mask)
    for row in shown["saves"]:
        assert list(row["ns"]) == [op for op, need in OPS.items() if need is None or need in has]
        assert all(map(is_time, row["ns"].values()))


@pytest.mark.parametrize("mask", ["", "avx512f", "avx", "xsavec", "xsave"])
def test_cost_of_sections_that_save_components_in_use(carry: Run, mask: str) -> None:
    """A section saves the components that the thread has in use; x87 is initialised in every
    available way."""
    shown = show(carry, "cost", "--quick", mask=mask)
    has = save_features(mask)
    assert len(shown["sections"]) == len(shown["saves"]) == len(save_rows(mask))
    if has and not os.environ.get("CARRY_SANITIZED"):
        assert [row["in_use"] for row in shown["sections"]] == save_rows(mask)
    for row in shown["sections"]:
        assert list(row["ns"]) == ["again", "x87", "whole", "nested"]
        assert all(map(is_time, row["ns"].values()))
    with_xsave = ["FNINIT_XRSTOR", "XRSTOR"] if "xsave" in has else []
    assert list(shown["initial"]) == ["FNINIT", *with_xsave]
    assert all(map(is_time, shown["initial"].values()))


def test_cost_judges_by_its_measurements(carry: Run) -> None:
    shown = show(carry, "cost", "--quick")
    factors = [value for row in shown["libm"] for value in row["factor"].values()]
    assert shown["worst"] == pytest.approx(max([1, *factors]), rel=1e-4)
    if shown["aes_128_cbc"]:
        factors += shown["aes_128_cbc"][0]["factor"].values()
    # A factor of 1.25 may have been rounded up.
    assert shown["penalty"] == (max([1, *factors]) >= 1.25) or 1.25 in factors


@pytest.mark.parametrize("mask", ["", "avx512f", "avx"])
def test_cost_text_ends_with_a_verdict(carry: Run, mask: str) -> None:
    """The text ends with a verdict on the penalty of this CPU."""
    done = carry("xstate", "cost", "--quick", env={**os.environ, "CARRY_CPU_MASK": mask})
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert "\033" not in done.stdout
    verdict = done.stdout.split("\n\n")[-1]
    if len(uppers(mask)) == 1:
        assert verdict.startswith("This CPU has no AVX")
    else:
        assert re.match(r"This CPU has (a|no) penalty: .* \d+\.\d times as", verdict)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", ""),
        ("aesenc 144(%rdi)", "aesenc 128(%rdi)"),
        ("ROUND_KEY 0x1b", "ROUND_KEY 0x1a"),
        ("pxor %xmm1, %xmm0\n    pxor (%rdi)", "pxor (%rdi)"),
    ],
)
def test_wrong_aes_is_detected(text: str, wrong: str, tmp_path: Path) -> None:
    if "aes" not in flags():
        pytest.skip("this CPU has no AES instructions")
    tools = SOURCE / "tools/carry"
    assembly = (tools / "xstate/cost_x86_64.S").read_text()
    assert text in assembly
    (tmp_path / "aes.S").write_text(assembly.replace(text, wrong, 1))
    (tmp_path / "main.c").write_text(AES_MAIN)
    sources = [tmp_path / "aes.S", tmp_path / "main.c", tools / "xstate/aes.c"]
    include = [f"-I{tools}", f"-I{SOURCE / 'include'}"]
    command = ["gcc", "-O1", *include, "-o", tmp_path / "aes", *sources]
    subprocess.run([str(word) for word in command], check=True)
    assert subprocess.run([tmp_path / "aes"], check=False).returncode == bool(text)


# --- who ---

TIDS_SHOWN = 5

Dirty = Callable[..., subprocess.Popen[str]]

# The components in use after the helper has made the named registers dirty.
IN_USE = {
    "none": set(),
    "xmm": {"SSE"},
    "ymm": {"SSE", "AVX"},
    "zmm": {"SSE", "AVX", "ZMM_HI256"},
    "k": {"OPMASK"},
    "hi16": {"HI16_ZMM"},
    "x87": {"X87"},
    "xmm+x87": {"SSE", "X87"},
    "ymm+k+hi16": {"SSE", "AVX", "OPMASK", "HI16_ZMM"},
    "zmm+k+hi16+x87": {"X87", "SSE", "AVX", "OPMASK", "ZMM_HI256", "HI16_ZMM"},
}
VERDICTS = {"ZMM_HI256": "dirty ZMM", "AVX": "dirty YMM", "OPMASK": "masks", "HI16_ZMM": "masks"}
NEEDS = {"ymm": "avx", "zmm": "avx512f", "k": "avx512f", "hi16": "avx512f"}


def reachable(components: str) -> bool:
    return all(NEEDS[word] in flags() for word in components.split("+") if word in NEEDS)


def verdict(in_use: set[str]) -> str:
    return next((VERDICTS[name] for name in VERDICTS if name in in_use), "clean")


@pytest.fixture(scope="session")
def dirty_program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Compiles the helper without sanitizers, even if the tool's build has them."""
    if "xsave" not in flags():
        pytest.skip("this CPU has no XSAVE")
    program = tmp_path_factory.mktemp("dirty") / "dirty_threads"
    source = SOURCE / "tests/unit/dirty_threads.c"
    command = ["gcc", "-O1", "-Wall", "-Werror", "-pthread", "-o", program, source]
    subprocess.run([str(word) for word in command], check=True)
    return str(program)


@pytest.fixture
def dirty(dirty_program: str) -> Iterator[Dirty]:
    """Yields a function that starts threads with known registers. At the end, each thread must have
    kept its registers."""
    started: list[subprocess.Popen[str]] = []

    def start(*threads: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        child = subprocess.Popen([dirty_program, *threads], stdin=pipe, stdout=pipe, text=True)
        started.append(child)
        assert child.stdout and child.stdout.readline() == "ready\n"
        return child

    yield start
    for child in started:
        try:
            child.communicate(timeout=600)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
        assert child.returncode == 0


def states(pid: int) -> set[str]:
    """Returns the states of a process's threads, from /proc."""
    folder = Path(f"/proc/{pid}/task")
    return {
        path.joinpath("stat").read_text().rsplit(")")[1].split()[0] for path in folder.iterdir()
    }


def differing(thread: dict[str, Any]) -> set[str]:
    """Returns the components in use that are not initial, except PKRU. Initial ones may be in use,
    too: Linux and hypervisors restore PKRU or SSE, and CPUs may track every write."""
    return set(thread["in_use"]) - set(thread["initial"]) - {"PKRU"}


def workers(shown: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in shown["threads"] if row["tid"] != shown["process"]]


@pytest.mark.parametrize("wait", ["sleep", "spin"])
@pytest.mark.parametrize("components", IN_USE)
def test_who_shows_components_in_use(carry: Run, dirty: Dirty, wait: str, components: str) -> None:
    if not reachable(components):
        pytest.skip(f"this CPU cannot have {components} in use")
    child = dirty(f"worker:{wait}:{components}")
    expected = IN_USE[components]
    shown = show(carry, "who", str(child.pid), status=BAD if "AVX" in expected else CLEAN)
    assert (shown["process"], shown["name"]) == (child.pid, "dirty_threads")
    (worker,) = workers(shown)
    assert worker["name"] == "worker"
    assert differing(worker) == expected
    assert worker["verdict"] == verdict(expected)
    assert is_time(worker["switch_ns"])
    assert shown["dirty"] == ("AVX" in expected)
    assert (shown["exp_ns"] is None) == ("AVX" not in expected)
    assert all(map(is_time, (shown["exp_ns"] or {}).values()))


@pytest.mark.parametrize("form", ["json", "text"])
def test_who_shows_initial_components_in_use(carry: Run, dirty: Dirty, form: str) -> None:
    """A switch may end the use of a component that contains zeroes, so that only the first reading
    sees it."""
    for _ in range(10):
        child = dirty("worker:sleep:zero")
        if form == "json":
            (worker,) = workers(show(carry, "who", str(child.pid)))
            in_use = "SSE" in worker["in_use"]
            assert worker["initial"] == (["SSE"] if in_use else [])
        else:
            shown = carry("xstate", "who", child.pid).stdout.split(" worker ")[1]
            in_use = "in use   SSE" in shown
            assert ("\n           initial  SSE\n" in shown) == in_use
        if in_use:
            return
    pytest.skip("this CPU puts what holds zeroes out of use at once")


def test_who_separates_threads(carry: Run, dirty: Dirty) -> None:
    chosen = [name for name in IN_USE if reachable(name)]
    child = dirty(*(f"t{i}:sleep:{name}" for i, name in enumerate(chosen)))
    status = BAD if "avx" in flags() else CLEAN
    shown = show(carry, "who", str(child.pid), status=status)
    found = {row["name"]: differing(row) for row in workers(shown)}
    assert found == {f"t{i}": IN_USE[name] for i, name in enumerate(chosen)}
    done = carry("xstate", "who", child.pid)
    assert done.returncode == status
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\033" not in done.stdout
    for i, name in enumerate(chosen):
        assert re.search(
            rf"^ +1  t{i} +\d+ ns  {verdict(IN_USE[name])}$", done.stdout, re.MULTILINE
        )
    count = sum("AVX" in IN_USE[name] for name in chosen)
    have = "has" if count == 1 else "have"
    said = f"\n{count} of {len(chosen) + 1} threads {have} dirty uppers."
    assert said in done.stdout or not count


def test_who_groups_a_hundred_threads(carry: Run, dirty: Dirty) -> None:
    """Threads of the same name and state share a group."""
    child = dirty(*(f"w{i % 2}:sleep:x87" for i in range(99)), "w1:sleep:xmm")
    shown = show(carry, "who", str(child.pid))
    assert len(shown["threads"]) == 101
    assert sum(differing(row) == {"X87"} for row in shown["threads"]) == 99
    done = carry("xstate", "who", child.pid)
    assert done.stdout.startswith(f"process {child.pid} (dirty_threads): 101 threads\n")
    groups: Counter[tuple[str, str]] = Counter()
    pattern = r"^ +(\d+)  (w\d) .*\n +in use +(\w+)(?:.*\n)*? +tid .*?(?: and (\d+) more)?$"
    for count, name, first, more in re.findall(pattern, done.stdout, re.MULTILINE):
        groups[name, first] += int(count)
        assert int(more or 0) == max(0, int(count) - TIDS_SHOWN)
    assert groups == {("w1", "SSE"): 1, ("w1", "X87"): 49, ("w0", "X87"): 50}
    assert done.stdout.endswith("No thread has dirty uppers.\n")


def test_who_keeps_stopped_processes_stopped(carry: Run, dirty: Dirty) -> None:
    child = dirty("one:sleep:x87", "two:spin:x87")
    child.send_signal(signal.SIGSTOP)
    while states(child.pid) != {"T"}:
        time.sleep(0.01)
    shown = show(carry, "who", str(child.pid))
    assert len(shown["threads"]) == 3
    assert states(child.pid) == {"T"}
    child.send_signal(signal.SIGCONT)
    while states(child.pid) & {"T", "t"}:
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_who_releases_threads_on_a_signal(tool: str, dirty: Dirty, number: int) -> None:
    child = dirty(*(["a:sleep:xmm", "b:spin:x87"] * 4))
    for delay in range(10):
        who = subprocess.Popen(
            [tool, "xstate", "who", *[str(child.pid)] * 2000],
            stdout=subprocess.DEVNULL,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        time.sleep(0.02 + delay / 1000)
        who.send_signal(number)
        assert who.wait(HANGS) == -number
        assert not states(child.pid) & {"T", "t"}


def test_who_loses_no_signal(tool: str, dirty: Dirty) -> None:
    child = dirty("worker:sleep:x87")
    assert child.stdin and child.stdout
    sent = 0
    while sent < 500:
        with subprocess.Popen(
            [tool, "xstate", "who", *[str(child.pid)] * 500], stdout=subprocess.DEVNULL
        ) as who:
            while who.poll() is None:
                child.send_signal(signal.SIGRTMIN)
                sent += 1
                time.sleep(0.0001)
        assert who.returncode == CLEAN
    child.stdin.write("\n")
    child.stdin.flush()
    assert int(child.stdout.readline()) == sent


def test_who_sees_several_processes(carry: Run, dirty: Dirty) -> None:
    children = [dirty("w:sleep:x87"), dirty("w:sleep:xmm")]
    done = carry("xstate", "who", "--json", *(child.pid for child in children))
    assert (done.returncode, done.stderr) == (CLEAN, "")
    shown = [conforming("xstate_who", line) for line in done.stdout.splitlines()]
    assert [row["process"] for row in shown] == [child.pid for child in children]


def refusal(carry: Run, pid: int) -> str:
    done = carry("xstate", "who", pid)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr.startswith("carry: ") and done.stderr.count("\n") == 1
    return done.stderr


def test_who_without_a_process(carry: Run) -> None:
    """A process that does not exist is refused."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert refusal(carry, ended.pid) == f"carry: there is no process {ended.pid}\n"


def test_who_of_a_zombie(carry: Run) -> None:
    """A process that has ended is refused."""
    zombie = subprocess.Popen(["true"])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    assert refusal(carry, zombie.pid) == f"carry: process {zombie.pid} has ended\n"
    zombie.wait()


def test_who_of_itself(tool: str) -> None:
    """The command refuses to look at itself."""
    command = ["sh", "-c", f"exec {tool} xstate who $$"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert "is this command" in done.stderr


def test_who_of_a_debugged_process(carry: Run, dirty: Dirty) -> None:
    child = dirty("worker:sleep:x87")
    seize = f"import ctypes; ctypes.CDLL(None).ptrace(0x4206, {child.pid}, 0, 0); print(); input()"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", seize], stdin=pipe, stdout=pipe) as debugger:
        assert debugger.stdout and debugger.stdout.readline()
        done = carry("xstate", "who", "--json", child.pid)
        debugger.communicate()
    assert done.returncode == ERROR
    shown = conforming("xstate_who", done.stdout)
    assert [row["name"] for row in shown["threads"]] == ["worker"]
    (refused,) = shown["refused"]
    assert refused["tid"] == child.pid
    assert refused["reason"].startswith(f"process {debugger.pid} (")
    assert "already traces it" in refused["reason"] and refused["reason"] in done.stderr


def test_who_of_another_user(tool: str, dirty: Dirty) -> None:
    """Root may trace everything, so the test runs as nobody, in a folder that everyone may
    enter."""
    root = os.geteuid() == 0
    pid = dirty("worker:sleep:x87").pid if root else 1
    with tempfile.TemporaryDirectory() as name:
        copy = shutil.copy(tool, Path(name) / "carry")
        Path(name).chmod(0o755)
        done = subprocess.run(
            [copy, "xstate", "who", str(pid)],
            capture_output=True,
            text=True,
            user=65534 if root else None,
            check=False,
        )
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert "it belongs to another user: run as that user, or as root\n" in done.stderr


@pytest.mark.parametrize("pid", ["", "0", "-1", "x", "12x", "99999999999", "+1"])
def test_who_of_no_number(carry: Run, pid: str) -> None:
    """An argument that is not a process number is refused."""
    done = carry("xstate", "who", "--", "1", pid)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert f"'{pid}' is not a process number" in done.stderr


def test_who_needs_a_process(carry: Run) -> None:
    done = carry("xstate", "who")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert "a process number is needed" in done.stderr
