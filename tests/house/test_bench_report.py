# SPDX-License-Identifier: MIT
"""The benchmark among peers: which functions are timed, what a result contains, and what its
report shows."""

from __future__ import annotations

import datetime
import functools
import io
import json
import operator
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from carry_tool import SOURCE

pytest.importorskip("numpy", reason="python3-matplotlib is not installed, nor numpy with it")
pytest.importorskip("matplotlib", reason="python3-matplotlib is not installed")

BENCH = SOURCE / "bench"
sys.path.insert(0, str(BENCH))

import compare  # noqa: E402
import numpy as np  # noqa: E402
import readme  # noqa: E402
import run  # noqa: E402
from measure import (  # noqa: E402
    build,
    canary,
    fetch,
    files,
    losses,
    plots,
    process,
    result,
    stats,
    summary,
)
from measure.claims import claims, noisy  # noqa: E402
from measure.measure import Lane, Plan, Run, Samples, Subject, verify  # noqa: E402
from measure.peers import Peer, read_peers  # noqa: E402
from measure.plan import MIX_CALLS, WORKS, Cell, make_cells, write_mix  # noqa: E402
from measure.process import Function, PeerProcess, ProcessError, Verdict  # noqa: E402
from measure.progress import Progress  # noqa: E402
from measure.report import make_report  # noqa: E402

RESULTS = sorted(set((BENCH / "results").glob("*.json")) - set(BENCH.glob("results/*-quick.json")))

# --- A fake peer process ---

FAKE = f"""#!{sys.executable}
import os, sys
log = open(__file__ + ".log", "a")
answers = {{ANSWERS}}
for line in sys.stdin:
    line = line.rstrip("\\n")
    print(line, file=log, flush=True)
    for start, answer in answers.items():
        if line.startswith(start):
            if answer == "die":
                os.abort()
            if answer != "hang":
                print(answer, flush=True)
            break
    else:
        print("error what?", flush=True)
"""
USUAL = {
    "list": "function right sum\nfunction odd sum seedless\nfunction floor sum floor\n"
    "note compiler cc 1\nend",
    "verify right": "right",
    "verify odd": "wrong 3 lost a byte",
    "time right": "100000 2500 2500",
    "time odd": "100000 2500 2500",
    "time floor": "100000 2500 2500",
}


class Fake(PeerProcess):
    def questions(self) -> list[str]:
        """Returns the questions that the process has received."""
        return Path(f"{self.program}.log").read_text().splitlines()


def fake(folder: Path, name: str = "fake", **answers: str) -> Fake:
    program = folder / name
    given = USUAL | {key.replace("_", " "): text for key, text in answers.items()}
    program.write_text(FAKE.replace("{ANSWERS}", repr(given)))
    program.chmod(0o755)
    return Fake(program, folder)


def lane_of(started: PeerProcess, name: str = "c") -> Lane:
    lane = Lane(name, started)
    started.start()
    lane.ask_list()
    return lane


# --- The contract ---


def test_a_list_names_functions_and_notes(tmp_path: Path) -> None:
    lane = lane_of(fake(tmp_path))
    floor = Function("floor", "sum", ("floor",))
    assert lane.functions == [
        *(Function("right", "sum"), Function("odd", "sum", ("seedless",)), floor)
    ]
    assert lane.empty == floor and lane.empty_ns == 100000 / 4096
    assert lane.notes == {"compiler": "cc 1"}
    lane.process.stop()


@pytest.mark.parametrize(
    "answer",
    [
        "function right dance\nend",
        "function right sum loud\nend",
        "function right sum\nfunction right sum\nend",
        "note\nend",
        "hello\nend",
        "die",
    ],
)
def test_malformed_list_is_refused(tmp_path: Path, answer: str) -> None:
    started = fake(tmp_path, list=answer)
    started.start()
    with pytest.raises(ProcessError):
        started.list()
    started.stop()


def test_peer_that_does_not_answer_is_restarted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process.PeerProcess.read_line, "__defaults__", (0.3,))
    lane = lane_of(fake(tmp_path, verify_right="hang"))
    verdict = lane.process.verify(lane.functions[0])
    assert verdict.limit == 0 and "no answer" in verdict.text
    assert lane.process.verify(lane.functions[1]).limit == 3, "it was started again"
    lane.process.stop()


@pytest.mark.parametrize("answer", ["perhaps", "wrong", "wrong many bytes", "error what?"])
def test_unclear_verdict_counts_as_wrong(tmp_path: Path, answer: str) -> None:
    lane = lane_of(fake(tmp_path, verify_right=answer))
    assert lane.process.verify(lane.functions[0]).limit == 0
    lane.process.stop()


@pytest.mark.parametrize("answer", ["error no mode", "1 2", "1 2 three", "-1 2 3"])
def test_malformed_time_is_refused(tmp_path: Path, answer: str) -> None:
    lane = lane_of(fake(tmp_path, time_right=answer))
    with pytest.raises(ProcessError):
        lane.process.times(["right hot 0 0 20 0 1"])
    lane.process.stop()


# --- Which functions are timed ---

CELLS = [Cell("sum", "hot", 20), Cell("sum", "hot", 1 << 20)]
SHORT = Plan(starts=2, rounds=2, seconds=60)


def measured(lanes: list[Lane], plan: Plan = SHORT) -> tuple[list[Subject], Any, Run]:
    subjects, wrong = verify(lanes)
    run = Run(CELLS, subjects, plan, lambda _share, _what: None)
    return subjects, wrong, run


def test_wrong_function_is_reported_and_never_timed(tmp_path: Path) -> None:
    started = fake(tmp_path)
    subjects, wrong, run = measured([lane_of(started)])
    samples = run.take()
    assert [subject.name for subject in subjects] == ["right", "floor@c"]
    assert wrong == [("odd", Verdict(3, "lost a byte"))]
    asked = started.questions()
    assert any(line.startswith("time right ") for line in asked)
    assert not any(line.startswith("time odd") for line in asked)
    assert samples.taken == 2 * (2 * 2 + 2 * 1), "large sizes in one round of each start"


def test_function_wrong_for_large_sizes_is_timed_for_packets(tmp_path: Path) -> None:
    started = fake(tmp_path, verify_odd="wrong 1048576 too narrow")
    subjects, wrong, run = measured([lane_of(started)])
    run.take()
    assert [subject.name for subject in subjects] == ["right", "odd", "floor@c"]
    assert len(wrong) == 1
    sizes = {line.split()[5] for line in started.questions() if line.startswith("time odd")}
    assert sizes == {"20"}


def test_function_that_crashes_is_not_timed_again(tmp_path: Path) -> None:
    started = fake(tmp_path, verify_odd="right", time_odd="die")
    subjects, _, run = measured([lane_of(started)])
    samples = run.take()
    assert "SIGABRT" in subjects[1].broken and not subjects[0].broken
    asked = started.questions()
    assert sum(line.startswith("time odd") for line in asked) <= 2
    assert np.isnan(samples.ns[:, 1]).all() and not np.isnan(samples.ns[0, 0]).any()


def test_function_that_takes_too_long_is_not_timed(tmp_path: Path) -> None:
    started = fake(tmp_path, verify_odd="right", time_odd="20000001 2500 2500")
    _, _, run = measured([lane_of(started)])
    samples = run.take()
    assert np.isnan(samples.ns[:, 1]).all() and not np.isnan(samples.ns[0, 0]).any()


def test_each_process_has_its_own_floor(tmp_path: Path) -> None:
    listed = "function floor sum floor\nend"
    lanes = [lane_of(fake(tmp_path, name, list=listed), name) for name in ("c", "rust")]
    subjects, _ = verify(lanes)
    assert [subject.name for subject in subjects] == ["floor@c", "floor@rust"]
    for lane in lanes:
        assert not any(line.startswith("verify") for line in lane.process.questions())
        lane.process.stop()


def test_interval_is_wider_if_starts_differ() -> None:
    noise = np.random.default_rng(2).normal(0, 0.01, (10, 30))
    alike = stats.estimate(100 + noise)
    differing = stats.estimate(100 + noise + np.arange(10)[:, None])
    assert alike.high - alike.low < 0.02 < 1 < differing.high - differing.low
    assert stats.estimate(np.full((2, 4), np.nan)) is None
    assert stats.speedup(np.full((2, 4), 2.0), np.full((2, 4), 3.0)).median == 1.5


# --- The canary ---

QUIET = 2500.0
SHAPE = (4, 3, 5, 12)  # cells, functions, starts, rounds
EMPTY, LIGHT, WIDE = range(3)  # functions


