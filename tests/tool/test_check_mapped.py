# SPDX-License-Identifier: MIT
"""`carry check` maps the captures that only its user may change, and survives if one shrinks."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from captures import GOOD, PARTIAL, WRONG, pcap
from carry_tool import BAD, ERROR, Run

pytestmark = pytest.mark.covers_capture

PACKETS = [GOOD, WRONG, PARTIAL] * 20_000  # several pieces

# Truncates the capture once its first pages were mapped; reports each mapping of a file.
TRUNCATES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int madvise(void *at, size_t size, int advice) {
    int (*next)(void *, size_t, int) = (int (*)(void *, size_t, int))dlsym(RTLD_NEXT, "madvise");
    const int result = next(at, size, advice);
    const char *shorter = getenv("SHORTER");
    if (shorter && advice == 22 && truncate("a.pcap", atol(shorter)))
        _exit(99);
    return result;
}
"""


def check(tool: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["env", *arguments[:-1], tool, "check", "--quiet", arguments[-1], "a.pcap"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.mark.parametrize("threads", ["-j1", "-j3"])
@pytest.mark.parametrize("size", [0, 100, 8192, 1_500_000, 2_000_001])
def test_a_file_that_becomes_shorter_while_it_is_mapped(
    tool: str, tmp_path: Path, preload: Callable[[str], str], threads: str, size: int
) -> None:
    data = pcap(PACKETS)
    assert len(data) > 2_100_000
    (tmp_path / "a.pcap").write_bytes(data)
    done = check(tool, tmp_path, preload(TRUNCATES), f"SHORTER={size}", threads)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr == "carry: a.pcap: became shorter while it was read\n"


@pytest.mark.parametrize(("mode", "maps"), [(0o600, True), (0o660, False), (0o606, False)])
def test_files_that_others_may_write_are_read(
    tool: str, tmp_path: Path, preload: Callable[[str], str], mode: int, maps: bool
) -> None:
    """With a mapping, the preloaded library truncates the file; without, nothing happens."""
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(PACKETS))
    path.chmod(mode)
    done = check(tool, tmp_path, preload(TRUNCATES), "SHORTER=100", "-j2")
    assert done.returncode == (ERROR if maps else BAD)


def test_reports_of_mapped_files_are_those_of_files_that_are_read(
    carry: Run, tmp_path: Path
) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(PACKETS))
    for mode in ([], ["--json"], ["--bad-only"], ["--jit"]):
        path.chmod(0o606)
        read = carry("check", *mode, path)
        path.chmod(0o600)
        for threads in ("-j1", "-j2", "-j5"):
            mapped = carry("check", threads, *mode, path)
            assert (mapped.returncode, mapped.stdout) == (read.returncode, read.stdout)
