# SPDX-License-Identifier: MIT
"""The static programs need no other files, and behave like the dynamic tool."""

from __future__ import annotations

import bz2
import errno
import gzip
import json
import lzma
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import CPUS, SOURCE, Root, ask, program

BROKEN = SOURCE / "examples/broken.pcap"
GOOD = SOURCE / "examples/good.pcap"
BAD = 1
LIBRARIES = "jansson zlib libzstd liblzma liblz4 bzip2 asmjit glibc libpcap"
PACKED = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}
PROGRAMS = {"zst": ["zstd", "-q", "-c"], "lz4": ["lz4", "-q", "-c"]}
# The features that the static program reports as missing.
LACKS = {
    ("sites", "/carry"): "built without 'sites'",
    ("xstate", "prof", "--", "/carry"): "built without 'xstate prof'",
    ("xstate", "leavers", "--", "/carry"): "this carry is static, and has no libcarry-leavers.so",
    ("bench", "hook", "--quick"): "this carry is static, without other objects",
    ("selftest", "--library=/carry"): "this carry is static",
    ("audit", "/"): "carry-audit is not installed",
}


def readelf(option: str, path: Path) -> str:
    done = ask("readelf", "-W", option, path)
    assert done.returncode == 0
    return done.stdout


def corpus() -> list[str]:
    folder = Path(os.environ.get("CARRY_CORPUS", ""))
    return [str(path) for path in sorted(folder.iterdir())] if folder.is_dir() else []


def packed(ending: str) -> bytes:
    data = BROKEN.read_bytes()
    if ending in PACKED:
        return PACKED[ending](data)
    if not shutil.which(PROGRAMS[ending][0]):
        pytest.skip(f"{PROGRAMS[ending][0]} is not installed (Debian package of that name)")
    return subprocess.run(PROGRAMS[ending], input=data, capture_output=True, check=True).stdout


# --- The files ---


@pytest.mark.parametrize("cpu", CPUS)
def test_nothing_is_loaded(cpu: str) -> None:
    path = program(cpu)
    segments, dynamic = readelf("-l", path), readelf("-d", path)
    assert "INTERP" not in segments and "GNU_RELRO" in segments
    assert re.search(r"GNU_STACK .* RW ", segments)
    assert not re.search(r"NEEDED|RPATH|RUNPATH|TEXTREL", dynamic)
    assert "Flags: PIE" in dynamic
    assert ".symtab" not in readelf("-S", path) and ".debug" not in readelf("-S", path)
    assert re.search(r"Build ID: [0-9a-f]{40}", readelf("-n", path))


@pytest.mark.parametrize("cpu", CPUS)
def test_no_trace_of_the_build(cpu: str) -> None:
    """The program names no folder of the build."""
    data = program(cpu).read_bytes()
    assert str(SOURCE).encode() not in data
    assert os.environ["CARRY_STATIC"].encode() not in data


def test_licences() -> None:
    """The licences of linked libraries are in a file next to the program."""
    (path,) = program(CPUS[0]).parent.glob("carry-*-linux-licences.txt")
    text = path.read_text()
    for word in (
        "MIT License",
        "GNU C Library",
        "jansson",
        "libpcap",
        "zstd",
        "GCC RUNTIME",
        "GNU LESSER",
    ):
        assert word in text


# --- In a root with nothing else ---


def test_version(root: Root) -> None:
    """--version lists the libraries that are linked in."""
    said = root.run("--version").stdout
    assert re.findall(r"[a-z]\w+(?= \d)", re.findall(r"^Libraries .*", said, re.M)[0]) == (
        LIBRARIES.split()
    )
    assert "unknown" not in said


def test_captures(root: Root, dynamic: Path) -> None:
    """The report on a capture equals the report of the dynamic tool, except for its first line."""
    shown = ask(dynamic, "check", BROKEN).stdout
    done = root.run("check", root.give(BROKEN))
    assert (done.returncode, done.stderr) == (BAD, "")
    assert done.stdout.splitlines()[1:] == shown.splitlines()[1:]


