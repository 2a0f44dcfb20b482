# SPDX-License-Identifier: MIT
"""Jobs that read large captures in pieces write the same rows as one worker."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ARCHIVE, pcap, ticking, write_files
from servers import Served, web

pytest.importorskip("ray", reason="ray is not installed")

import ray
from libcarry.audit import pieces, split, tasks, worker
from libcarry.audit.pieces import Call
from test_job import OWN, READ, all_rows, cluster, expected, rows, run  # noqa: F401  (a fixture)

ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])

SPLIT = 64 << 10
SUMS = ("good", "bad", "partial", "good", "good", "bad", "good")


def long_pcap(packets: int = 3000) -> bytes:
    return pcap(*(SUMS[i % len(SUMS)] for i in range(packets)))


LARGE = {
    "a.pcap": long_pcap(),
    "b.pcapng": ticking(*(SUMS[i % len(SUMS)] for i in range(2000))),
    "cut.pcap": long_pcap()[:-7],
    "zero.pcap": long_pcap(2000) + bytes(SPLIT),
    "middle.pcap": long_pcap(1000) + b"\xff" * 999 + long_pcap(1000)[24:],
}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with captures that are read in pieces, and captures that are not."""
    folder = tmp_path_factory.mktemp("large")
    write_files(folder, LARGE | ARCHIVE)
    return folder


def without_pieces(tables: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    for row in tables["files"]:
        del row["pieces"]
    return tables


def in_pieces(out: Path) -> dict[str, int]:
    return {row["file"].rpartition("/")[2]: row["pieces"] for row in rows(out, "files")}


@pytest.mark.parametrize("findings", [7, None])
def test_rows_are_those_of_one_worker(large: Path, tmp_path: Path, findings: int | None) -> None:
    read = worker.Options(findings=findings, retries=1, backoff=0.01)
    run(tmp_path / "whole", large, split=0, read=read)
    run(tmp_path / "out", large, split=SPLIT, read=read)
    count = in_pieces(tmp_path / "out")
    assert count["a.pcap"] > 8
    assert count["b.pcapng"] > 8
    assert count["cut.pcap"] > 8
    assert set(in_pieces(tmp_path / "whole").values()) == {1}
    found, whole = (without_pieces(all_rows(tmp_path / name)) for name in ("out", "whole"))
    assert found == whole


def test_pieces_from_a_web_server(tmp_path: Path) -> None:
    """A capture is read in pieces from a server with ranges; a server without ranges gives the same
    rows."""
    served = {
        "/a.pcap": Served(LARGE["a.pcap"]),
        "/whole.pcap": Served(LARGE["a.pcap"], whole=True),
    }
    with web(served) as root:
        run(tmp_path / "out", *(root + name for name in served), split=SPLIT)
    found = rows(tmp_path / "out", "files")
    assert found[0]["pieces"] > 8
    assert [row["status"] for row in found] == ["wrong", "wrong"]
    assert found[0]["findings"] == found[1]["findings"] > 0
    assert len(rows(tmp_path / "out", "findings")) == 2 * min(1000, found[0]["findings"])


def test_pieces_of_a_capture_that_changes(tmp_path: Path) -> None:
    with web({"/a.pcap": Served(LARGE["a.pcap"], restless=True)}) as root:
        run(tmp_path / "out", f"{root}/a.pcap", split=SPLIT)
    assert [row["status"] for row in rows(tmp_path / "out", "files")] == ["changed"]
    assert rows(tmp_path / "out", "findings") == []


def ends(call: Call, shared: tasks.Shared) -> tuple[split.PieceResult, float]:
    """Runs pieces.check() in a worker. One piece of each capture ends the worker."""
    if call.piece.index == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(call, shared)


original = pieces.check


def test_a_worker_that_ends_in_a_piece_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path / "captures", {"a.pcap": LARGE["a.pcap"], "b.pcap": pcap("bad")})
    monkeypatch.setattr(pieces, "check", ends)
    run(tmp_path / "out", tmp_path / "captures", split=SPLIT)
    assert in_pieces(tmp_path / "out") == {"a.pcap": 1, "b.pcap": 1}
    assert all_rows(tmp_path / "out") == expected(tmp_path / "captures")


def test_captures_read_in_pieces_are_skipped(large: Path, tmp_path: Path) -> None:
    run(tmp_path / "out", large, split=SPLIT)
    again = run(tmp_path / "out", large, split=SPLIT)
    assert again.passed_over == len(LARGE | ARCHIVE)
