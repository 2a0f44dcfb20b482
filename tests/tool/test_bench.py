# SPDX-License-Identifier: MIT
"""`carry bench`: its options and the shape of its output, but never the times."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from captures import TCP, ethernet, packet, pcap
from carry_tool import CLEAN, ERROR, HANGS, MIB, Run, wait_until_read
from schemas import conforming

pytestmark = pytest.mark.not_sanitized

REFERENCES = ["floor", "plain", "load"]
MIXES = ["mixed64", "mixed1500", "imix"]
BESIDE = ["beside", "beside-imix"]
MODES = ["hot", "latency", *MIXES, *BESIDE]

# Options for the shortest run of the tool, with one cell.
ONE = ["--quick", "--mode", "hot", "--size", "64", "--align", "0"]


def masked(mask: str) -> dict[str, str]:
    return {**os.environ, "CARRY_CPU_MASK": mask}


# The benchmarks of kernels, and the tables of `carry cpu` that list the measured kernels.
KERNELS = pytest.mark.parametrize(("bench", "table"), [("sum", "sum"), ("crc", "crc32c")])


def measure(carry: Run, *arguments: str, bench: str = "sum", mask: str = "") -> dict[str, Any]:
    done = carry("bench", bench, "--json", *arguments, env=masked(mask))
    assert (done.returncode, done.stderr) == (CLEAN, "")
    return conforming("bench_kernels", done.stdout)


def available(carry: Run, mask: str = "", table: str = "sum") -> list[str]:
    shown = conforming("cpu", carry("cpu", "--json", env=masked(mask)).stdout)
    return [kernel["name"] for kernel in shown[table]["kernels"] if kernel["available"]]


def kernels_of(report: dict[str, Any]) -> list[str]:
    """Returns the kernels whose times a report contains, in the order of its first cell."""
    return list(dict.fromkeys(cell["kernel"] for cell in report["cells"]))


def places(report: dict[str, Any]) -> list[tuple[str, int | None, int | None]]:
    return list(dict.fromkeys((c["mode"], c["size"], c["align"]) for c in report["cells"]))


def test_bench_alone_lists_the_benchmarks(carry: Run) -> None:
    for arguments in ([], ["--help"], ["-h"]):
        done = carry("bench", *arguments)
        assert (done.returncode, done.stderr) == (CLEAN, "")
        names = ("sum", "crc", "copy", "capture", "patch")
        assert all(f"\n  {name} " in done.stdout for name in names)


def test_unknown_benchmark(carry: Run) -> None:
    """An unknown benchmark is refused in one line."""
    done = carry("bench", "nosuch")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert "nosuch" in done.stderr and done.stderr.count("\n") == 1


@KERNELS
def test_quick_times_every_kernel_in_every_mode(carry: Run, bench: str, table: str) -> None:
    report = measure(carry, "--quick", bench=bench)
    assert kernels_of(report) == REFERENCES + available(carry, table=table)
    assert {place[0] for place in places(report)} == set(MODES)
    aligns = {mode: {place[2] for place in places(report) if place[0] == mode} for mode in MODES}
    assert aligns["hot"] > aligns["latency"] == {0}
    assert len(report["cells"]) == len(places(report)) * len(kernels_of(report))
    assert report["wrong"] == []


@KERNELS
def test_shape_of_a_report(carry: Run, bench: str, table: str) -> None:
    """A report names machine, kernels and cells, with times in order."""
    report = measure(carry, *ONE, bench=bench)
    assert report["bench"] == bench
    names = [kernel["name"] for kernel in report["kernels"] if kernel["available"]]
    assert names == available(carry, table=table)
    strings = ["cpu", "arch", "system", "libcarry", "compiler", "flags", "date"]
    assert all(isinstance(report["machine"][key], str) for key in strings)
    assert isinstance(report["machine"]["features"], list)
    assert report["load_bits"] in (128, 256, 512)
    assert {report["focus"], report["base"]} <= set(kernels_of(report))
    for cell in report["cells"]:
        assert 0 < cell["q1"] <= cell["ns"] <= cell["q3"]
        assert cell["bytes_per_ns"] == pytest.approx(cell["mean_size"] / cell["ns"], rel=1e-4)
        assert cell["speedup"] > 0
    assert {cell["above_floor"] for cell in report["cells"] if cell["kernel"] == "floor"} == {0}


def test_calls_beside_other_work(carry: Run) -> None:
    report = measure(carry, "--quick", "--mode", "beside", "--mode", "beside-imix")
    sizes = [("beside", size, 0) for size in (64, 256, 1500, 9000)]
    assert places(report) == [*sizes, ("beside-imix", None, None)]
    floors = [cell["above_floor"] for cell in report["cells"] if cell["kernel"] == "floor"]
    assert floors == [0] * len(places(report))
    done = carry("bench", "sum", "--quick", "--mode", "beside-imix", env=masked(""))
    assert "ns a turn, floor " in done.stdout and "ns added\n" in done.stdout
    assert done.stdout.count("\n     imix ") == 2


def test_a_mix_has_no_size_of_its_own(carry: Run) -> None:
    report = measure(carry, "--quick", "--mode", "mixed64", "--mode", "imix")
    assert places(report) == [("mixed64", None, None), ("imix", None, None)]
    means = {cell["mode"]: cell["mean_size"] for cell in report["cells"]}
    assert means["mixed64"] == pytest.approx((1 + 64) / 2, rel=0.02)
    assert means["imix"] == pytest.approx((7 * 40 + 4 * 576 + 1500) / 12, rel=0.02)


def test_options_choose_the_cells(carry: Run) -> None:
    report = measure(
        carry, "--quick", *["--mode", "latency", "--size", "20", "--size", "7", "--align", "3"]
    )
    assert places(report) == [("latency", 20, 3), ("latency", 7, 3)]
    sized = measure(carry, "--quick", "--size", "64", "--align", "0")
    assert [place[0] for place in places(sized)] == ["hot", "latency", "beside"]


@KERNELS
def test_sizes_interleave(carry: Run, bench: str, table: str) -> None:
    """Two sizes at their alignments are summed alternately. Other modes are measured only if
    named."""
    pairs = ["--interleave", "20@1,1500@3", "--interleave", "1,64"]
    cells = measure(carry, "--quick", *pairs, bench=bench)["cells"]
    chosen = [[(20, 1), (1500, 3)], [(1, 0), (64, 0)]]
    shown = [[(one["size"], one["align"]) for one in cell["pair"]] for cell in cells]
    count = len(REFERENCES) + len(available(carry, table=table))
    assert shown == [pair for pair in chosen for _ in range(count)]
    assert {(cell["mode"], cell["size"], cell["align"]) for cell in cells} == {
        ("interleave", None, None)
    }
    assert {cell["mean_size"] for cell in cells} == {760, 32.5}
    beside = measure(carry, "--quick", *pairs, "--mode", "imix")["cells"]
    assert {cell["mode"] for cell in beside} == {"interleave", "imix"}
    assert {"pair" in cell for cell in beside if cell["mode"] == "imix"} == {False}
    done = carry("bench", bench, "--quick", *pairs, env=masked(""))
    assert "interleave: 20 bytes at 1 and 1500 at 3, by turns; ns a call" in done.stdout


# A fake valgrind: writes what callgrind would write for one kernel in two cells.
FAKE_VALGRIND = """#!/bin/sh
for word; do
    case $word in --callgrind-out-file=*) out=${word#*=};; esac
done
write() {
    printf 'version: 1\\ndesc: Trigger: Client Request: %s\\nevents: Ir Bc Bcm Bi Bim\\n' "$2"
    printf 'totals: %s\\n' "$3"
} > "$out.$1"
: > "$out"
write 1 "floor hot 64 0" "640 128 9 64 9"
write 2 "generic hot 64 0" "6400 192 9 128 9"
write 3 "floor interleave 0 0" "1280 0 0 0 0"
write 4 "generic interleave 0 0" "2560 128 9 0 9"
write 5 "unknown hot 64 0" "1 1 1 1 1"
echo "$@" > "$CARRY_ASKED"
"""


def count(carry: Run, path: str, *arguments: str) -> dict[str, Any]:
    env = {**masked("all"), "PATH": path, "CARRY_ASKED": f"{path.partition(':')[0]}/asked"}
    done = carry("bench", "sum", "--json", *arguments, env=env)
    assert (done.returncode, done.stderr) == (CLEAN, "")
    report = conforming("bench_kernels", done.stdout)
    if report["counted_by"] == "counters":
        pytest.skip("the CPU has counters for this process")
    return report


COUNTED = ["--quick", "--count", "--kernel", "generic", "--mode", "hot", "--size", "64"]
COUNTED += ["--align", "0"]


def test_counts_come_from_callgrind(carry: Run, tmp_path: Path) -> None:
    """A count is the mean of 64 calls (128 for pairs), minus the count of an empty function."""
    fake = tmp_path / "valgrind"
    fake.write_text(FAKE_VALGRIND)
    fake.chmod(0o755)
    report = count(carry, f"{tmp_path}:{os.environ['PATH']}", *COUNTED)
    if report["counted_by"] is None:
        pytest.skip("built without valgrind's headers")
    assert (tmp_path / "asked").read_text().split()[-len(COUNTED) - 3 :] == [
        *("bench", "sum", "--json"),
        *COUNTED,
    ]
    counts = {cell["kernel"]: cell for cell in report["cells"]}
    assert (counts["generic"]["instructions"], counts["generic"]["branches"]) == (90, 2)
    assert (counts["floor"]["instructions"], counts["floor"]["branches"]) == (0, 0)
    assert "instructions" not in counts["plain"] and "branches" not in counts["load"]
    pair = ["--quick", "--count", "--kernel", "generic", "--interleave", "1,2"]
    cells = count(carry, f"{tmp_path}:{os.environ['PATH']}", *pair)["cells"]
    counts = {cell["kernel"]: cell for cell in cells}
    assert (counts["generic"]["instructions"], counts["generic"]["branches"]) == (10, 1)


def test_nothing_is_counted_without_counters_and_callgrind(carry: Run, tmp_path: Path) -> None:
    report = count(carry, str(tmp_path), *COUNTED)
    assert report["counted_by"] is None
    assert not any("instructions" in cell for cell in report["cells"])
    assert measure(carry, *ONE)["counted_by"] is None


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_more_bytes_are_more_instructions(carry: Run) -> None:
    """Instructions that a kernel executes are counted: the plain loop has one step for two
    bytes."""
    sizes = ["--size", "100", "--size", "200", "--align", "0"]
    report = measure(carry, "--quick", "--count", "--mode", "hot", *sizes, mask="avx512f")
    if report["counted_by"] is None:
        pytest.skip("built without valgrind's headers")
    assert report["counted_by"] in {"counters", "callgrind"}
    plain = [cell for cell in report["cells"] if cell["kernel"] == "plain"]
    steps = plain[1]["branches"] - plain[0]["branches"]
    assert steps == pytest.approx(50, abs=1)
    assert plain[1]["instructions"] - plain[0]["instructions"] == pytest.approx(5 * steps, rel=0.5)
    kernels = [cell for cell in report["cells"] if cell["kernel"] == "adc"]
    assert all(0 < cell["instructions"] < 400 for cell in kernels)


def test_options_choose_the_kernels(carry: Run) -> None:
    assert kernels_of(measure(carry, *ONE, "--kernel", "generic")) == [*REFERENCES, "generic"]


@KERNELS
def test_the_mask_excludes_kernels(carry: Run, bench: str, table: str) -> None:
    report = measure(carry, *ONE, bench=bench, mask="all")
    assert kernels_of(report) == REFERENCES + available(carry, "all", table)
    assert report["load_bits"] == 128
    assert report["machine"]["features"] == []


@KERNELS
def test_text_tables_show_all_kernels(carry: Run, bench: str, table: str) -> None:
    """The tables show all kernels, mixes and units, without colours in a pipe."""
    done = carry("bench", bench, "--quick", env=masked(""))
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert "\033" not in done.stdout
    for name in [*available(carry, table=table), "plain", "load", *MIXES, "ns a call", "bytes/ns"]:
        assert name in done.stdout
    assert "1500 bytes hot: " in done.stdout
    assert "of the load bound" in done.stdout


def test_against(carry: Run) -> None:
    """--kernel chooses a kernel, and --against compares it with another."""
    if available(carry) == ["generic"]:
        pytest.skip("there is one kernel only")
    other = available(carry)[1]
    done = carry("bench", "sum", *ONE, "--kernel", other, "--against=generic", env=masked(""))
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert f"generic/{other}" in done.stdout
    assert "Len\\Aln" in done.stdout
    report = measure(carry, *ONE, "--kernel", other, "--against=generic")
    assert (report["focus"], report["base"]) == (other, "generic")
    assert kernels_of(report) == [*REFERENCES, "generic", other]
    spaced = measure(carry, *ONE, "--against", "generic", "--kernel", other)
    assert (spaced["focus"], spaced["base"]) == (other, "generic")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--interleave", "20"],
        ["--interleave", "20,"],
        ["--interleave", "20@4096,1"],
        ["--interleave", "0,1"],
        ["--interleave", "1,2", "--size", "64"],
        ["--interleave", "1,2", "--against"],
        ["--interleave", "1,2"] * 33,
        ["--mode", "interleave"],
        ["--count", "--against"],
        ["--nosuch"],
        ["file"],
        ["--size"],
        ["--size", "0"],
        ["--size", "-1"],
        ["--size", "20x"],
        ["--size", "99999999999999999999"],
        ["--align", "4096"],
        ["--mode", "nosuch"],
        ["--mode", "imix", "--size", "20"],
        ["--quick", "--full"],
        ["--kernel", "generic", "--against=generic"],
        ["--kernel", "generic", "--kernel", "generic", "--against=generic"],
        ["--kernel", "generic"] * 33,
        ["--size", "1"] * 33,
    ],
    ids=lambda arguments: " ".join(arguments[:6]),
)
def test_wrong_usage_is_refused_in_one_line(carry: Run, arguments: list[str]) -> None:
    done = carry("bench", "sum", *arguments)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr.startswith("carry bench sum: ") and done.stderr.count("\n") == 1


def test_kernels_that_cannot_be_timed(carry: Run) -> None:
    done = carry("bench", "sum", "--kernel", "nosuch")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert "nosuch" in done.stderr
    gone = set(available(carry)) - set(available(carry, "all"))
    for name in gone:
        done = carry("bench", "sum", "--kernel", name, env=masked("all"))
        assert (done.returncode, done.stdout) == (ERROR, "")
        assert f"kernel {name} needs " in done.stderr


@pytest.mark.parametrize("bench", ["sum", "crc"])
def test_help(carry: Run, bench: str) -> None:
    """The help names the modes and the mask, in 80 columns."""
    done = carry("bench", bench, "--help")
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert f"Usage: carry bench {bench} " in done.stdout
    assert "CARRY_CPU_MASK=" in done.stdout
    assert all(f"      {mode} " in done.stdout for mode in MODES)
    assert max(map(len, done.stdout.splitlines())) <= 80


# --- carry bench capture ---

NOT_INSTALLED = 127


def capture_programs(carry: Run, *arguments: str) -> dict[str, dict[str, Any]]:
    done = carry("bench", "capture", "--size=1M", "--json", *arguments, env=masked(""))
    assert (done.returncode, done.stderr) == (CLEAN, "")
    report = conforming("bench_capture", done.stdout)
    assert report["bench"] == "capture" and report["cores"] >= 1
    return {program["program"]: program for program in report["programs"]}


def test_capture_times_installed_programs(carry: Run) -> None:
    programs = capture_programs(carry)
    tasks = {"carry check": "verify", "carry check -j1": "verify", "carry fix": "repair"}
    reads = {"mapped and summed": "read", "cat": "read"}
    for name, task in {**tasks, **reads, "cp": "copy"}.items():
        assert programs[name]["task"] == task
        assert 0 < programs[name]["q1"] <= programs[name]["gb_per_s"] <= programs[name]["q3"]
        assert programs[name]["peak_bytes"] > 0
        assert programs[name]["bytes"] > 1 << 20
    for program in programs.values():
        assert (program["gb_per_s"] is None) == (program["peak_bytes"] is None)


def test_capture_compares_programs(carry: Run) -> None:
    done = carry("bench", "capture", "--size=1M", "--json", env=masked(""))
    pairs = conforming("bench_capture", done.stdout)["comparisons"]
    found = {(pair["program"], pair["beside"]) for pair in pairs}
    assert {("carry fix", "cp"), ("carry fix", "carry check")} <= found
    assert all(0 < pair["q1"] <= pair["speed"] <= pair["q3"] for pair in pairs)
    text = carry("bench", "capture", "--size=1M", env=masked("")).stdout
    assert re.search(r"^    carry fix +beside cp +(\d+\.\d\d *){3}$", text, re.MULTILINE)


def test_capture_repeats_the_packets_of_a_file(carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([ethernet(packet(TCP))]))
    assert capture_programs(carry, str(path))["carry check"]["gb_per_s"] > 0
    path.write_bytes(pcap([ethernet(packet(TCP, sums="bad"))]))
    assert capture_programs(carry, str(path))["carry check"]["gb_per_s"] > 0
    for name, reason in (("none", "No such file"), ("empty", "no packets to repeat")):
        (tmp_path / "empty").write_bytes(pcap([]))
        done = carry("bench", "capture", "--quick", tmp_path / name)
        assert (done.returncode, done.stdout) == (ERROR, "")
        assert reason in done.stderr


def test_capture_leaves_no_file(carry: Run, tmp_path: Path) -> None:
    env = {**masked(""), "TMPDIR": str(tmp_path), "PATH": "/nowhere"}
    done = carry("bench", "capture", "--size=1M", env=env)
    assert (done.returncode, done.stderr) == (CLEAN, "")
    missing = re.findall(r"^  ([^\n]+) not installed$", done.stdout, re.MULTILINE)
    assert len([name for name in missing if "libpcap" not in name]) == 8
    assert list(tmp_path.iterdir()) == []
    env["TMPDIR"] = str(tmp_path / "none")
    done = carry("bench", "capture", env=env)
    assert done.returncode == ERROR
    assert f" in {env['TMPDIR']}: No such file or directory\n" in done.stderr


def test_capture_in_files_and_pipes(carry: Run, tmp_path: Path) -> None:
    """--pipes times repairs to files, by redirection and between pipes."""
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([ethernet(packet(TCP, sums="bad"))]))
    names = [f"carry fix {way}" for way in ("FILE -o COPY", "<FILE >COPY", "between pipes")]
    programs = capture_programs(carry, "--pipes", str(path))
    assert list(programs) == names
    for program in programs.values():
        assert program["task"] == "pass"
        assert program["bytes"] > MIB and program["cpu_seconds"] >= 0
        assert 0 < program["q1"] <= program["gb_per_s"] <= program["q3"]
    env = {**masked(""), "TMPDIR": str(tmp_path)}
    done = carry("bench", "capture", "--pipes", "--size=1M", env=env)
    assert (done.returncode, done.stderr) == (CLEAN, "")
    for name in names:
        line = rf"^    {name} +\d+\.\d{{3}} +\S+ +\d+\.\d{{3}} +\S+ +\d.* MB$"
        assert re.search(line, done.stdout, re.MULTILINE)
    assert list(tmp_path.iterdir()) == [path]


def libpcap_loop(carry: Run, path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return carry("bench", "capture", "--libpcap-loop", path, env={**masked(""), **env})


def test_capture_reads_a_file_with_libpcap(carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([ethernet(packet(TCP))]))
    try:
        ctypes.CDLL("libpcap.so.0.8")
    except OSError:
        pytest.skip("libpcap.so.0.8 is missing (tshark of Debian brings it)")
    done = libpcap_loop(carry, path)
    assert (done.returncode, done.stdout, done.stderr) == (CLEAN, "", "")
    path.write_bytes(path.read_bytes()[:-1])
    done = libpcap_loop(carry, path)
    assert done.returncode == ERROR and done.stderr.count("\n") == 1


def test_capture_sums_a_file(carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "a"
    for size in (0, 1, 5 * MIB + 1):
        path.write_bytes(bytes(size))
        done = carry("bench", "capture", "--sum-mapped", path)
        assert (done.returncode, done.stdout, done.stderr) == (CLEAN, "", "")
    done = carry("bench", "capture", "--sum-mapped", tmp_path / "none")
    assert done.returncode == ERROR and "none: No such file" in done.stderr


def test_capture_reports_missing_libpcap(carry: Run, tmp_path: Path) -> None:
    (tmp_path / "libpcap.so.0.8").write_bytes(b"no library")
    env = {**masked(""), "LD_LIBRARY_PATH": str(tmp_path), "PATH": "/nowhere"}
    assert libpcap_loop(carry, tmp_path, **env).returncode == NOT_INSTALLED
    done = carry("bench", "capture", "--size=1M", env=env)
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert re.search(r"^ +libpcap, empty loop +not installed$", done.stdout, re.MULTILINE)


def start_capture(tool: str, folder: Path, *arguments: str, **env: str) -> subprocess.Popen[bytes]:
    """Starts the benchmark with `folder` for its files, and a pipe as standard input."""
    folder.mkdir()
    return subprocess.Popen(
        [tool, "bench", "capture", "--size=1M", *arguments],
        env={**masked(""), "TMPDIR": str(folder), **env},
        stdin=subprocess.PIPE,
    )


def end_by_signal(child: subprocess.Popen[bytes], folder: Path) -> None:
    assert len(list(folder.iterdir())) == 1
    child.terminate()
    assert child.wait(HANGS) == -signal.SIGTERM
    assert list(folder.iterdir()) == []
    child.communicate()


def test_capture_interrupted_while_writing_leaves_no_file(tool: str, tmp_path: Path) -> None:
    child = start_capture(tool, tmp_path / "files", "/dev/stdin")
    assert child.stdin
    child.stdin.write(pcap([ethernet(packet(TCP))]))
    child.stdin.flush()
    wait_until_read(child)
    end_by_signal(child, tmp_path / "files")


def test_capture_interrupted_while_measuring_leaves_no_file(tool: str, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    cat = tmp_path / "cat"
    cat.write_text(f"#!/bin/sh\n: >'{ready}'\nexec /bin/sleep 10\n")
    cat.chmod(0o755)
    child = start_capture(tool, tmp_path / "files", PATH=str(tmp_path))
    while not ready.exists() and child.poll() is None:
        time.sleep(0.01)
    end_by_signal(child, tmp_path / "files")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--size=1"],
        ["--size=1T"],
        ["--size=x"],
        ["--size=9999999999G"],
        ["--libpcap-loop"],
        ["--sum-mapped"],
        ["a", "b"],
    ],
)
def test_capture_refuses_wrong_usage_in_one_line(carry: Run, arguments: list[str]) -> None:
    done = carry("bench", "capture", *arguments)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr.startswith("carry bench capture: ") and done.stderr.count("\n") == 1


def test_capture_help(carry: Run) -> None:
    """The help fits into 80 columns."""
    done = carry("bench", "capture", "--help")
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert max(map(len, done.stdout.splitlines())) <= 80


# --- carry bench patch ---

CALLS = ["inlined", "direct", "pointer", "plt"]
PATCHED = ["patched-call", "patched-inline", "patched-nop"]
BRANCHES = ["flag", "branch-off", "branch-on"]
NEVER_OF_EIGHT = {"patched-inline", "patched-nop", *BRANCHES}


def patch_report(carry: Run, *arguments: str) -> dict[str, Any]:
    done = carry("bench", "patch", "--quick", "--json", *arguments, env=masked(""))
    assert (done.returncode, done.stderr) == (CLEAN, "")
    report = conforming("bench_patch", done.stdout)
    assert report["bench"] == "patch"
    if not report["sites"]:
        assert report["cases"] == report["commits"] == report["synchronisation"] == []
        pytest.skip("there are no sites on this architecture")
    return report


def test_patch_times_every_form_in_every_cell(carry: Run) -> None:
    report = patch_report(carry, "--sites=100", "--batch=70")
    cases = report["cases"]
    thunks = ["retpoline"] if report["machine"]["arch"] == "x86_64" else []
    assert [(case["cell"], case["form"], case["sites"]) for case in cases] == [
        (cell, form, sites)
        for cell, sites in (("one", 1), ("many", 64), ("eight", 1), ("cold", 100))
        for form in [*CALLS, *PATCHED, *thunks, *BRANCHES]
        if cell != "eight" or form not in NEVER_OF_EIGHT
    ]
    for case in cases:
        assert 0 < case["min"] <= case["q1"] <= case["ns"] <= case["q3"]
        assert case["to_inlined"] > 0
        assert ("added_ns" in case) == (case["form"] in BRANCHES)
        assert ("to_direct" in case) == (case["form"] not in BRANCHES)
    ratios = {(case["cell"], case["form"]): case.get("to_direct") for case in cases}
    assert all(ratios[cell, "direct"] == 1 for cell in ("one", "many", "eight", "cold"))


PATCH_WAYS = [("procmem", "remap"), *((each, "trap") for each in ("procmem", "alias", "mprotect"))]


def guard_beside_thread(arch: str, commit: dict[str, Any]) -> str:
    """Returns the expected guard. AArch64 needs no guard if one store writes each branch."""
    if commit["chosen"] == "trap" and commit["backend"] != "procmem":
        return "none" if arch == "aarch64" else "jump"
    return str(commit["chosen"])


def test_patch_times_commits_in_every_way(carry: Run) -> None:
    report = patch_report(carry, "--sites=1", "--batch=70")
    commits = report["commits"]
    shape = ("backend", "chosen", "work", "thread", "sites")
    assert [tuple(commit[key] for key in shape) for commit in commits] == [
        (*way, work, thread, sites)
        for way in PATCH_WAYS
        for work, sites in (("call", 1), ("branch", 1), ("batch", 70))
        for thread in (False, True)
    ]
    measured = [commit for commit in commits if commit["available"]]
    for commit in measured:
        assert 0 < commit["min"] <= commit["q1"] <= commit["ns"] <= commit["q3"]
        assert commit["ns_a_site"] == pytest.approx(commit["ns"] / commit["sites"], rel=1e-4)
        live = guard_beside_thread(report["machine"]["arch"], commit)
        assert commit["guard"] == (live if commit["thread"] else "none")
    assert {commit["backend"] for commit in measured} >= {"mprotect"}
    assert len(report["synchronisation"]) == 2


def test_patch_reports_delays_of_other_threads(carry: Run) -> None:
    report = patch_report(carry, "--sites=1", "--batch=70")
    delays = report["delays"]
    shape = ("backend", "chosen", "work", "thread", "sites")
    assert [tuple(delay[key] for key in shape) for delay in delays] == [
        (*way, work, thread, sites)
        for way in PATCH_WAYS
        for work, sites in (("call", 1), ("branch", 1), ("batch", 70))
        for thread in ("sites", "elsewhere")
    ]
    way = ("backend", "chosen", "work")
    beside = {
        tuple(commit[each] for each in way): commit["available"]
        for commit in report["commits"]
        if commit["thread"]
    }
    for delay in delays:
        assert delay["available"] == beside[tuple(delay[each] for each in way)]
        for key in {"longest", "total"} & delay.keys():  # a figure is missing if noise hides it
            added = delay[key]
            assert delay["available"]
            assert 0 <= added["min"] <= added["q1"] <= added["ns"] <= added["q3"]


APPLICATIONS = [("packets", "packet"), ("server", "request")]


def test_patch_times_applications_in_every_form(carry: Run) -> None:
    rows = patch_report(carry, "--sites=1", "--batch=70")["applications"]
    assert [(row["application"], row["unit"], row["form"]) for row in rows] == [
        (*application, form)
        for application in APPLICATIONS
        for form in ("compiled-in", "patched", "pointers")
    ]
    for row in rows:
        assert (row["calls"], row["branches"]) == (4, 2)
        assert 0 < row["min"] <= row["q1"] <= row["ns"] <= row["q3"]
        assert row["min"] <= row["low"] <= row["ns"] <= row["high"]
        assert (row["form"] == "compiled-in") <= (row["to_compiled_in"] == 1)
        assert (row["form"] == "pointers") <= (row["to_pointers"] == 1)


def test_patch_text_shows_calls_and_commits(carry: Run) -> None:
    """The tables show each form of a call, commits of one and many sites, and applications."""
    done = carry("bench", "patch", "--quick", env=masked(""))
    assert (done.returncode, done.stderr) == (CLEAN, "")
    if "There are no sites" in done.stdout:
        assert done.stdout.count("  no sites  ") == 2
        pytest.skip("there are no sites on this architecture")
    shown = ("PLT or ifunc", "patched inline", "flag, off", "1,024 cold", "1,000 calls")
    for text in (*shown, "elsewhere", "packet loop, patched: ", "small server, patched: "):
        assert text in done.stdout


@pytest.mark.parametrize(
    "arguments", [["--nosuch"], ["file"], ["--sites=0"], ["--sites"], ["--batch=x"], ["--batch=2G"]]
)
def test_patch_refuses_wrong_usage_in_one_line(carry: Run, arguments: list[str]) -> None:
    done = carry("bench", "patch", *arguments)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr.startswith("carry bench patch: ") and done.stderr.count("\n") == 1


def test_patch_help(carry: Run) -> None:
    """The help fits into 80 columns."""
    done = carry("bench", "patch", "--help")
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert max(map(len, done.stdout.splitlines())) <= 80


# --- carry bench hook ---

hooks_strlen = pytest.mark.skipif(
    "CARRY_SANITIZED" in os.environ, reason="the sanitizer has a strlen() of its own"
)


@hooks_strlen
def test_hook_times_every_hook_of_every_place(carry: Run) -> None:
    done = carry("bench", "hook", "--quick", "--json", env=masked(""))
    assert (done.returncode, done.stderr) == (CLEAN, "")
    report = conforming("bench_hook", done.stdout)
    assert report["bench"] == "hook"
    if not report["hooks"]:
        assert (report["cases"], report["all"]) == ([], None)
        pytest.skip("there are no hooks on this architecture")
    cases = report["cases"]
    assert [(case["hook"], case["place"]) for case in cases] == [
        (hook, place) for hook in ("none", "enter", "leave", "both") for place in ("call", "entry")
    ]
    for case in [*cases, report["all"]]:
        assert 0 < case["min"] <= case["q1"] <= case["ns"] <= case["q3"]
    assert report["all"]["calls"] > 10


@hooks_strlen
def test_hook_text_shows_each_hook(carry: Run) -> None:
    """The table shows each kind of hook."""
    done = carry("bench", "hook", "--quick", env=masked(""))
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert all(line == line.rstrip() for line in done.stdout.splitlines())
    if "There are no hooks" in done.stdout:
        pytest.skip("there are no hooks on this architecture")
    for text in ("no hook", "enter and leave", "patchable entry", "calls of this process"):
        assert text in done.stdout


@pytest.mark.parametrize("arguments", [["--nosuch"], ["file"], ["--quick=1"]])
def test_hook_refuses_wrong_usage(carry: Run, arguments: list[str]) -> None:
    done = carry("bench", "hook", *arguments)
    assert (done.returncode, done.stdout) == (ERROR, "")


# --- carry bench xstate ---

swaps_contexts = pytest.mark.skipif(
    "CARRY_SANITIZED" in os.environ, reason="the sanitizer warns of swapcontext()"
)


@swaps_contexts
def test_xstate_times_every_component_in_use(carry: Run) -> None:
    done = carry("bench", "xstate", "--quick", "--json", env=masked(""))
    assert (done.returncode, done.stderr) == (CLEAN, "")
    report = conforming("bench_xstate", done.stdout)
    assert report["bench"] == "xstate"
    if not report["supported"]:
        assert (report["calls_ns"], report["switches_ns"]) == ([], [])
        pytest.skip("there is no extended state on this architecture")
    for rows, names in [
        (report["calls_ns"], ["call", "enter", "around"]),
        (report["switches_ns"], ["pair", "switch", "keep", "swapcontext"]),
    ]:
        in_use = [tuple(row["in_use"]) for row in rows]
        assert in_use[0] == ("SSE",)
        assert len(set(in_use)) == len(in_use) > 0
        for row in rows:
            assert all(row[name] > 0 for name in names)
    named = [row["named"] for row in report["images_ns"]]
    assert named[:2] == [[], ["SSE"]]
    assert all(row["exp"] > 0 for row in report["images_ns"])


def test_xstate_of_a_cpu_without_avx(carry: Run) -> None:
    """Without AVX, only calls with SSE in use are timed."""
    done = carry("bench", "xstate", "--quick", "--json", env=masked("avx"))
    report = conforming("bench_xstate", done.stdout)
    if not report["supported"]:
        pytest.skip("there is no extended state on this architecture")
    assert [row["in_use"] for row in report["calls_ns"]] == [["SSE"]]


@swaps_contexts
def test_xstate_text_shows_calls_and_switches(carry: Run) -> None:
    """The table shows calls and switches by the components in use."""
    done = carry("bench", "xstate", "--quick", env=masked(""))
    assert (done.returncode, done.stderr) == (CLEAN, "")
    if "There is no extended state" in done.stdout:
        pytest.skip("there is no extended state on this architecture")
    for text in ("calls", "around", "switches", "swapcontext", "SSE AVX"):
        assert text in done.stdout


@pytest.mark.parametrize("arguments", [["--rounds"], ["now"], ["--json=1"]])
def test_xstate_refuses_wrong_usage(carry: Run, arguments: list[str]) -> None:
    done = carry("bench", "xstate", *arguments)
    assert (done.returncode, done.stdout) == (ERROR, "")


# --- carry bench jit ---

JIT_SIZES = [20, 40, 44, 64, 128, 550, 1500]
JIT_FUNCTIONS = [f"sum of {size:,}" for size in JIT_SIZES]
JIT_FUNCTIONS += ["sum of 20 to 1,500", "check", "write"]
JIT_PACKETS = [("check", 64), ("check", 550), ("check", 1500), ("write", 64)]


def bench_jit(carry: Run, *arguments: str) -> str:
    done = carry("bench", "jit", "--quick", *arguments, env=masked(""))
    if "built without" in done.stderr:
        assert (done.returncode, done.stderr.count("\n")) == (ERROR, 1)
        pytest.skip("libcarry-jit was left out: no asmjit")
    assert (done.returncode, done.stderr) == (CLEAN, "")
    return done.stdout


def test_jit_times_every_generated_function(carry: Run) -> None:
    report = conforming("bench_jit", bench_jit(carry, "--json"))
    assert report["bench"] == "jit"
    if not report["supported"]:
        assert report["sums"] == report["packets"] == report["functions"] == []
        pytest.skip("there is no generator for this architecture")
    sums = report["sums"]
    assert [(one["mode"], one["size"], one["function"]) for one in sums] == [
        (mode, size, function)
        for mode in ("hot", "latency")
        for size in JIT_SIZES
        for function in ("generic", "best", "exact", "range")
    ]
    assert report["best"] in available(carry)
    for one in sums:
        assert one["ns_a_byte"] == pytest.approx(one["ns"] / one["size"], rel=1e-4)
        assert one["million_a_second"] == pytest.approx(1000 / one["ns"], rel=1e-4)
        assert one["speedup"] == 1 if one["function"] == "best" else one["speedup"] > 0
    packets, functions = report["packets"], report["functions"]
    assert [(one["work"], one["size"], one["way"]) for one in packets] == [
        (*packet, way) for packet in JIT_PACKETS for way in ("compiled", "made")
    ]
    assert [one["function"] for one in functions] == JIT_FUNCTIONS
    assert all(one["bytes"] > 0 for one in functions)
    for one in [*sums, *packets, *functions]:
        assert 0 < one["min"] <= one["q1"] <= one["ns"] <= one["q3"]


def test_jit_text_shows_sums_and_packets(carry: Run) -> None:
    """The tables show sums and packets, and the cost of making functions."""
    shown = bench_jit(carry)
    if "No functions are made" in shown:
        pytest.skip("there is no generator for this architecture")
    for text in ("sums, hot", "sums, latency", "1,500", "packets", "write", "sum of 20 to 1,500"):
        assert text in shown


@pytest.mark.parametrize("arguments", [["--nosuch"], ["file"]])
def test_jit_refuses_wrong_usage_in_one_line(carry: Run, arguments: list[str]) -> None:
    done = carry("bench", "jit", *arguments)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr.startswith("carry bench jit: ") and done.stderr.count("\n") == 1


def test_jit_help(carry: Run) -> None:
    """The help fits into 80 columns."""
    done = carry("bench", "jit", "--help")
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