@pytest.mark.parametrize("ending", [*PACKED, *PROGRAMS])
def test_compressed_captures(root: Root, ending: str) -> None:
    """Captures of each compression are read."""
    (root.folder / "packed").write_bytes(packed(ending))
    assert root.run("check", "/packed").returncode == BAD


def test_filters(root: Root) -> None:
    """Filters work, by the libpcap that is linked in."""
    done = root.run("check", "--filter=udp port 53", root.give(BROKEN))
    assert (done.returncode, done.stderr) == (BAD, "")
    assert "3 of 11 packets" in done.stdout


def test_jit(root: Root) -> None:
    """A capture is checked with functions made at run time."""
    assert root.run("check", "--jit=1", root.give(BROKEN)).returncode == BAD


def test_selftest(root: Root) -> None:
    """carry selftest runs each kind of function."""
    done = root.run("selftest", "--json", "--seed=7")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    tested = {row["function"] for row in report["tests"] if row["calls"]}
    assert tested >= {"sum", "sum_copy", "crc32c", "copy", "packet", "jit", "patch"}


def test_kernels_are_compared_with_what_was_proven(root: Root) -> None:
    """Kernels are recognised without symbols, on any CPU. Kernels may differ from the proven ones
    if another compiler built them."""
    done = root.run("selftest", "--proof", "--json")
    states = {row["state"] for row in json.loads(done.stdout)["kernels"]}
    assert states
    assert (done.returncode, done.stderr) == (int("different" in states), "")


BENCHES = {"copy": "copy", "crc": "crc32c", "sum": "sum"}  # with the tables of kernels


