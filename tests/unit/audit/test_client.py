# SPDX-License-Identifier: MIT
"""A cluster that is reached through Ray's client, as from a machine outside it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ARCHIVE, write_files

pytest.importorskip("ray", reason="ray is not installed")
pytest.importorskip("grpc", reason="grpcio is not installed")

import ray
from libcarry.audit import engine
from test_job import wait_for

DAMAGED, ERROR = 2, 3


def is_open(port: int) -> bool:
    with socket.socket() as peer:
        return peer.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with engine.joined(None, 2):
        cluster = ray.get_runtime_context().gcs_address
        words = ["--host=127.0.0.1", f"--port={port}", "--mode=specific-server"]
        server = subprocess.Popen(
            [sys.executable, "-m", "ray.util.client.server", *words, f"--address={cluster}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(lambda: is_open(port))
        yield f"ray://127.0.0.1:{port}"
        server.kill()
        server.wait()


def test_the_job_runs_on_the_cluster(address: str, tmp_path: Path) -> None:
    write_files(tmp_path / "archive", ARCHIVE)
    command = [sys.executable, "-m", "libcarry.audit", f"--address={address}"]
    for out, status, shown in (
        (tmp_path / "out", DAMAGED, "7 captures, "),
        (tmp_path / "archive", ERROR, ""),
    ):
        done = subprocess.run(
            [*command, f"--out={out}", tmp_path / "archive"],
            env={**os.environ, "RAY_ADDRESS": ""},
            capture_output=True,
            text=True,
        )
        assert done.returncode == status, done.stderr
        assert done.stdout.startswith(shown)
        assert ("writes the tables" in done.stderr) == (status == DAMAGED)
    assert "holds other files" in done.stderr
