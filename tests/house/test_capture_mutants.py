# SPDX-License-Identifier: MIT
"""The tests of libcarry-capture in C find every mutant: one fault in one file makes a test fail."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from carry_tool import SOURCE, not_short

BUILD = Path(os.environ.get("CARRY_BUILD", SOURCE / "build"))
ALLOCATIONS = ("malloc", "calloc", "realloc", "strdup", "free")
KERNEL = (
    *("carry_kernel_clones", "carry_kernel_clone", "carry_kernel_copy", "carry_kernel_write"),
    *("carry_threads_start", "carry_threads_wait", "carry_threads_free"),
    *("time", "pread", "pread64", "pwrite", "pwrite64"),
)
WRAPPED = {"threads": (), "copier": (*ALLOCATIONS, *KERNEL)}  # others: allocations
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
    runs: int = 1  # of the test at most: more where threads decide by chance whether it finds it


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
    Mutant("read", "netmon.c", "netmon->table + (uint64_t)netmon->next", "netmon->table + 0"),
    Mutant("read", "netmon.c", "carry_input_peek(&capture->input, (size_t)end)", "true"),
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
    Mutant(
        "check",
        "findings.c",
        "if (verdict_is_in(findings->list[i].finding.sum.verdict, listed))",
        "if (true)",
    ),
    Mutant("check", "senders.c", "sender.key.link = (struct carry_capture_link){0};", ""),
    # Repairing and explaining
    Mutant("fix", "capture_fix.c", "if (!carry_reader_is_fresh(capture))", "if (capture->packets)"),
    Mutant("fix", "capture_fix.c", ".idle = flush_on_idle,", ".idle = NULL,"),
    Mutant("fix", "capture_fix.c", "return wants_more(context) ? 0 : ECANCELED;", "return 0;"),
    Mutant("fix", "repair.c", "!repair->sink || repair->sink->rewrite", "true"),
    Mutant("fix", "repair.c", "settle_left(repair);\n    return", "return"),
    Mutant("fix", "capture_fix.c", "if (span->to > end)", "if (false)"),
    Mutant("fix", "repair.c", "carry_spans_add(&repair->changed, change.offset", "(void)(0"),
    Mutant("fix", "capture_fix.c", "return block > from ? block : from;", "return UINT64_MAX;"),
    Mutant("fix", "repair.c", "carry_spans_add(&repair->changed, offset, offset + size);", ";"),
    Mutant("fix", "capture_fix.c", "changed.count && !result", "changed.count"),
    Mutant("fix", "explain.c", "number <= capture->packets", "false"),
    Mutant("fix", "explain.c", "carry_finding_leave(finding);", ";"),
    Mutant("copier", "copier.c", "is_settled(&copier->status)", "true"),
    Mutant("copier", "copier.c", "has_changed(copier->from, &copier->status)", "false"),
    Mutant("copier", "copier.c", "!carry_capture_is_compressed(copier->capture)", "true"),
    Mutant("copier", "copier.c", "->at = 0;", "->at += 0;"),
    Mutant("copier", "copier.c", "code == CARRY_ERROR_READ) && copier->write_error", "false)"),
    Mutant("copier", "copier.c", "if (ftruncate(copier->to, 0))", "if (false)"),
    Mutant("copier", "copier.c", "now.st_ctim.tv_nsec != before->st_ctim.tv_nsec", "false"),
    Mutant("copier", "copier.c", "!more || copier->stopped", "!more"),
    Mutant("copier", "copier.c", "if (!copier->write_failure)", "if (true)"),
    Mutant("copier", "copier.c", "while (got < 0 && errno == EINTR)", "while (false)"),
    Mutant("copier", "kernel_copy.c", "errno != EINTR", "true"),
    Mutant("copier", "fix_fd.c", "(O_ACCMODE | O_APPEND)", "O_ACCMODE"),
    # Writing
    Mutant("write", "writer.c", "packet->fcs <= PCAPNG_FCS_MAX", "true"),
    Mutant("write", "writer.c", "<= CARRY_CAPTURE_PACKET_MAX &&\n", "<= UINT32_MAX &&\n"),
    Mutant("write", "writer.c", "if (!size || writer->failed)", "if (!size)"),
    Mutant("write", "writer.c", "packet->time_ns / NS_PER_SECOND <= UINT32_MAX", "true"),
    # Threads
    Mutant("threads", "threads_posix.c", "sigfillset(&blocked);", "sigemptyset(&blocked);"),
    Mutant("threads", "threads_posix.c", "sigdelset(&blocked, SIGBUS);", ""),
    # Pieces
    Mutant("pieces", "pipeline.c", "if (slot->piece.start != pipeline->at)", "if (false)", runs=20),
    Mutant("pieces", "piece.c", "number += before;", "number += 0;"),
    Mutant("pieces", "pcapng.c", "if (capture->is_part &&", "if (false &&"),
    Mutant("pieces", "format.c", "if (has_shrunk(capture))", "if (false)"),
    Mutant("pieces", "boundary.c", "if (at == chain->size)", "if (false)"),
    Mutant("pieces", "format.c", " && !source->stopped", ""),
    Mutant("pieces", "boundary.c", "chain.examined < SEARCH_RECORDS", "true"),
    Mutant("pieces", "boundary.c", "size % 4 ||", ""),
    Mutant("pieces", "reader.c", " && file->stop < 0", ""),
    Mutant("pieces", "loan.c", ">= loan->map_size", ">= 0"),
    Mutant("pieces", "reader.c", ".start + (off_t)offset, SEEK_SET", ".start, SEEK_SET"),
    # Parts
    Mutant("stream_parts", "stream_parts.c", "->size == SIZE_MAX;", "->size == SIZE_MAX - 1;"),
    Mutant("stream_parts", "stream_parts.c", "skip_given(capture->unpack, given);", ""),
    Mutant("stream_parts", "stream_parts.c", "carry_reader_seek(parts->capture, part->to);", ""),
    Mutant("stream_parts", "unpack_gzip.c", "+ UINT64_C(1)", "+ UINT64_C(2)"),
    Mutant("stream_parts", "unpack_zstd.c", "hop->after_last = flags & 4;", "hop->after_last = 0;"),
    Mutant("stream_parts", "unpack_lz4.c", "hop->inside = size != 0;", "hop->inside = true;"),
]


def unpackers() -> list[str]:
    """Returns the libraries that the build unpacks captures with, from its pkg-config file."""
    text = (BUILD / "meson-private/libcarry-capture.pc").read_text()
    return re.findall(r"-l\S+", text.partition("Libs.private:")[2].partition("\n")[0])


def program(folder: Path, test: str, changed: Path | None) -> Path:
    """Links a test as the build compiled it. The file `changed` replaces the library's file of that
    name."""
    made = folder / test
    objects = sorted((BUILD / f"tests/test_capture_{test}.p").glob("*.o"))
    assert objects
    command = ["gcc", "-O1", "-w", "-D_GNU_SOURCE", *objects]
    command += [f"-Wl,--wrap={name}" for name in WRAPPED.get(test, ALLOCATIONS)]
    command += [*([changed] if changed else []), *(BUILD / name for name in LIBRARIES)]
    for include in ("include", "capture", "src"):
        command += ["-I", SOURCE / include]
    command += ["-o", made, "-pthread", "-Wl,--as-needed", *unpackers()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return made


def limit_cpu() -> None:
    """Ends loops without an end early, also beside other load. No test needs a third of it."""
    resource.setrlimit(resource.RLIMIT_CPU, (15, 15))


def passes(made: Path) -> bool:
    """Runs a test until its first failure. A test that waits for ever fails, too."""
    env = {**os.environ, "CARRY_TEST_LEVEL": "short"}
    with subprocess.Popen([made], stdout=subprocess.PIPE, env=env, preexec_fn=limit_cpu) as run:
        assert run.stdout
        killer = threading.Timer(60, run.kill)
        killer.start()
        failed = any(line.startswith(b"not ok") for line in run.stdout)
        if failed:
            run.kill()
        killer.cancel()
        return run.wait() == 0 and not failed


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
    made = program(tmp_path, mutant.test, changed)
    assert not all(passes(made) for _ in range(mutant.runs))