@pytest.mark.parametrize("bench", BENCHES)
def test_bench_times_each_kernel_that_can_run(root: Root, bench: str) -> None:
    done = root.run("bench", bench, "--quick", "--size=64", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    cells = json.loads(done.stdout)["cells"]
    kernels = json.loads(root.run("cpu", "--json").stdout)[BENCHES[bench]]["kernels"]
    timed = {cell["subject" if bench == "copy" else "kernel"] for cell in cells}
    assert {kernel["name"] for kernel in kernels if kernel["available"]} <= timed
    assert all(cell["ns"] > 0 for cell in cells)


def test_bench_times_patched_sites(root: Root) -> None:
    """Sites are patched as far as a root allows: without /proc, some backends do not work."""
    done = root.run("bench", "patch", "--quick", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    timed = {case["form"] for case in report["cases"]}
    assert {"direct", "patched-call", "patched-inline", "patched-nop", "branch-on"} <= timed
    assert ("retpoline" in timed) == (report["machine"]["arch"] == "x86_64")
    assert all(case["ns"] > 0 for case in report["cases"])
    committed = {(each["work"], each["thread"]) for each in report["commits"] if each["available"]}
    assert {("call", True), ("branch", True), ("batch", True)} <= committed


def test_calls_are_patched(own_root: Root) -> None:
    rows = json.loads(own_root.run("selftest", "--json").stdout)["tests"]
    (note,) = (row["note"] for row in rows if row["function"] == "patch")
    assert note.startswith("text written with ")


def test_live(own_root: Root) -> None:
    """carry live watches an interface."""
    done = own_root.run("live", "--json", "--quiet", "--duration=1", "lo")
    if "CAP_NET_RAW" in done.stderr:
        pytest.skip("only root, or CAP_NET_RAW, may capture packets: the step runs as neither")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", LACKS, ids=" ".join)
def test_missing_features_are_reported(own_root: Root, words: tuple[str, ...]) -> None:
    done = own_root.run(*words)
    assert done.returncode == 3
    assert LACKS[words] in done.stderr and done.stderr.count("\n") == 1


# --- Comparison with the dynamic tool ---


def both(dynamic: Path, *arguments: str, env: dict[str, str] | None = None) -> tuple[Any, Any]:
    static = program(os.uname().machine)
    done = [ask(path, *arguments, env=env) for path in (static, dynamic)]
    return tuple((each.returncode, each.stdout, each.stderr) for each in done)


def test_kernels_are_equal(dynamic: Path) -> None:
    """Static and dynamic tool choose the same kernels."""
    static, other = both(dynamic, "cpu", "--json")
    assert static == other


def test_reports_are_equal(dynamic: Path) -> None:
    """Static and dynamic tool have the same report of each capture."""
    if not corpus():
        pytest.skip("no captures in CARRY_CORPUS, which `make test` sets if they are there")
    static, other = both(dynamic, "check", "--json", *corpus())
    assert static == other
    assert static[1].count("\n") == len(corpus())


def test_reports_are_equal_in_a_root_and_on_each_architecture(root: Root, dynamic: Path) -> None:
    """The static tool has the dynamic tool's reports in an empty root, on each architecture."""
    if not corpus():
        pytest.skip("no captures in CARRY_CORPUS, which `make test` sets if they are there")
    names = [root.give(Path(path)) for path in corpus()]
    static = root.run("check", "--json", *names).stdout
    shown = ask(dynamic, "check", "--json", *corpus()).stdout
    assert static == shown.replace(f'"{Path(corpus()[0]).parent}/', '"/')


@pytest.mark.parametrize("name", ["C", "C.UTF-8", "en_US.UTF-8", "de_DE.utf8", ""])
def test_characters_are_as_the_locale_says(own_root: Root, name: str) -> None:
    """The locale is honoured even if the system does not have it."""
    shown = own_root.run("check", own_root.give(BROKEN), env={"LC_ALL": name, "LANG": "C"}).stdout
    assert ("→" in shown) == ("utf" in name.lower())
    assert ("->" in shown) != ("→" in shown)


# --- Modules that a system could load into the program ---


def test_names_are_looked_up_without_modules(own_root: Root) -> None:
    """Hosts and ports are found in files, even if /etc/nsswitch.conf names a module."""
    etc = own_root.folder / "etc"
    etc.mkdir()
    (etc / "nsswitch.conf").write_text("hosts: nosuch files\nservices: nosuch\nprotocols: nosuch\n")
    (etc / "hosts").write_text("10.0.0.9 router\n")
    (etc / "services").write_text("domain 53/udp\n")
    capture = own_root.give(BROKEN)
    log = own_root.folder / "log"
    command = ["check", "--filter=host router and udp port domain", capture]
    if shutil.which("strace") and os.geteuid() == 0:
        traced = ["strace", "-f", "-qq", "-o", str(log), "-e", "trace=%file"]
        done = ask(*traced, "chroot", own_root.folder, *own_root.start, *command)
        opened = log.read_text()[log.read_text().index('execve("/carry"') :]
        assert "/etc/services" in opened and ".so" not in opened and "locale" not in opened
    else:
        done = own_root.run(*command)
    assert done.stderr == "" and done.returncode == BAD


# --- Linux 4.18 ---


@pytest.fixture(scope="session")
def old_kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("old") / "old_kernel"
    source = SOURCE / "tests/install/static/old_kernel.c"
    subprocess.run(["gcc", "-Wall", "-Werror", "-o", path, source], check=True)
    return path


def test_the_filter_refuses(old_kernel: Path) -> None:
    """The filter refuses pidfd_open(2), which was added in Linux 5.3."""
    code = "import os\ntry: os.pidfd_open(os.getpid())\nexcept OSError as e: print(e.errno)"
    done = ask(old_kernel, shutil.which("python3") or "/usr/bin/python3", "-c", code)
    assert (done.stdout, done.stderr) == (f"{errno.ENOSYS}\n", "")


@pytest.mark.parametrize(
    "words",
    [
        ["selftest"],
        ["check", "-j4", str(SOURCE / "examples")],
        ["fix", "--dry-run", str(BROKEN)],
        ["explain", str(BROKEN), "3"],
        ["live", "--duration=1", "lo"],
        ["cpu"],
        ["--version"],
    ],
    ids=lambda words: words[0],
)
def test_no_later_system_call_is_needed(old_kernel: Path, words: list[str]) -> None:
    path = program(os.uname().machine)
    usual = ask(path, *words)
    old = ask(old_kernel, path, *words)
    assert (old.returncode, old.stderr) == (usual.returncode, usual.stderr)