def calm_canaries() -> canary.Canaries:
    """Returns canaries without disturbance: none is slower than usual by more than 2 %."""
    draw = np.random.default_rng(5)
    return canary.Canaries(*(QUIET * draw.uniform(1, 1.02, SHAPE) for _ in range(4)))


def add_noise(canaries: canary.Canaries, share: float) -> np.ndarray:
    """Adds a neighbour before `share` of the samples, which stays or leaves during the sample, and
    a neighbour that arrives during a tenth of `share` of the samples. Returns a mask of the samples
    with a neighbour."""
    draw = np.random.default_rng(6)
    rests = draw.random(SHAPE) < share
    comes, goes = (draw.random(SHAPE) < part for part in (share / 10, 0.5))
    for one in (canaries.rest_before, canaries.rest):
        one[rests] *= 1.4
    canaries.before[rests & ~goes] *= 1.4
    canaries.after[(rests & ~goes) | comes] *= 1.4
    return rests | comes


def add_lowering(canaries: canary.Canaries, share: float = 1.0, by: float = 1.6) -> np.ndarray:
    """Lowers the clock while the last function runs, from the second cell on, in `share` of the
    starts; returns a mask of these samples."""
    lowered = np.zeros(SHAPE, bool)
    lowered[1:, WIDE, : round(share * SHAPE[2])] = True
    for one in (canaries.before, canaries.after):
        one[lowered] *= by
    return lowered


ONE_REST = np.ones(SHAPE)
USUAL_CANARY = np.full(SHAPE[2], 1.01 * QUIET)


def test_no_sample_is_discarded_without_neighbours() -> None:
    judged = canary.judge(calm_canaries(), USUAL_CANARY, ONE_REST)
    assert not judged.disturbed.any() and not judged.lowers.any()
    assert judged.clock == pytest.approx(np.ones(SHAPE[:2]), abs=0.01)


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_samples_beside_a_neighbour_are_discarded(share: float) -> None:
    canaries = calm_canaries()
    noisy = add_noise(canaries, share)
    judged = canary.judge(canaries, USUAL_CANARY, ONE_REST)
    assert (judged.disturbed == noisy).all() and not judged.lowers.any()
    assert judged.clock == pytest.approx(np.ones(SHAPE[:2]), abs=0.02)


@pytest.mark.parametrize("share", [0.0, 0.15])
def test_a_clock_that_a_function_lowers_is_its_cost(share: float) -> None:
    canaries = calm_canaries()
    lowered = add_lowering(canaries)
    noisy = add_noise(canaries, share)
    judged = canary.judge(canaries, USUAL_CANARY, ONE_REST)
    assert judged.lowers.tolist() == lowered.any(axis=(2, 3)).tolist()
    assert (judged.disturbed == noisy).all(), "samples beside the lower clock stay"
    assert judged.clock[1:, WIDE] == pytest.approx(1.6, abs=0.03)
    assert judged.clock[:, :WIDE] == pytest.approx(1, abs=0.02)


def test_a_clock_that_is_lowered_in_some_starts_is_a_cost_too() -> None:
    canaries = calm_canaries()
    lowered = add_lowering(canaries, share=0.4)
    judged = canary.judge(canaries, USUAL_CANARY, ONE_REST)
    assert judged.lowers.tolist() == lowered.any(axis=(2, 3)).tolist()
    assert not judged.disturbed.any()
    assert judged.clock[1:, WIDE] == pytest.approx(1 + 0.4 * 0.6, abs=0.02)


def test_slow_canaries_beside_long_samples_are_neighbours() -> None:
    """Slow canaries beside samples a hundred times as long as a rest are due to neighbours, not to
    a lower clock."""
    canaries = calm_canaries()
    add_noise(canaries, 0.6)
    draw = np.random.default_rng(7)
    canaries.rest[draw.random(SHAPE) < 0.02] *= 1.4
    comes = draw.random(SHAPE) < 0.5
    canaries.after[comes] *= 1.4
    assert canary.judge(canaries, USUAL_CANARY, ONE_REST).lowers.any()
    judged = canary.judge(canaries, USUAL_CANARY, 100 * ONE_REST)
    assert not judged.lowers.any() and judged.disturbed[comes].all()


CLOCKED = f"""#!{sys.executable}
# A CPU with a clock that `wide` lowers for a millisecond, and a neighbour who comes and goes.
import random, sys
draw = random.Random(4)
now = low_until = 0.0
noise, toggles = False, 3e7
FLOOR_NS = 2

def run(name, calls):
    global now, low_until
    each = {{"floor": FLOOR_NS, "light": 10, "wide": 4}}[name]
    took = calls * each * slowness()
    now += took
    if name == "wide":
        low_until = now + 1e6
    return took

def slowness():
    global noise, toggles
    while now > toggles:
        noise = not noise
        toggles += draw.expovariate(1) * (NOISE_NS if noise else 2e7)
    return (1.5 if now < low_until else 1.0) * (1.4 if noise else 1.0)

def canary():
    global now
    took = 2500 * slowness()
    now += took
    return round(took)

for line in sys.stdin:
    verb, *words = line.split()
    if verb == "list":
        print("function floor sum floor\\nfunction light sum\\nfunction wide sum\\nend", flush=True)
    elif verb == "verify":
        print("right", flush=True)
    else:
        name, calls = words[0], int(words[6])
        run(name, calls // 4)
        before = canary()
        took = run(name, calls)
        print(round(took), before, canary(), flush=True)
        now += 20e3
"""


def clocked(folder: Path, noise_ns: float) -> tuple[list[Subject], Samples]:
    program = folder / "clocked"
    program.write_text(CLOCKED.replace("NOISE_NS", str(noise_ns)))
    program.chmod(0o755)
    subjects, _ = verify([lane_of(PeerProcess(program, folder))])
    cells = [Cell("sum", "hot", 20 + size) for size in range(4)]
    run = Run(cells, subjects, Plan(starts=3, rounds=12, seconds=60), lambda _share, _what: None)
    return subjects, run.take()


@pytest.mark.parametrize("noise_ns", [1, 4e6])
def test_a_process_whose_clock_is_lowered_is_timed_all_the_same(
    tmp_path: Path, noise_ns: float
) -> None:
    subjects, samples = clocked(tmp_path, noise_ns)
    assert [subject.name for subject in subjects] == ["floor@c", "light", "wide"]
    assert samples.clock[:, 2] == pytest.approx(1.5, abs=0.03), "of wide"
    assert samples.clock[:, :2] == pytest.approx(1.0, abs=0.03), "of those after it, too"
    assert np.nanmax(samples.ns[:, 1]) == pytest.approx(10, rel=0.03), "at the usual clock"
    assert np.nanmedian(samples.ns[:, 2]) == pytest.approx(6, rel=0.03), "at that which it leaves"
    thrown = samples.discarded / samples.taken
    assert 0.1 < thrown < 0.5 if noise_ns > 1 else thrown < 0.1, thrown
    assert samples.lowered == np.count_nonzero(~np.isnan(samples.ns[:, 2]))


def test_a_process_without_an_empty_function_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProcessError, match="no empty function"):
        lane_of(fake(tmp_path, list="function right sum\nend"))


# --- The process in C ---


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work")
    program = folder / "make-vectors"
    includes = (f"-I{SOURCE / 'tests'}", f"-I{SOURCE / 'include'}")
    files = (BENCH / "vectors.c", SOURCE / "tests/harness/oracle.c")
    subprocess.run(["cc", "-O2", *includes, "-o", program, *files], check=True)
    subprocess.run([program, folder, "2"], input="0 0 1500\n1 0 1500\n", text=True, check=True)
    write_mix("imix", folder)
    return folder


@pytest.fixture(scope="session")
def broken(tmp_path_factory: pytest.TempPathFactory, work: Path) -> Iterator[Lane]:
    program = tmp_path_factory.mktemp("broken") / "run"
    files = (BENCH / "peers/c/main.c", SOURCE / "tests/mutants/bench_peers.c")
    includes = (f"-I{BENCH / 'peers/c'}", f"-I{SOURCE / 'tools/carry'}")
    subprocess.run(["cc", "-O2", *includes, "-o", program, *files], check=True)
    lane = lane_of(PeerProcess(program, work))
    yield lane
    lane.process.stop()


