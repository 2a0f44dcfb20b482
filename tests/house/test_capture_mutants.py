# SPDX-License-Identifier: MIT
"""The tests of libcarry-capture in C find every mutant: one fault in one file makes a test fail."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from carry_tool import SOURCE, not_short

BUILD = Path(os.environ.get("CARRY_BUILD", SOURCE / "build"))
WRAPPED = [f"-Wl,--wrap={name}" for name in ("malloc", "calloc", "realloc", "strdup", "free")]
LIBRARIES = ["capture/libcarry-capture.a", "tests/libharness.a", "src/libcarry.a"]

pytestmark = [
    pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc"),
    pytest.mark.skipif(not (BUILD / "tests/libharness.a").is_file(), reason="no build of tests"),
    pytest.mark.skipif("CARRY_SANITIZED" in os.environ, reason="sanitizers change the libraries"),
]


@dataclass(frozen=True)
class Mutant:
    test: str
    file: str
    old: str
    new: str


MUTANTS = [
    # Reading
    Mutant("read", "input.c", "while (size == -EINTR)", "while (false)"),
    Mutant("read", "input.c", "input->error = (int)-size;", "input->error = 0;"),
    Mutant("read", "format.c", "capture->error = capture->final;", ""),
    Mutant("read", "format.c", "if (have == 0)", "if (true)"),
    Mutant("read", "reader.c", "got > (int64_t)size ? -EIO : got", "got"),
    Mutant("read", "reader.c", "capture->record = capture->packets = 0;", ""),
    Mutant("read", "open.c", "S_ISDIR(status->st_mode)", "false"),
    Mutant("read", "file.c", "->stopped = true;\n    if", "->stopped = false;\n    if"),
    Mutant("read", "unpack_gzip.c", "stream->inside = false;", "stream->inside = true;"),
    Mutant("read", "unpack_xz.c", "stream->inside = false;", "stream->inside = true;"),
    Mutant("read", "unpack_lz4.c", "stream->inside = result != 0", "stream->inside = true"),
    Mutant("read", "snoop.c", "input->at += size;", "input->at += size - 1;"),
    Mutant("read", "erf_file.c", "found > 1 || ", "false || "),
    # Checking
    Mutant("check", "check.c", "carry_cause_leave(&known);", ";"),
    Mutant("check", "check.c", "carry_tally_supersede(&checker->summary->tally,", "(void)("),
    Mutant("check", "check.c", "verdict_is_in(CARRY_VERDICT_PARTIAL, options->listed)", "false"),
    Mutant("check", "check.c", "checker->judge.close(checker->judge.user,", "(void)("),
    Mutant("check", "check.c", ">= CARRY_PROTOCOL_COUNT", "> CARRY_PROTOCOL_COUNT"),
    Mutant("check", "check.c", "if (checker->selects)", "if (false)"),
    Mutant("check", "pipeline.c", "return pipeline->ended ? ECANCELED : error;", "return error;"),
    Mutant("check", "summary.c", "_VERDICT_BAD] -= left;", "_VERDICT_BAD] -= 0;"),
    Mutant("check", "findings.c", "if (verdict_is_in(finding->sum.verdict, listed))", "if (true)"),
    Mutant("check", "senders.c", "sender.key.link = (struct carry_capture_link){0};", ""),
    # Repairing and explaining
    Mutant("fix", "capture_fix.c", "if (!carry_reader_is_fresh(capture))", "if (capture->packets)"),
    Mutant("fix", "capture_fix.c", ".idle = flush_on_idle,", ".idle = NULL,"),
    Mutant("fix", "capture_fix.c", "return wants_more(context) ? 0 : ECANCELED;", "return 0;"),
    Mutant("fix", "repair.c", "!repair->sink || repair->sink->rewrite", "true"),
    Mutant("fix", "repair.c", "settle_left(repair);\n    return", "return"),
    Mutant("fix", "explain.c", "number <= capture->packets", "false"),
    Mutant("fix", "explain.c", "carry_finding_leave(finding);", ";"),
    # Writing
    Mutant("write", "writer.c", "packet->fcs <= PCAPNG_FCS_MAX", "true"),
    Mutant("write", "writer.c", "<= CARRY_CAPTURE_PACKET_MAX &&\n", "<= UINT32_MAX &&\n"),
    Mutant("write", "writer.c", "if (!size || writer->failed)", "if (!size)"),
    Mutant("write", "writer.c", "packet->time_ns / NS_PER_SECOND <= UINT32_MAX", "true"),
    # Threads
    Mutant("threads", "threads_posix.c", "sigfillset(&all);", "sigemptyset(&all);"),
]


def unpackers() -> list[str]:
    """Returns the libraries that the build unpacks captures with, from its pkg-config file."""
    text = (BUILD / "meson-private/libcarry-capture.pc").read_text()
    return re.findall(r"-l\S+", text.partition("Libs.private:")[2].partition("\n")[0])


def program(folder: Path, test: str, changed: Path | None) -> Path:
    """Links a test as the build compiled it, with `changed` in place of that library file."""
    made = folder / test
    objects = sorted((BUILD / f"tests/test_capture_{test}.p").glob("*.o"))
    assert objects
    command = ["gcc", "-O1", "-w", "-D_GNU_SOURCE", *objects]
    command += [] if test == "threads" else WRAPPED
    command += [*([changed] if changed else []), *(BUILD / name for name in LIBRARIES)]
    for include in ("include", "capture", "src"):
        command += ["-I", SOURCE / include]
    command += ["-o", made, "-pthread", "-Wl,--as-needed", *unpackers()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return made


def passes(made: Path) -> bool:
    try:
        done = subprocess.run([made], capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


@pytest.mark.parametrize("test", sorted({mutant.test for mutant in MUTANTS}))
def test_each_test_passes_without_a_mutant(tmp_path: Path, test: str) -> None:
    assert passes(program(tmp_path, test, None))


def mutants() -> Iterator[Any]:
    """Yields all mutants; at level short, one runs for each test in C."""
    tests: set[str] = set()
    for mutant in MUTANTS:
        marks = [not_short] if mutant.test in tests else []
        yield pytest.param(mutant, marks=marks, id=f"{mutant.file} {mutant.old[:40]}")
        tests.add(mutant.test)


@pytest.mark.parametrize("mutant", mutants())
def test_mutant_is_found(tmp_path: Path, mutant: Mutant) -> None:
    text = (SOURCE / "capture" / mutant.file).read_text()
    assert text.count(mutant.old) == 1
    changed = tmp_path / mutant.file
    changed.write_text(text.replace(mutant.old, mutant.new))
    assert not passes(program(tmp_path, mutant.test, changed))
