# SPDX-License-Identifier: MIT
"""Peer processes in other languages: Python's is real, the builds for Go and Rust use fake
tools."""

from __future__ import annotations

import os
import random
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from carry_tool import SOURCE

pytest.importorskip("numpy", reason="python3-matplotlib is not installed, nor numpy with it")
pytest.importorskip("dpkt", reason="python3-dpkt is not installed")

PEERS = SOURCE / "bench/peers"
sys.path.insert(0, str(SOURCE / "bench"))

from measure.build import build_language, prepare_work  # noqa: E402
from measure.plan import DATA_MIB, MIX_CALLS, Cell  # noqa: E402
from measure.process import Function, PeerProcess, ProcessError, Verdict  # noqa: E402

DPKT = Function("dpkt", "sum", ("seedless",))


def plain_sum(data: bytes) -> int:
    words = struct.unpack(f"<{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2))
    total = sum(words)
    return total and (total - 1) % 0xFFFF + 1


def write_work(folder: Path, wrong: int | None = None) -> None:
    """Writes the files that CONTRACT.md calls WORK; the expected sum of size `wrong` is wrong."""
    data = random.Random(1).randbytes(4096)
    (folder / "data").write_bytes(data)
    lines = []
    for size in range(2000):
        should = plain_sum(data[7 : 7 + size]) ^ (size == wrong)
        lines += [f"7 0 {size} 0 {should}", f"7 0 {size} 9 0"]
    (folder / "vectors").write_text("\n".join(lines) + "\n")
    (folder / "mix-some").write_bytes(struct.pack("<3I", 1, 2, 40) * MIX_CALLS)


def test_vectors_hold_the_sum_of_their_bytes(tmp_path: Path) -> None:
    """The program that makes the vectors of a benchmark compiles, and its sums are right."""
    work = prepare_work([Cell("sum", "hot", size=1500, offset=3)], tmp_path)
    data = (work / "data").read_bytes()
    assert len(data) >= DATA_MIB << 20
    rows = [list(map(int, line.split())) for line in (work / "vectors").open()]
    whole = [row for row in rows if row[:3] == [3, 0, 1500] and row[3] == 0]
    assert whole
    for offset, _, size, _, should in whole:
        assert plain_sum(data[offset : offset + size]) % 0xFFFF == should % 0xFFFF


def build(language: str, out: Path, *names: str, **environment: str) -> subprocess.CompletedProcess:
    command = [sys.executable, PEERS / language / "build", out, *names]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=600, env=os.environ | environment
    )


@pytest.fixture
def python(tmp_path: Path) -> Iterator[PeerProcess]:
    done = build("python", tmp_path, "dpkt")
    if done.stdout:
        pytest.skip(f"the Python of peers: {done.stdout.strip()}")
    assert (done.returncode, done.stderr) == (0, "")
    write_work(tmp_path)
    process = PeerProcess(tmp_path / "run", tmp_path)
    process.start()
    yield process
    process.stop()


def test_python_process_lists_built_functions(python: PeerProcess) -> None:
    functions, notes = python.list()
    assert functions == [Function("floor", "sum", ("floor",)), DPKT]
    assert notes.keys() == {"compiler", "version-dpkt"}


def test_python_process_verifies(python: PeerProcess, tmp_path: Path) -> None:
    assert python.verify(DPKT) == Verdict()
    write_work(tmp_path, wrong=1471)
    assert python.verify(DPKT) == Verdict(1471, "wrong sum at offset 7")


@pytest.mark.parametrize("mode", ["hot", "latency", "some"])
def test_python_process_times(python: PeerProcess, mode: str) -> None:
    for sample in python.times([f"dpkt {mode} 0 0 40 {first} 500" for first in (0, MIX_CALLS - 9)]):
        assert min(sample) > 0


@pytest.mark.parametrize(
    "question",
    ["dpkt hot 4000 0 97 0 1", "nosuch hot 0 0 1 0 1", "dpkt none 0 0 1 0 1", "dpkt hot"],
)
def test_python_process_survives_wrong_questions(python: PeerProcess, question: str) -> None:
    with pytest.raises(ProcessError, match="error"):
        python.times([question])
    assert python.verify(DPKT) == Verdict()


# --- Go ---

FAKE_GO = """#!/bin/sh
last=
for last; do :; done
case "$1 $2" in
"env GOVERSION") echo go1.19.8 ;;
"mod download")
    case "$last" in
    NOWHERE*) echo "{\\"Error\\": \\"dial: no network\\"}"; exit 1 ;;
    esac
    dir="$GOPATH/$last"
    mkdir -p "$dir/pkg/tcpip/checksum" "$dir/tun"
    echo "package some // of $last" | tee "$dir/tun/checksum.go" >"$dir/pkg/tcpip/checksum/sum.go"
    echo "{\\"Dir\\": \\"$dir\\"}" ;;
"build ./"*)
    if grep -q "2026" "$2"/*.go; then
        echo "# bench/some" >&2
        echo "sum.go:1: too new" >&2
        exit 1
    fi ;;
"build -o") cat table.go >"$3" ;;
esac
"""