@pytest.mark.parametrize(
    ("name", "limit", "text"),
    [
        ("right", None, ""),
        ("right-copy", None, ""),
        ("seedless", None, ""),
        ("no-odd-byte", 1, "wrong sum"),
        ("no-seed", 0, "wrong sum"),
        ("too-narrow", 131073, "wrong sum"),
        ("crash", 0, "SIGABRT"),
        ("too-much", 0, "writes outside"),
        ("too-little", 1, "wrong copy"),
        ("lost-call", 0, "calls got lost"),
        ("right/chain", None, ""),
        ("right/chain/odd", None, ""),
        ("linked/chain", None, ""),
        ("linked/chain/odd", None, ""),
        ("even/chain", None, ""),
        ("even/chain/odd", 779, "wrong sum"),
        ("first/chain", 55, "wrong sum"),
        ("first/chain/odd", 55, "wrong sum"),
    ],
)
def test_the_oracle_finds_every_fault(
    broken: Lane, name: str, limit: int | None, text: str
) -> None:
    function = next(function for function in broken.functions if function.name == name)
    verdict = broken.process.verify(function)
    assert verdict.limit == limit and text in verdict.text


def test_c_process_times(broken: Lane) -> None:
    modes = ["hot 1 0 1500 0 50", "latency 0 0 20 0 50", "imix 0 0 0 131000 500"]
    questions = [*modes, "beside 1 0 1500 0 50", "beside-imix 0 0 0 131000 500"]
    assert broken.notes["beside"] == "1000 multiplications"
    asked = [f"right {question}" for question in questions]
    asked += [f"right/chain{odd} {modes[0]}" for odd in ("", "/odd")]
    asked += ["linked/chain latency 1 0 1500 0 50", "right/chain beside 63 0 1500 0 50"]
    samples = broken.process.times(asked)
    assert all(ns > 0 and before > 0 and after > 0 for ns, before, after in samples)


@pytest.mark.parametrize(
    "question",
    [
        "unknown hot 0 0 20 0 1",
        "right waltz 0 0 20 0 1",
        "right besides 0 0 20 0 1",
        "right beside-waltz 0 0 20 0 1",
        "right beside- 0 0 20 0 1",
        "right hot 0 0 900000000 0 1",
        "right hot 0 900000000 20 0 1",
        "right hot 0 0 20",
        "right/chain imix 0 0 0 0 1",
        "right/chain beside-imix 0 0 0 0 1",
        "right/chain hot 0 0 262135 0 1",  # of 4,097 slices
    ],
)
def test_c_process_refuses_wrong_questions(broken: Lane, question: str) -> None:
    with pytest.raises(ProcessError, match="error"):
        broken.process.times([question])


def test_a_mix_has_its_shares(work: Path) -> None:
    calls = np.fromfile(work / "mix-imix", dtype="<u4").reshape(-1, 3)
    assert len(calls) == MIX_CALLS
    sizes, counts = np.unique(calls[:, 2], return_counts=True)
    assert sizes.tolist() == [40, 576, 1500]
    assert np.allclose(counts / MIX_CALLS, [7 / 12, 4 / 12, 1 / 12], atol=0.01)
    assert (calls[:, :2].max(axis=1) + calls[:, 2] <= 1 << 20).all()


# --- Missing peers ---


@pytest.fixture
def language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the folder of a language whose file `build` the test writes."""
    monkeypatch.setattr(build, "BENCH", tmp_path)
    folder = tmp_path / "peers/any"
    folder.mkdir(parents=True)
    return folder


def build_any(language: Path, script: str) -> tuple[Path | None, dict[str, str]]:
    path = language / "build"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    out = language.parent / "out"
    return build.build_language("any", ["one", "two"], out, language, language)


def test_a_missing_peer_is_named_with_its_reason(language: Path) -> None:
    program, missing = build_any(language, "echo missing two no such package; exit 0")
    assert program == language.parent / "out/run" and missing == {"two": "no such package"}


def test_language_that_does_not_build_lacks_all_its_peers(language: Path) -> None:
    program, missing = build_any(language, f"echo {build.ROOT}/x: no compiler >&2; exit 3")
    assert program is None and missing == {"one": "x: no compiler", "two": "x: no compiler"}


def test_a_package_that_cannot_be_downloaded_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, script in (
        ("apt-cache", "echo Depends: none"),
        ("apt-get", "echo no network >&2; exit 9"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    debs = tmp_path / "debs"
    assert fetch.fetch_packages(["some-dev"], debs) == {"some-dev": "apt-get: no network"}
    assert not (debs / "some-dev").exists()


def fake_sources(folder: Path, archive: str) -> None:
    """Writes an apt-get that lists one kind of sources, and provides `archive` if that exists."""
    program(
        folder,
        "apt-get",
        f"""case "$*" in
        indextargets*) echo deb-src http://somewhere stable main ;;
        *update) ;;
        *source*) [ ! -f "{archive}" ] || cp "{archive}" "thing_1.2-x.orig.tar.gz" ;;
        esac""",
    )


def test_a_source_is_unpacked_beside_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = tmp_path / "thing-1.2"
    top.mkdir()
    (top / "sum.c").write_text("int sum;\n")
    archive = tmp_path / "made.tar.gz"
    subprocess.run(["tar", "-C", tmp_path, "-czf", archive, top.name], check=True)
    fake_sources(tmp_path, str(archive))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    debs = tmp_path / "debs"
    assert fetch.fetch_sources(["thing"], debs) == {}
    assert (debs / "thing-source/sum.c").read_text() == "int sum;\n"
    assert (debs / "thing-source.version").read_text() == "1.2-x\n"
    assert [path.name for path in debs.iterdir() if path.name == "downloads"] == []


def test_a_source_that_cannot_be_downloaded_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_sources(tmp_path, "")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    debs = tmp_path / "debs"
    assert fetch.fetch_sources(["thing"], debs) == {"thing": "the source of thing has no archive"}
    assert not (debs / "thing-source").exists()


def test_package_of_another_release_has_its_own_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(
        tmp_path,
        "apt-get",
        """case "$*" in
        indextargets*) echo "$*" | grep -o 'deb [^ ]* later' ;;
        *lists*update) ;;
        *lists*download*) touch some-dev.deb ;;
        *) exit 9 ;;
        esac""",
    )
    unpack = 'mkdir -p "$3"; touch "$3/here"'
    program(tmp_path, "dpkg-deb", f"case $1 in -x) {unpack} ;; -f) echo 2.0 ;; esac")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    debs = tmp_path / "debs"
    assert fetch.fetch_packages(["some-dev@later"], debs) == {}
    assert (debs / "some-dev/here").is_file()
    assert (debs / "some-dev.version").read_text() == "2.0\n"


def test_rows_of_the_table_are_whole() -> None:
    peers = read_peers()
    for peer in peers:
        folder = BENCH / "peers" / peer.language
        assert (folder / peer.file).is_file(), peer.name
        assert os.access(folder / "build", os.X_OK), peer.language
        assert peer.title and peer.package
        for name in peer.titles:
            assert name.split("/")[0] == peer.name
    ours = {peer.name for peer in peers if peer.ours}
    assert {work.ours.split("/")[0] for work in WORKS} <= ours


def test_function_has_the_title_of_the_name_that_its_own_extends() -> None:
    peer = Peer("p", "P", "c", "p.c", "p", titles={"p/a": "A", "p/a/b": "B"})
    titles = {"p": "P", "p/a": "A", "p/a/c": "A", "p/a/b": "B", "p/a/b/c": "B", "p/ab": "P, ab"}
    for name, title in titles.items():
        assert summary.title_of(Subject(None, Function(name, "sum"), name), peer) == title


def test_two_rows_of_one_name_are_refused(tmp_path: Path) -> None:
    row = '[[peer]]\nname = "a"\ntitle = "A"\nlanguage = "c"\nfile = "a.c"\npackage = "a"\n'
    table = tmp_path / "peers.toml"
    table.write_text(row * 2)
    with pytest.raises(ValueError, match="two rows of a"):
        read_peers(table)


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("user", "said"),
    [("0", "apt-get update failed"), ("1000", "Debian packages are missing")],
)
def test_make_bench_continues_without_missing_packages(
    tmp_path: Path, user: str, said: str
) -> None:
    program(tmp_path, "dpkg-query", 'case "$*" in *-dpkt) exit 1 ;; *) echo installed ;; esac')
    program(tmp_path, "apt-get", "exit 100")
    program(tmp_path, "sudo", "exit 1")
    program(tmp_path, "id", f"echo {user}")
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "MAKEFLAGS": ""}
    done = subprocess.run(
        ["make", "-C", SOURCE, "bench", "PYTHON=echo", "QUICK=1"],
        **{"env": environment, "capture_output": True, "text": True},
    )
    assert said in done.stderr and "Continuing without them" in done.stderr
    assert done.returncode == 0 and "bench/run.py --quick" in done.stdout


# --- The program ---


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replaces the slow part of the program, which then makes the result of made_result(). Returns
    the folder of results."""
    monkeypatch.setattr(run, "BENCH", tmp_path)
    monkeypatch.setattr(run, "make_result", lambda *_: made_result())
    monkeypatch.setattr(sys, "argv", ["run.py", f"--build={tmp_path / 'build'}"])
    monkeypatch.setattr(run.machine, "short_name", lambda: "cpu")
    return tmp_path / "results"


