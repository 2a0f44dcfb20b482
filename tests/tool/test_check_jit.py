# SPDX-License-Identifier: MIT
"""`carry check` has the same output with and without --jit, for every capture and every mode."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest
from captures import ICMP, ICMPV6, TCP, UDP, V6, ethernet, network, packet, pcap
from carry_tool import BAD, CLEAN, ERROR, LEVEL, SOURCE, Run, fewer, wait_until_read

CORPUS = Path(os.environ.get("CARRY_CORPUS", SOURCE.parent / "shared/captures"))
EXAMPLES = sorted((SOURCE / "examples").glob("*.pcap*"))
MODES = [[], ["--json"], ["--tsv"], ["--bad-only"], ["--bad-only", "--json", "--partial=report"]]


@pytest.fixture(scope="module", autouse=True)
def _built(carry: Run) -> None:
    if "built without" in carry("check", "--jit", EXAMPLES[0]).stderr:
        pytest.skip("the tool was built without functions for packets")


def mixture(count: int) -> bytes:
    """Returns a capture of various packets; some are damaged, offloaded or truncated."""
    chance = random.Random(1071)
    frames = []
    for _ in range(200):
        protocol = chance.choice((TCP, TCP, TCP, UDP, UDP, ICMP))
        ends = V6 if protocol != ICMP and chance.random() < 0.3 else {}
        sums = chance.choice(("good",) * 12 + ("bad", "partial"))
        payload = chance.randbytes(chance.choice((0, 6, 100, 536, 1400)))
        tags = chance.choice(((), (), (), (7,), (7, 8)))
        inner = packet(protocol, payload, sums=sums, **ends)
        if chance.random() < 0.2:
            inner = network("10.0.0.1", "10.0.0.2", chance.choice((4, 47, 200)), inner)
        frames.append(ethernet(inner, tags))
    frames.append(ethernet(packet(ICMPV6, **V6)))
    frames += [frame[: chance.randrange(len(frame))] for frame in frames[:40]]
    return pcap([chance.choice(frames) for _ in range(count)])


def expect_same(carry: Run, *arguments: str | Path, jit: tuple[str, ...]) -> None:
    without = carry("check", *arguments)
    for option in jit:
        done = carry("check", option, *arguments)
        assert done.stdout == without.stdout
        assert (done.returncode, done.stderr) == (without.returncode, without.stderr)


@pytest.mark.parametrize("mode", MODES, ids=" ".join)
def test_generated_captures(carry: Run, tmp_path: Path, mode: list[str]) -> None:
    """Reports with and without --jit are the same for packets of many kinds."""
    path = tmp_path / "mixture.pcap"
    path.write_bytes(mixture(60000))
    for threads in ("1", "3"):
        expect_same(carry, "--threads", threads, *mode, path, jit=("--jit", "--jit=1", "--jit=300"))


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no captures in {CORPUS}: see CARRY_CORPUS")
@pytest.mark.parametrize("mode", MODES, ids=" ".join)
def test_real_captures(carry: Run, mode: list[str]) -> None:
    """Reports with and without --jit are the same for real captures. At level short, each capture
    is checked in one mode."""
    first = MODES.index(mode) if LEVEL == "short" else 0
    for path in fewer([*EXAMPLES, *sorted(CORPUS.iterdir())][first:], len(MODES)):
        expect_same(carry, *mode, path, jit=("--jit=1",))


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no captures in {CORPUS}: see CARRY_CORPUS")
def test_many_captures_in_one_run(carry: Run) -> None:
    """Reports remain the same if functions that were generated for one capture are used for the
    next."""
    for options in (["-t"], ["-t", "--no-tunnels"], ["-t", "--udp-zero6=ok", "-p", "udp,ip"]):
        expect_same(carry, "-j2", *options, CORPUS, jit=("--jit=1", "--jit=20"))


def has_functions(tool: str, *options: str) -> bool:
    """Checks whether the waiting tool has executable memory that is not mapped from a file."""
    with subprocess.Popen(
        [tool, "check", "--quiet", "--threads=1", *options, "-"], stdin=subprocess.PIPE
    ) as child:
        assert child.stdin
        child.stdin.write(mixture(2000))
        child.stdin.flush()
        wait_until_read(child)
        maps = Path(f"/proc/{child.pid}/maps").read_text().splitlines()
        child.stdin.close()
        assert child.wait() == BAD
    return any("x" in rights and not path for _, rights, _, _, _, *path in map(str.split, maps))


def test_functions_are_made(tool: str) -> None:
    assert has_functions(tool, "--jit=1")
    assert has_functions(tool, "--jit=100")
    assert not has_functions(tool, "--jit=100000000")
    assert not has_functions(tool, "--jit=1", "--no-tunnels")
    assert not has_functions(tool)


@pytest.mark.parametrize("value", ["0", "-1", "x", "", "1k", "99999999999999999999"])
def test_count_is_a_number(carry: Run, value: str) -> None:
    done = carry("check", f"--jit={value}", EXAMPLES[0])
    assert done.returncode == ERROR
    assert f"--jit takes a number of at least 1, not '{value}'" in done.stderr


def test_largest_count(carry: Run) -> None:
    good = SOURCE / "examples/good.pcap"
    assert carry("check", "--jit=18446744073709551615", good).returncode == CLEAN