def write_program(folder: Path, name: str, text: str) -> dict[str, str]:
    """Writes a shell script into a folder; returns an environment whose PATH finds it."""
    program = folder / "bin" / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(text)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"PATH": f"{program.parent}:/usr/bin:/bin"}


def fake_go(folder: Path, refused: str = "NOWHERE") -> dict[str, str]:
    return write_program(folder, "go", FAKE_GO.replace("NOWHERE", refused))


def test_older_version_is_built_if_the_newest_fails(tmp_path: Path) -> None:
    done = build("go", tmp_path / "out", "gvisor", **fake_go(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    table = (tmp_path / "out/run").read_text()
    assert 'add("gvisor", "v0.0.0-2023' in table and 'import p0 "bench/gvisor"' in table
    copied = {path.name for path in (tmp_path / "out/source/gvisor").iterdir()}
    assert copied == {"sum.go", "bench_peer.go"}


def test_unavailable_module_is_reported(tmp_path: Path) -> None:
    done = build(
        "go", tmp_path / "out", "gvisor", "wireguard-go", **fake_go(tmp_path, "gvisor.dev")
    )
    assert done.stdout == (
        "missing gvisor module gvisor.dev/gvisor could not be downloaded: dial: no network\n"
    )
    table = (tmp_path / "out/run").read_text()
    assert "wireguard-go" in table and "gvisor" not in table


# --- Rust ---

FAKE_RUSTC = """#!/bin/sh
case "$1" in
-vV) printf 'rustc 1.91.0\\nhost: some-host\\n' ;;
*) cat table.rs >run.table; echo "$@" >run.command ;;
esac
"""
FAKE_CARGO = """#!/bin/sh
fail() {
    printf 'error: %s\\n\\nCaused by:\\n  %s\\n' "$1" "$2" >&2
    exit 101
}
case "$1:$PWD" in
fetch:*smoltcp*) fail "failed to get it" "no network" ;;
build:*pnet_native) fail "cannot compile it" "too old" ;;
build:*) echo "$PWD $RUSTFLAGS" >>../built ;;
esac
"""


def test_missing_rust_peer_does_not_affect_others(tmp_path: Path) -> None:
    write_program(tmp_path, "rustc", FAKE_RUSTC)
    path = write_program(tmp_path, "cargo", FAKE_CARGO)
    done = build("rust", tmp_path / "out", "smoltcp", "pnet", "etherparse", **path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "missing smoltcp crate smoltcp could not be downloaded: no network\nmissing pnet too old\n"
    )
    source = tmp_path / "out/source"
    table = (source / "run.table").read_text()
    assert '("etherparse/native", peer_etherparse_native()),' in table
    assert "pnet" not in table and "smoltcp" not in table
    assert "dylib=peer_etherparse_x86_64" in (source / "run.command").read_text()
    flags = dict(line.split(" ", 1) for line in (source / "built").read_text().splitlines())
    assert flags[str(source / "peer_etherparse_native")] == "-C target-cpu=native"
    assert flags[str(source / "peer_etherparse_x86_64")] == ""


@pytest.mark.parametrize(
    ("language", "peer", "compiler"), [("go", "gvisor", "go"), ("rust", "smoltcp", "rustc")]
)
def test_language_without_compiler_is_missing(
    tmp_path: Path, language: str, peer: str, compiler: str
) -> None:
    done = build(language, tmp_path / "out", peer, PATH=str(tmp_path))
    assert (done.returncode, done.stderr) == (1, f"{compiler} is not installed\n")


def test_old_compiler_is_reported(tmp_path: Path) -> None:
    path = write_program(tmp_path, "rustc", FAKE_RUSTC.replace("1.91", "1.63"))
    done = build("rust", tmp_path / "out", "pnet", **path)
    assert (done.returncode, done.stderr) == (1, "rustc 1.63.0: at least 1.74 is needed\n")


def test_without_peers_there_is_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_program(tmp_path, "cargo", FAKE_CARGO)["PATH"]
    write_program(tmp_path, "rustc", FAKE_RUSTC)
    monkeypatch.setenv("PATH", path)
    out, missing = build_language("rust", ["smoltcp"], tmp_path / "out", tmp_path, tmp_path)
    assert (out, missing.keys()) == (None, {"smoltcp"})