def test_result_of_the_same_day_is_kept(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        assert run.main() == 0
    day = datetime.date.today().isoformat()
    names = {f"cpu-{day}{more}.{kind}" for more in ("", "-2", "-3") for kind in ("json", "html")}
    assert {path.name for path in bench.iterdir()} == names
    assert f"cpu-{day}-3.json" in capsys.readouterr().out
    sys.argv.append("--quick")
    assert run.main() == 0
    assert (bench / f"cpu-{day}-quick.json").is_file()


def test_result_to_be_replaced_is_named(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = bench.parent / "mine.json"
    sys.argv.append(f"--out={path}")
    assert run.main() == 0 and "replace" not in capsys.readouterr().err
    assert run.main() == 0 and f"will replace {path}" in capsys.readouterr().err


def test_without_a_place_for_results_nothing_is_measured(
    bench: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.write_text("no folder")
    monkeypatch.setattr(run, "make_result", lambda *_: pytest.fail("it measures"))
    assert run.main() == 1
    assert capsys.readouterr().err == f"bench: {bench}: File exists\n"


@pytest.mark.parametrize("where", ["make_result", "result.dump", "files.write_whole"])
def test_interrupted_run_writes_no_result(
    bench: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], where: str
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"run.{where}", interrupt)
    assert run.main() == 130
    assert capsys.readouterr().err == "\nbench: interrupted, no result written\n"
    assert not list(bench.iterdir())


def test_interrupted_run_ends_its_peers(
    bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane = lane_of(fake(tmp_path))

    def interrupted(_: object, __: Path, ___: object, lanes: list[Lane]) -> None:
        lanes.append(lane)
        raise KeyboardInterrupt

    child = lane.process.child
    monkeypatch.setattr(run, "make_result", interrupted)
    assert run.main() == 130 and child.poll() is not None


def test_file_is_complete_or_absent(tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        files.write_whole(path, "new" * 100_000 + "\udc80")
    assert path.read_text() == "old"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--report=none.json"], "bench: none.json: No such file or directory"),
        (["--report=none.html"], "ends in .json"),
        (["--out=mine.html"], "ends in .json"),
        (["--cpu=99999"], "there is no CPU 99999"),
    ],
)
def test_wrong_usage_of_the_program_is_refused_without_a_traceback(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    command = [sys.executable, BENCH / "run.py", f"--build={tmp_path}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", timeout=600)
    assert done.returncode in (1, 2) and said in done.stderr and "Traceback" not in done.stderr


def test_missing_modules_are_reported_with_advice(tmp_path: Path) -> None:
    command = [sys.executable, "-S", BENCH / "run.py", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1 and "make packages-bench" in done.stderr
    assert "Traceback" not in done.stderr


def test_peers_missing_for_one_reason_share_a_line() -> None:
    lines = io.StringIO()
    run.say_alike(Progress(lines), "missing", {"one": "gone", "two": "no network", "three": "gone"})
    assert lines.getvalue() == "bench: missing: one, three: gone\nbench: missing: two: no network\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_a_bar_on_a_terminal_and_lines_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(range(100, 200))
    monkeypatch.setattr("measure.progress.time.monotonic", lambda: float(next(clock)))
    lines, terminal = io.StringIO(), Terminal()
    for stream in (lines, terminal):
        progress = Progress(stream)
        for number in range(1, 5):
            progress.step(number / 4, f"start {(number + 1) // 2} of 2")
        progress.say("captures")
    assert lines.getvalue() == (
        "bench: start 1 of 2, 0 s\nbench: start 2 of 2, 2 s\nbench: captures\n"
    )
    bars = terminal.getvalue().split("\r\x1b[K")[1:]
    assert bars[1] == f"bench: [{'=' * 15}{' ' * 15}]  50 % start 1 of 2, 0:01 left"
    assert bars[3] == f"bench: [{'=' * 30}] 100 % start 2 of 2, 0:00 left"
    assert bars[4] == "bench: captures\n"


def test_run_ends_after_the_start_that_exceeds_its_time(tmp_path: Path) -> None:
    subjects, _ = verify([lane_of(fake(tmp_path))])
    told: list[tuple[float, str]] = []
    short = Plan(starts=9, rounds=2, seconds=0.0001)
    samples = Run(CELLS, subjects, short, lambda *step: told.append(step)).take()
    assert samples.starts == 1 and told[-1] == (1.0, "start 1 of 9")


def test_busy_machine_is_reported(
    bench: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = made_result()
    monkeypatch.setattr(run, "make_result", lambda *_: made)
    made["method"] |= {"taken": 611694, "discarded": 387023}  # on a quiet Emerald Rapids
    assert run.main() == 0 and "too noisy" not in capsys.readouterr().err
    made["cells"][1]["speedup"]["dpdk"] = [2.0, 1.95, 2.16]
    assert run.main() == run.TOO_NOISY == 4
    said = capsys.readouterr().err
    assert "bench: This machine was too noisy for some headlines" in said
    assert "(63 % of the samples were thrown away)" in said
    assert "against the fastest peer: 1.95 to 2.16." in said
    assert len(list(bench.glob("*.json"))) == 2, "there is a result all the same"


@pytest.mark.parametrize(
    ("low", "high", "noisy"),
    [(2, 2, False), (1.91, 2.1, False), (1.89, 2.1, True), (1.4, 3, True), (0, 2, True)],
)
def test_noise_is_judged_by_the_width_of_intervals(low: float, high: float, noisy: bool) -> None:
    made = made_result()
    made["cells"][1]["speedup"]["dpdk"] = [2.0, low, high]
    first, linux, _, worst = claims(made)
    assert (first.is_noisy, linux.is_noisy, worst.is_noisy) == (noisy, False, False)


def test_a_headline_whose_samples_are_lost_is_noisy_and_one_without_a_peer_is_not() -> None:
    made = made_result()
    assert [claim.is_noisy for claim in claims(made)] == [False] * 4, "no mix was timed"
    made["cells"][1] |= {"ns": {"dpdk": [20.0] * 3, "linux": [50.0] * 3}, "speedup": {}}
    assert [claim.is_noisy for claim in claims(made)] == [True, True, False, False]
    assert noisy(claims(made))[0].endswith("against the fastest peer: no samples are left")
    del made["cells"][1]["ns"]["linux"]
    assert [claim.is_noisy for claim in claims(made)] == [True, False, False, False]


@pytest.mark.parametrize(
    ("ours", "theirs", "speed", "loses"),
    [
        (0.07, 0.11, 0.917, False),  # on Emerald Rapids, quotients of pairs showed the opposite
        (0.11, 0.07, 0.64, False),
        (0.29, 0.2, 0.69, False),
        (0.25, 0.1, 0.4, True),  # further apart than a third of a cycle
        (0.5, 0.25, 0.5, True),
        (1.0, 0.92, 0.92, True),
    ],
)
def test_below_a_clock_cycle_a_difference_decides(
    ours: float, theirs: float, speed: float, loses: bool
) -> None:
    made = made_result()
    cell = made["cells"][1]
    cell["ns"] |= {"carry": [ours] * 3, "dpdk": [theirs] * 3, "linux": [9.0] * 3}
    cell["speedup"] = {"dpdk": [speed, speed, 0.994], "linux": [9.0] * 3}
    (one,) = [one for one in result.standings(made) if one.cell is cell]
    assert (one.loses, one.behind, one.is_level) == (loses, False, not loses)
    assert one.speed == (speed if loses else 1.0)
    assert (claims(made)[3].value == speed) == (loses and speed < 0.66)
    level = result.is_level(ours, theirs)
    change = compare.Change(CELLS[0], "right", stats.Estimate(speed, speed, 0.994), level)
    assert (change.is_loss, change.is_notable) == (loses, loses)


def test_missing_headlines_are_reported(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main() == 0
    said = "bench: Not measured: sum of sizes that vary, against the fastest peer (the worst).\n"
    assert said in capsys.readouterr().err


# --- Two revisions ---


def test_revisions_are_compared_in_turns(tmp_path: Path) -> None:
    times = {"here": "300000 2500 2500", "base": "150000 2500 2500"}
    lanes = [lane_of(fake(tmp_path, name, time_right=took), name) for name, took in times.items()]
    for lane in lanes:
        lane.functions = [function for function in lane.functions if function.is_peer]
    subjects, _, run = measured(lanes, Plan(starts=3, rounds=2, seconds=60))
    found = compare.changes(CELLS, subjects, run)
    assert [(change.function, change.cell.size) for change in found] == [
        ("right", 20),
        ("right", 1 << 20),
    ]
    assert all(change.speed == (0.5, 0.5, 0.5) for change in found)
    assert found[0].is_loss and found[0].is_notable and compare.show(found[0]).endswith("slower")
    assert "0.500x" in compare.summary(found)[0]


@pytest.mark.parametrize("revision", ["no-such-revision", "HEAD:README.md", "--help", ""])
def test_unknown_revision_is_refused(revision: str) -> None:
    with pytest.raises(build.BuildError, match="git knows no revision"):
        compare.commit_of(revision)


def test_build_of_another_revision_is_discarded(tmp_path: Path) -> None:
    """A build of another revision is discarded: its objects may be newer than the files of an older
    revision."""
    repository = tmp_path / "repository"
    usual = ["git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", repository], check=True)
    commits = []
    for text in ("one", "two"):
        (repository / "file").write_text(text)
        subprocess.run([*usual, "add", "file"], check=True)
        subprocess.run([*usual, "commit", "-q", "-m", text], check=True)
        said = subprocess.run([*usual, "rev-parse", "HEAD"], capture_output=True, text=True)
        commits.append(said.stdout.strip())
    folder = tmp_path / "base"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compare, "ROOT", repository)
        for text, commit in zip(("two", "one"), reversed(commits), strict=True):
            assert (compare.extract_commit(commit, folder) / "file").read_text() == text
            assert not (folder / "built").exists()
            (folder / "built").touch()
        compare.extract_commit(commits[0], folder)
        assert (folder / "built").exists()


def test_a_comparison_says_if_nothing_has_changed() -> None:
    def change(*speed: float) -> compare.Change:
        return compare.Change(CELLS[0], "right", stats.Estimate(*speed))

    same, slower = change(0.99, 0.98, 1.01), change(0.9, 0.89, 0.91)
    assert compare.report([same], False) == [
        "None of 1 cells has changed by more than its interval."
    ]
    assert len(compare.report([same], True)) == len(compare.report([same, slower], False))
    assert "0.900x" in compare.report([same, slower], False)[1]


@pytest.mark.parametrize("arguments", [["no-such-revision"], ["--cpu=99999", "HEAD"], []])
def test_wrong_usage_of_a_comparison_is_refused_before_a_build(
    tmp_path: Path, arguments: list[str]
) -> None:
    command = [sys.executable, BENCH / "compare.py", "--quick", f"--build={tmp_path}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 4 and not list(tmp_path.iterdir())


# --- Results ---


def made_result() -> result.Result:
    """Returns a small result: the library wins at 1,500 bytes and loses at 64."""
    peers = [
        Peer("carry", "libcarry", "c", "carry.c", "this tree", ours=True),
        Peer("linux", "Linux <csum>", "c", "linux.c", "somewhere"),
        Peer("dpdk", "DPDK", "c", "dpdk.c", "elsewhere"),
    ]
    lane = Lane("c", PeerProcess(Path("none"), Path("none")))
    subjects = [
        Subject(lane, Function(name, "sum", flags), name + suffix)
        for name, flags, suffix in (
            ("linux", (), ""),
            ("floor", ("floor",), "@c"),
            ("dpdk", (), ""),
            ("carry", (), ""),
        )
    ]
    cells = [Cell("sum", "hot", 64, 1), Cell("sum", "hot", 1500), Cell("sum", "latency", 1500)]
    times = [[2.0, 1.0, 2.5, 3.0], [50.0, 1.0, 20.0, 10.0], [60.0, 1.0, 30.0, 15.0]]
    ns = np.array(times)[:, :, None, None] * np.ones((1, 1, 3, 4))
    clock = np.ones(ns.shape[:2])
    return {
        **{"format": 2, "date": "2026-01-02 03:04 UTC", "libcarry": "1.0"},
        "machine": {"cpu": "A CPU", "kernel": "A kernel", "hypervisor": "none"},
        "notes": {"c": {"compiler-gcc": "gcc 1"}},
        "method": {"starts": 3, "rounds": 4, "quick": False, "taken": 48, "discarded": 1}
        | {"lowered": 0},
        "peers": [
            {key: getattr(peer, key) for key in ("name", "title", "language", "package")}
            | {"licence": "", "homepage": ""}
            for peer in peers
        ],
        "functions": summary.describe_functions(subjects, peers),
        "missing": [{"peer": "absent", "reason": "no such <package>"}],
        "wrong": [{"function": "astray", "limit": 3, "text": "lost a byte"}],
        "cells": summary.make_cells(cells, subjects, type("S", (), {"ns": ns, "clock": clock})),
        "captures": None,
    }


def with_peers(**times: list[float]) -> result.Result:
    """Returns the small result with more functions. Each key is LANGUAGE_PEER_VARIANT, and its
    value the function's times, one per cell."""
    made = made_result()
    for key, taken in times.items():
        language, peer, variant = key.split("_")
        name = f"{peer}/{variant}"
        made["functions"][name] = {"peer": peer, "title": name, "work": "sum", "kind": "peer"}
        row = {"name": peer, "title": peer.upper(), "language": language, "package": "a package"}
        made["peers"].append(row | {"licence": "", "homepage": ""})
        for cell, ns in zip(made["cells"], taken, strict=True):
            cell["ns"][name] = [ns] * 3
            cell["speedup"][name] = [ns / cell["ns"]["carry"][0]] * 3
    return made


def test_a_result_survives_its_file(tmp_path: Path) -> None:
    made = made_result()
    path = tmp_path / "result.json"
    path.write_text(result.dump(made))
    again = result.read(path)
    assert again == made
    assert again["cells"][1]["speedup"]["linux"] == [5.0, 5.0, 5.0]
    assert result.dump(again) == path.read_text()


def beside_result() -> result.Result:
    """Returns the small result with times of 1,500 bytes and IMIX beside a microsecond of other
    work."""
    made = made_result()
    lane = Lane("c", PeerProcess(Path("none"), Path("none")))
    names = (("floor", ("floor",)), ("carry", ()), ("dpdk", ()))
    subjects = [
        Subject(lane, Function(name, "sum", flags), name + ("@c" if flags else ""))
        for name, flags in names
    ]
    cells = [Cell("sum", "beside", 1500), Cell("sum", "beside-imix")]
    noise = np.random.default_rng(8).uniform(0, 50, (1, 1, 3, 40))
    times = np.array([[1000.0, 1040.0, 1020.0], [1000.0, 1005.0, 999.0]])
    ns, clock = times[:, :, None, None] + noise, np.ones((2, 3))
    taken = type("S", (), {"ns": ns, "clock": clock})
    made["cells"] += summary.make_cells(cells, subjects, taken)
    return made


def test_beside_other_work_counts_what_a_call_adds(tmp_path: Path) -> None:
    made = beside_result()
    sized, mixed = made["cells"][-2:]
    assert sized["above"] == {"carry": [40.0] * 3, "dpdk": [20.0] * 3}, "taken in turns"
    assert mixed["above"] == {"carry": [5.0] * 3, "dpdk": [-1.0] * 3}
    assert sized["ns"]["carry"][0] > 1040
    path = tmp_path / "result.json"
    path.write_text(result.dump(made))
    assert result.read(path) == made
    damaged = json.loads(path.read_text())
    damaged["cells"][-1][-1][0] = "much"
    path.write_text(json.dumps(damaged))
    with pytest.raises(result.ResultError, match=r"wrong or missing: \.cells\[4\]$"):
        result.read(path)


def test_the_report_shows_the_turn_and_what_a_call_adds() -> None:
    page = make_report(beside_result())
    section = page.split("Nanoseconds a turn beside other work")[1].split("</table>")[0]
    rows = cells_of(section)
    assert rows[0] == ["bytes", "1,500", "IMIX"]
    shown = {title: [re.sub(r"^\S+", "", cell).strip() for cell in row] for title, *row in rows[1:]}
    assert shown == {
        **{"libcarry": ["+40.00", "+5.00"], "DPDK": ["+20.00", "-1.00"]},
        "empty function, C": ["", ""],
    }
    assert "IMIX, beside" in page, "the map of speeds"


def test_unknown_mode_is_not_requested(tmp_path: Path) -> None:
    cells = [Cell("sum", "beside", 20), Cell("sum", "beside-imix"), Cell("sum", "hot", 20)]
    knows = USUAL["list"].replace("end", "note beside 1000 multiplications\nend")
    for listed, modes in ((USUAL["list"], {"hot"}), (knows, {"hot", "beside", "beside-imix"})):
        started = fake(tmp_path, f"fake-{len(modes)}", list=listed)
        subjects, _ = verify([lane_of(started)])
        Run(cells, subjects, SHORT, lambda _share, _what: None).take()
        times = [line.split() for line in started.questions() if line.startswith("time right")]
        assert {words[2] for words in times} == modes


def test_result_without_clocks_is_read(tmp_path: Path) -> None:
    made = made_result()
    made["format"] = result.WITHOUT_CLOCKS
    del made["method"]["lowered"]
    path = tmp_path / "result.json"
    path.write_text(result.dump(made))
    assert len(json.loads(path.read_text())["cells"][0]) == len(result.PLACE) + 1
    again = result.read(path)
    assert [cell["clock"] for cell in again["cells"]] == [{}] * 3
    assert again["cells"][1]["ns"] == made["cells"][1]["ns"]
    assert result.dump(again) == path.read_text()
    assert "Not known: this result is of a time" in make_report(again)


@pytest.mark.parametrize("key", list(result.SHAPE))
def test_incomplete_result_is_refused(tmp_path: Path, key: str) -> None:
    path = tmp_path / "result.json"
    damaged = json.loads(result.dump(made_result()))
    del damaged[key]
    path.write_text(json.dumps(damaged))
    with pytest.raises(result.ResultError):
        result.read(path)


@pytest.mark.parametrize("cell", [[], ["sum", "hot", 1, 0, 0, [[1, 2, 3]]], ["sum"], 7])
def test_malformed_cell_is_refused(tmp_path: Path, cell: object) -> None:
    path = tmp_path / "result.json"
    damaged = json.loads(result.dump(made_result()))
    damaged["cells"].append(cell)
    path.write_text(json.dumps(damaged))
    with pytest.raises(result.ResultError):
        result.read(path)


@pytest.mark.parametrize("value", [[1, 2], [1, 2, -3], [1, 2, "3"], [1, 2, 1e400], 5, [[1] * 3]])
def test_times_have_a_median_and_an_interval(tmp_path: Path, value: object) -> None:
    path = tmp_path / "result.json"
    damaged = json.loads(result.dump(made_result()))
    damaged["cells"][0][5][0] = value
    path.write_text(json.dumps(damaged))
    with pytest.raises(result.ResultError, match=r"wrong or missing: \.cells\[0\]$"):
        result.read(path)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (".machine", {"kernel": "A kernel", "hypervisor": "none"}),
        (".notes['c']['compiler-gcc']", 1),
        (".notes['c']", []),
        (".method.quick", 0),
        (".method.taken", True),
        (".method.discarded", -1),
        (".peers[2].licence", None),
        (".peers[1]", "linux"),
        (".functions", []),
        (".functions['linux'].kind", "friend"),
        (".functions['linux'].title", "\ud800"),
        (".missing[0].reason", ["none"]),
        (".wrong[0].limit", "3"),
        (".captures.programs", {}),
        (".captures.programs[0].task", 1),
        (".captures.programs[0].gb_per_s", "fast"),
    ],
)
def test_a_result_is_refused_for_the_place_that_is_wrong(
    tmp_path: Path, place: str, value: object
) -> None:
    path = tmp_path / "result.json"
    damaged = json.loads(result.dump(made_result()))
    damaged["captures"] = {"programs": [{"program": "a program", "task": "read"}]}
    path.write_text(json.dumps(damaged))
    result.read(path)
    found = re.findall(r"\.(\w+)|\['([^']+)'\]|\[(\d+)\]", place)
    *steps, last = (name or key or int(number) for name, key, number in found)
    functools.reduce(operator.getitem, steps, damaged)[last] = value
    path.write_text(json.dumps(damaged))
    with pytest.raises(result.ResultError, match="wrong or missing: " + re.escape(place)):
        result.read(path)


NO_RESULTS = {"nothing": "", "list": "[]", "deep": "[" * 100_000, "format": '{"format": 1}'}


@pytest.mark.parametrize("name", NO_RESULTS)
def test_malformed_result_has_no_report(tmp_path: Path, name: str) -> None:
    path = tmp_path / "result.json"
    path.write_text(NO_RESULTS[name])
    command = [sys.executable, BENCH / "run.py", f"--report={path}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(rf"bench: {path}: is no (JSON|result): [^\n]+\n", done.stderr)
    assert list(tmp_path.iterdir()) == [path]


def test_cells_are_judged_by_the_fastest_peer() -> None:
    ones = result.standings(made_result())
    assert [(one.best, one.loses) for one in ones] == [
        ("linux", True),
        ("dpdk", False),
        ("dpdk", False),
    ]
    assert ones[0].speedup[0] == pytest.approx(2 / 3, abs=0.001)


def test_claims_are_read_from_the_cells() -> None:
    found = {claim.text: claim for claim in claims(made_result())}
    values = [claim.value for claim in found.values()]
    assert values == [2.0, 5.0, None, pytest.approx(0.6667)]
    assert [claim.kept for claim in found.values()] == [True, True, False, False]


def test_results_in_the_tree_are_whole_and_small() -> None:
    assert RESULTS
    for path in RESULTS:
        assert not result.read(path)["method"]["quick"], path.name
        assert path.stat().st_size < 400_000, path.name
        assert not re.search(r'"[^"]*/(home|root|tmp|work)/', path.read_text()), path.name


# --- The report ---


def cells_of(html: str) -> list[list[str]]:
    """Returns the texts of a table, by rows."""
    rows = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    cells = (re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL) for row in rows)
    return [[re.sub(r"<[^>]*>", "", cell) for cell in row] for row in cells]


def test_lost_cells_are_first_and_red() -> None:
    page = make_report(made_result())
    box = re.search(r'<section class="loss" id="losses">.*?</section>', page, re.DOTALL)
    assert box and box.start() < page.index("<svg")
    assert "1 of 3 cells" in box[0]
    group, cell = (table[1] for table in map(cells_of, box[0].split("<table")[1:]))
    theirs = ["2.00 (+1.00)", "Linux &lt;csum&gt;"]
    assert group == [
        *("Internet checksum", "hot", "64", "0.67&times;", "1 of 1", "64 from 1", "3.00 (+2.00)"),
        *theirs,
    ]
    assert cell == [
        *("Internet checksum", "hot", "64 from 1", "0.67&times;", "0.67 to 0.67", "3.00 (+2.00)"),
        *theirs,
    ]
    assert re.search(r"\.loss b \{ color: var\(--bad\)", page)


def test_lost_cells_of_neighbouring_sizes_are_one_group() -> None:
    made = made_result()
    found = {
        (20, 0): 0.9,
        **{(64, 0): 0.8, (64, 1): 0.7, (80, 0): 1.2, (80, 1): 0.6},
        **{(96, 0): 1.1, (128, 0): 0.5},
    }
    made["cells"] = [
        {**{"work": "sum", "mode": "hot", "size": size, "offset": offset, "to": 0}}
        | {"ns": {"carry": [10.0] * 3, "linux": [10 * speed] * 3}}
        | {"speedup": {"linux": [speed] * 3}}
        for (size, offset), speed in found.items()
    ]
    groups = list(losses.groups(result.standings(made)))
    assert [(len(group.lost), group.cells, group.worst.speedup[0]) for group in groups] == [
        *((4, 5, 0.6), (1, 1, 0.5)),
    ]
    rows = [cells_of(losses.group_row(made, group))[0][2:5] for group in groups]
    assert rows == [["20 to 80", "0.60&times;", "4 of 5"], ["128", "0.50&times;", "1 of 1"]]


def test_the_floor_is_that_of_the_functions_language() -> None:
    made = with_peers(rust_fast_a=[2.5, 9, 9])
    assert result.floor_of(made, made["cells"][0], "linux") == 1.0
    assert result.floor_of(made, made["cells"][0], "fast/a") is None
    made["functions"]["floor@rust"] = made["functions"]["floor@c"]
    made["cells"][0]["ns"]["floor@rust"] = [1.5, 1.5, 1.5]
    assert result.floor_of(made, made["cells"][0], "fast/a") == 1.5
    assert result.floor_of(made, made["cells"][0], "linux") == 1.0


def test_report_begins_with_functions_and_machine() -> None:
    page = make_report(made_result())
    top = page[page.index("<body>") : page.index("<table")]
    for text in ("carry_sum()", "an empty function", "(C 1.00 ns)", "A CPU", "A kernel", "gcc 1"):
        assert text in top, text
    assert "2026-01-02 03:04 UTC" in top and "1 of 48 samples (2.1 %)" in top


def report_warnings(made: result.Result) -> list[str]:
    """Returns the warnings in the red box at the top of a report."""
    page = make_report(made)
    box = re.search(r'<h1>[^<]*</h1>\s*<div class="doubts broken" id="doubts">(.*?)</div>', page)
    return re.findall(r"<p>(.*?)</p>", box[1]) if box else []


def test_missing_measurements_are_first_and_red() -> None:
    made = made_result()
    assert report_warnings(made)[0].startswith("Not measured: sum of sizes that vary")
    made["cells"].append(made["cells"][0] | {"mode": "imix", "size": 0, "offset": 0})
    varied = "sum of sizes that vary, against the fastest peer (the worst)"
    assert report_warnings(made)[0] == f"Not measured: {varied}: random 1 to 64; random 1 to 1,500."
    made["cells"].pop()
    del made["cells"][1]["ns"]["carry"]
    made["cells"][1]["speedup"] = {}
    assert report_warnings(made)[1:5] == [
        "Not measured: sum of 1,500 bytes, hot, against the fastest peer.",
        "Not measured: the same, against Linux.",
        f"Not measured: {varied}.",
        "The library has no time in 1 of 3 cells.",
    ]
    assert made["cells"][1]["ns"]["linux"], "others have one"
    made["method"] |= {"taken": 1000, "discarded": 612}
    assert report_warnings(made)[0] == (
        "This machine was too noisy for some headlines, whose 95 % intervals are wider than a "
        "tenth of the speed (61 % of the samples were thrown away). "
        "sum of 1,500 bytes, hot, against the fastest peer: no samples are left; "
        "the same, against Linux: no samples are left."
    )
    assert '<td class="broken" title="not measured">none</td>' in make_report(made)
    claimed = make_report(made).split("What the library is built for")[1].split("</table>")[0]
    assert '<span class="broken">not measured</span>' in claimed and "&ndash;" not in claimed


def clock_rows(made: result.Result) -> list[list[str]]:
    return cells_of(make_report(made).split('id="clock"')[1].split("</table>")[0])[1:]


def test_report_names_functions_that_lower_the_clock() -> None:
    made = made_result()
    section = make_report(made).split('id="clock"')[1].split("<h2")[0]
    assert "No function lowers the clock by more than 5 %." in section
    made["cells"][1]["clock"] |= {"carry": 1.6, "dpdk": 1.05}
    made["cells"][2]["clock"] |= {"carry": 1.25}
    made["method"]["lowered"] = 24
    assert clock_rows(made) == [
        *(["Internet checksum", "libcarry", "2 of 3", "1,500", "62 %", "hot, 1,500"],)
    ]
    page = make_report(made)
    assert "24 samples beside a lower clock" in page
    slow = re.search(r'<td class="win" title="([^"]*)">10.0 &darr;</td>', page)
    assert slow and slow[1] == "10.0 to 10.0, at 62 % of the clock"


def test_all_cells_are_tallied() -> None:
    page = make_report(made_result())
    rows = cells_of(re.search(r'<table id="tally".*?</table>', page, re.DOTALL)[0])
    speeds = ["0.67&times;", "2.00&times;", "2.00&times;"]
    assert rows[1:] == [["Internet checksum", "carry_sum()", "3", "2", "0", "1", *speeds]]


def test_plot_has_the_fastest_variant_of_a_peer() -> None:
    times = {
        "rust_fast_a": [9, 70, 70],
        "rust_fast_b": [9, 20, 30],
        "python_snake_a": [99, 999, 999],
    }
    page = make_report(with_peers(**times))
    drawings = "".join(re.findall(r"<svg.*?</svg>", page, re.DOTALL))
    assert "fast/b" in drawings and "libcarry" in drawings and "empty function" in drawings
    assert "fast/a" not in drawings and "snake/a" not in drawings
    assert "var(--ours)" in drawings and not re.search(r"#[0-9a-f]{6}", drawings), "day and night"
    assert page.count("snake/a: not drawn, more than 10 times as slow everywhere") == 2
    tables = "".join(re.findall(r"<table.*?</table>", page, re.DOTALL))
    assert "fast/a" in tables and "snake/a" in tables


def test_lines_are_drawn_to_the_largest_size_of_their_plot() -> None:
    made = made_result()
    at = [made["cells"][1] | {"size": size} for size in (20, 64, 1500)]
    small = plots.curves(at, ["carry"], 0, plots.SMALL)
    wide = plots.curves(at, ["carry"], plots.LEAST, plots.LARGEST)
    assert small == {"carry": [(20, 10.0), (64, 10.0)]}
    assert wide == {"carry": [(64, 10.0), (1500, 10.0)]}
    look = plots.looks(made, ["carry"])
    assert plots.small_plot(small, look, 9).get_xlim() == (0, 64)
    assert plots.wide_plot(wide, look).get_xlim() == (64, 1500)
    plots.plt.close("all")
    made["cells"] = at
    assert make_report(made).count("<svg") == 2


def test_peer_is_shown_with_its_flags() -> None:
    made = made_result()
    made["notes"]["c"] |= {"flags-linux": "-O9", "version-linux": "6.1", "flags-dpdk/fast": "-O3"}
    rows = cells_of(make_report(made).split('id="peers"')[1])
    assert [row[3:5] for row in rows[1:]] == [["6.1", "-O9"], ["", "fast: -O3"]]


def test_program_is_shown_with_the_size_of_its_capture() -> None:
    made = made_result()
    rows = (("carry check", 12.5, 2e8), ("tshark", 0.02, 1.6e7), ("tcpdump -vv", None, None))
    made["captures"] = {
        "programs": [
            {"program": name, "task": "verify", "gb_per_s": speed, "bytes": size, "peak_bytes": 5e6}
            for name, speed, size in rows
        ]
    }
    section = make_report(made).split('id="captures"')[1].split("<h2")[0]
    assert '<td class="win">12.5</td>' in section and section.count('class="win"') == 1
    assert [row[1:4] for row in cells_of(section)[1:]] == [
        ["carry check", "12.5", "200.0"],
        ["tshark", "0.02", "16.0"],
        ["tcpdump -vv", "missing", "&ndash;"],
    ]


def test_labels_are_spread_until_they_can_be_read() -> None:
    assert plots.spread([0.1, 0.5], 0.1) == [0.1, 0.5]
    moved = plots.spread([0.5, 0.5, 0.52, 0.99, 1.0], 0.1)
    assert moved == pytest.approx([0.5, 0.6, 0.7, 0.9, 1.0])


def test_without_losses_the_report_says_so() -> None:
    won = made_result()
    won["cells"] = won["cells"][1:]
    page = make_report(won)
    assert 'class="loss"' not in page and "No cell of 2 is slower" in page
    assert 'id="losses"' in page


def test_report_names_missing_and_wrong_functions() -> None:
    page = make_report(made_result())
    missing = re.search(r'<table id="missing".*?</table>', page, re.DOTALL)[0]
    assert "<td>absent</td><td>no such &lt;package&gt;</td>" in missing
    wrong = re.search(r'<table id="wrong".*?</table>', page, re.DOTALL)[0]
    assert "<td>astray</td><td>not timed</td><td>3 bytes: lost a byte</td>" in wrong


def test_functions_wrong_in_one_way_share_a_row() -> None:
    made = made_result()
    one, dead = made["wrong"][0], {"function": "dead", "limit": 0, "text": "ended by SIGILL"}
    made["wrong"] += [one | {"function": "linux"}, one | {"limit": 9}, dead]
    rows = cells_of(re.search(r'<table id="wrong".*?</table>', make_report(made), re.DOTALL)[0])
    assert [row[0] for row in rows[1:]] == ["astray, Linux &lt;csum&gt;", "astray", "dead"]
    assert rows[3][2] == "ended by SIGILL"
    made["wrong"] = [one | {"function": "dpdk/some"}]
    assert "<td>DPDK, some</td>" in make_report(made)


def test_a_result_without_some_peers_warns_of_that() -> None:
    made = made_result()
    assert "Missing peers: 1." in make_report(made).split("<table")[0]
    made["missing"] = []
    assert "Missing peers" not in make_report(made)


def test_the_winner_is_marked_and_the_floor_is_not() -> None:
    page = make_report(made_result())
    assert '<td class="win" title="10.0 to 10.0">10.0</td>' in page
    assert '<td class="floor" title="1.00 to 1.00">1.00</td>' in page
    assert page.count('class="win"') == 2, "one for each column of the tables"


def test_the_report_loads_nothing() -> None:
    page = make_report(made_result())
    assert page.count("<svg") == 2
    assert not re.search(r"<(script|link|img|iframe|object)\b|@import|\bsrc=", page)
    assert not re.search(r"url\((?!#)", page)
    assert not re.search(r'href="(?!#)', page)


# --- The README ---


@pytest.fixture
def short_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(readme, "ROWS", (("hot", 1500), ("latency", 1500)))
    (tmp_path / "r.json").write_text(result.dump(made_result()))
    return tmp_path


FRAME = "before\n<!-- table of {} -->\n{}<!-- end of the table -->\nbehind\n"


def test_the_table_is_the_results(short_rows: Path) -> None:
    made = readme.rewrite(FRAME.format("r.json", "old\n"), root=short_rows)
    assert made.startswith("before\n<!-- table of r.json -->\n") and made.endswith("\nbehind\n")
    assert "| bytes | libcarry | DPDK | Linux | empty |" in made
    assert "| 1,500 | **10.0** | 20.0 | 50.0 | 1.00 |" in made
    assert "| 1,500, latency | **15.0** | 30.0 | 60.0 | 1.00 |" in made
    assert "Missing: absent." in made
    assert "are 1 of 3 cells" in made and "the worst has 0.67 of" in made and "old" not in made
    assert readme.rewrite(made, root=short_rows) == made
    assert readme.rewrite(made.replace("60.0", "6.0"), root=short_rows) == made


@pytest.mark.parametrize(
    ("fetched", "title"),
    [("6.12.117-1~deb12u1", "Linux 6.12"), ("6.1.192-2", "Linux 6.1"), ("", "Linux")],
)
@pytest.mark.usefixtures("short_rows")
def test_linux_is_named_with_its_version(fetched: str, title: str) -> None:
    made = made_result()
    made["notes"]["c"] = {"version-linux": fetched}
    block = block_of(made)
    assert f"| DPDK | {title} | empty |" in block and f"times as fast as {title}." in block


def block_of(made: result.Result) -> str:
    """Returns the block for a result, as one line."""
    return " ".join(readme.make_block(made, "r.json").split())


@pytest.mark.usefixtures("short_rows")
def test_table_has_the_fastest_function_of_a_language() -> None:
    times = {"rust_slow_a": [9, 70, 70], "rust_fast_a": [9, 60, 60], "rust_fast_b": [9, 20, 30]}
    made = block_of(with_peers(**times, go_only_a=[9, 80, 90], python_snake_a=[900, 1000, 3000]))
    assert "| bytes | libcarry | DPDK | Linux | FAST, Rust | ONLY, Go | empty |" in made
    assert "| 1,500 | **10.0** | 20.0 | 50.0 | 20.0 | 80.0 | 1.00 |" in made
    assert "fast/b; only/a." in made
    assert "snake/a (Python) takes 100 to 200 times as long." in made


@pytest.mark.usefixtures("short_rows")
def test_function_without_a_column_may_win_a_row() -> None:
    hint = "In a row without bold another variant or peer is the fastest."
    assert hint not in block_of(with_peers(rust_fast_a=[9, 9, 3]))
    made = block_of(with_peers(rust_fast_a=[9, 9, 70], rust_fast_b=[9, 70, 3]))
    assert hint in made and "| 1,500, latency | 15.0 | 30.0 | 60.0 | 70.0 | 1.00 |" in made


def test_the_table_fits_into_the_source() -> None:
    lines = (SOURCE / "README.md").read_text().splitlines()
    assert len(lines) <= 250
    begin = next(i for i, line in enumerate(lines) if line.startswith("<!-- table of"))
    end = lines.index("<!-- end of the table -->")
    assert all(len(line) <= 100 for line in lines[begin:end])


SHORT_FRAME = "<!-- short table of r.json -->\nold\n<!-- end of the short table -->\n"


def rewritten(folder: Path, made: result.Result, text: str) -> str:
    (folder / "r.json").write_text(result.dump(made))
    return readme.rewrite(text, root=folder)


def test_a_further_cpu_has_a_short_table(short_rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readme, "SHORT", (("hot", 1500), ("latency", 1500)))
    made = made_result()
    made["machine"] |= {"family, model, stepping": "6 85 7"}
    shown = rewritten(short_rows, made, f"before\n{SHORT_FRAME}behind\n")
    assert shown.startswith("before\n<!-- short table of r.json -->\nA CPU, family, model and ")
    assert "6 85 7 (none), libcarry 1.0, 2026-01-02: 1 of 3 cells are lost" in shown
    assert "\n| bytes | 1,500 | 1,500, latency |\n|---|---:|---:|\n" in shown
    assert "\n| libcarry | **10.0** | **15.0** |\n" in shown
    assert "\n| fastest peer | 20.0 DPDK | 30.0 DPDK |\n<!-- end of the short table -->" in shown
    assert "thrown away" not in shown and rewritten(short_rows, made, shown) == shown


def test_table_reports_missing_measurements(
    short_rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readme, "SHORT", (("hot", 1500), ("latency", 1500)))
    made = made_result()
    made["machine"] |= {"family, model, stepping": "6 85 7"}
    made["method"] |= {"taken": 100, "discarded": 61}
    del made["cells"][1]["ns"]["carry"]
    made["cells"][1]["speedup"] = {}
    shown = rewritten(short_rows, made, FRAME.format("r.json", "") + SHORT_FRAME)
    assert "| libcarry | not measured | **15.0** |" in shown
    assert "| fastest peer | 20.0 DPDK | 30.0 DPDK |" in shown, "no peer has won"
    assert "| 1,500 | not measured | 20.0 | 50.0 | 1.00 |" in shown
    line = " ".join(shown.split())
    assert "61 % of the samples had to be thrown away, so that the library has no time in 1" in line
    assert "At 1,500 bytes it could not be measured." in line


def test_table_marks_functions_that_lower_the_clock(short_rows: Path) -> None:
    made = made_result()
    assert "↓" not in block_of(made)
    made["cells"][1]["clock"]["carry"] = 1.6
    assert "| 1,500 | **10.0↓** | 20.0 |" in block_of(made)
    assert "↓: the function lowers the clock of this CPU there, to 62 % at worst." in block_of(made)
    for cell in made["cells"]:
        cell["clock"] = {"function outside of the table": 1.6}
    assert "lowers the clock" not in block_of(made)


@pytest.mark.usefixtures("short_rows")
def test_the_readme_says_what_a_sum_costs_beside_other_work() -> None:
    said = (
        "Beside a microsecond of other work the library adds 40 ns to it, the fastest peer (DPDK)"
    )
    assert f"{said} 20 ns." in block_of(beside_result()) and "microsecond" not in block_of(
        made_result()
    )


def test_comments_on_losses_are_kept(tmp_path: Path) -> None:
    frame = "<!-- losses of r.json -->\n{}<!-- end of the losses -->\n"
    made = made_result()
    shown = rewritten(tmp_path, made, frame.format(""))
    row = "| `sum` hot 64 | 1 of 1 | 0.67 at 64 from 1: 3.00 ns, Linux <csum> 2.00 |"
    assert f"\n{row} |\n<!-- end" in shown
    told = shown.replace(f"{row} |", f"{row} by words: 2 ns |").replace("0.67", "0.07")
    assert f"\n{row} by words: 2 ns |\n" in rewritten(tmp_path, made, told)
    made["cells"] = made["cells"][1:]
    assert "by words" not in rewritten(tmp_path, made, told), "it is lost no more"


def test_a_readme_without_a_table_is_refused(short_rows: Path) -> None:
    with pytest.raises(readme.ReadmeError, match="no table"):
        readme.rewrite("before\n", root=short_rows)
    with pytest.raises(result.ResultError):
        readme.rewrite(FRAME.format("none.json", ""), root=short_rows)


def test_the_documents_show_results_of_the_tree() -> None:
    for path in readme.DOCUMENTS:
        assert readme.rewrite(path.read_text()) == path.read_text(), path.name


def test_cells_cover_every_kind_of_work() -> None:
    for quick in (False, True):
        cells = make_cells(quick)
        assert len(set(cells)) == len(cells)
        assert {cell.work for cell in cells} == set(process.WORKS) == {work.name for work in WORKS}
