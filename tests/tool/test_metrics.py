# SPDX-License-Identifier: MIT
"""Metrics: the file that carry check writes, and a Prometheus that scrapes carry live.

Prometheus runs in the network namespace of the wire, where its port is free and it reaches nothing
else.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest
from captures import TCP, UDP, ethernet, packet
from carry_tool import BAD, CLEAN, ERROR, SOURCE, Run
from namespaces import PATH, Namespace
from test_live import BAD_TCP, GOOD_TCP, create_wire, fetch, live, samples, send, wire

__all__ = ["wire"]  # a fixture

BROKEN = SOURCE / "examples/broken.pcap"
DAMAGED = SOURCE / "examples/damaged.pcap"
SECONDS = 60  # limit for operations that take one or two seconds


# --- Files ---


def test_check_writes_its_counts(carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "check.prom"
    done = carry("check", "-q", "--metrics-file", path, BROKEN, DAMAGED, tmp_path / "none")
    assert done.returncode == ERROR
    counted = json.loads(carry("check", "-J", BROKEN).stdout)
    damaged = json.loads(carry("check", "-J", DAMAGED).stdout)
    found = samples(path.read_text())
    assert found["carry_check_captures"] == 3
    assert found["carry_check_captures_not_clean"] == 3
    assert found["carry_check_captures_damaged"] == 1
    assert found["carry_check_captures_failed"] == 1
    assert found["carry_check_packets"] == counted["packets"] + damaged["packets"]
    for protocol, verdicts in counted["protocols"].items():
        for verdict, count in verdicts.items():
            name = f'carry_check_checksums{{protocol="{protocol}",verdict="{verdict}"}}'
            other = damaged["protocols"].get(protocol, {}).get(verdict, 0)
            assert found[name] == count + other


def test_check_reports_write_errors(carry: Run, tmp_path: Path) -> None:
    done = carry("check", "-q", "--metrics-file=/none/x", BROKEN)
    assert (done.returncode, done.stderr) == (ERROR, "carry: /none/x: No such file or directory\n")


def test_incomplete_counts_are_not_written(tool: str, tmp_path: Path) -> None:
    path = tmp_path / "check.prom"
    with open("/dev/full", "w") as full:
        words = [tool, "check", "-J", "--metrics-file", path, BROKEN, BROKEN]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == ERROR
    assert f"carry: {path}: is not written: writing to standard output failed\n" in done.stderr
    assert not path.exists()


# Names of interfaces as Python decodes them (a byte that is not UTF-8 becomes a surrogate), and
# their labels.
LABELS = [
    ("g\xfc", "g\xfc"),
    ("g\udcfc", "g\\\\xfc"),
    ("g\udcfd", "g\\\\xfd"),
    ("g\\xfc", "g\\\\x5cxfc"),
    ('g"', 'g\\"'),
]


def test_each_interface_has_its_own_label(wire: Namespace, tool: str, tmp_path: Path) -> None:
    """The label is unique whatever bytes the name has."""
    path = tmp_path / "names.prom"
    for name, _ in LABELS:
        create_wire(wire, name, f"{name}2")
    try:
        words = [word for name, _ in LABELS for word in ("-i", name)]
        with live(wire, tool, "--metrics-file", path, *words) as process:
            process.end()
    finally:
        for name, _ in LABELS:
            wire.run("ip", "link", "delete", name)
    names = [f'carry_capture_drops_total{{interface="{label}"}}' for _, label in LABELS]
    assert list(samples(path.read_text())) == names


@pytest.mark.parametrize(
    ("name", "problem"), [("-", "must name a file"), ("a.prom.xz", "cannot compress as")]
)
def test_names_that_are_refused(carry: Run, name: str, problem: str) -> None:
    done = carry("check", "-q", "--metrics-file", name, BROKEN)
    assert done.returncode == ERROR
    assert problem in done.stderr


def test_a_capture_is_not_replaced(carry: Run, tmp_path: Path) -> None:
    capture = tmp_path / "capture.pcap"
    shutil.copy(BROKEN, capture)
    done = carry("check", "-q", "--metrics-file", capture, capture)
    assert done.returncode == ERROR
    assert done.stderr == f"carry: {capture}: is a capture that was checked: not replaced\n"
    assert capture.read_bytes() == BROKEN.read_bytes()


def test_promtool_accepts_them(carry: Run, tmp_path: Path) -> None:
    if not shutil.which("promtool"):
        pytest.skip("not installed: promtool (Debian package prometheus)")
    path = tmp_path / "check.prom"
    assert carry("check", "-q", "--metrics-file", path, BROKEN).returncode == BAD
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=path.read_bytes(), capture_output=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


# --- Prometheus ---

CONFIGURATION = """\
global:
  scrape_interval: 100ms
scrape_configs:
  - job_name: carry
    static_configs:
      - targets: ["127.0.0.1:9099"]
"""


@pytest.fixture
def prometheus(wire: Namespace, tmp_path: Path) -> Iterator[None]:
    program = shutil.which("prometheus")
    if not program:
        pytest.skip("not installed: prometheus")
    (tmp_path / "prometheus.yml").write_text(CONFIGURATION)
    options = [
        f"--config.file={tmp_path / 'prometheus.yml'}",
        f"--storage.tsdb.path={tmp_path / 'data'}",
        "--web.listen-address=127.0.0.1:9090",
    ]
    with subprocess.Popen(
        wire.command(program, *options),
        env=os.environ | {"PATH": PATH},
        stderr=subprocess.DEVNULL,
    ) as process:
        yield
        process.kill()


def query(there: Namespace, expression: str) -> dict[str, float]:
    """Returns the value of each series by its interface, direction and verdict; none before
    Prometheus runs."""
    words = urllib.parse.urlencode({"query": expression})
    try:
        answer = fetch(there, f"GET /api/v1/query?{words} HTTP/1.0\r\n\r\n".encode(), 9090)
    except ConnectionRefusedError:
        return {}
    body = answer.partition(b"\r\n\r\n")[2]
    if not answer.startswith(b"HTTP/1.0 200") or not body:
        return {}
    return {
        ",".join(each["metric"].get(name, "") for name in ("interface", "direction", "verdict")): (
            float(each["value"][1])
        )
        for each in json.loads(body)["data"]["result"]
    }


def await_answer(there: Namespace, expression: str, expected: dict[str, float]) -> None:
    end = time.monotonic() + SECONDS
    found: dict[str, float] = {}
    while found != expected:
        assert time.monotonic() < end, found
        found = query(there, expression)


@pytest.mark.usefixtures("prometheus")
def test_prometheus_scrapes_and_queries(wire: Namespace, tool: str) -> None:
    """Prometheus scrapes the metrics, and its queries return the counts."""
    with live(wire, tool, "-J", "--metrics=9099", "v0", "v1") as process:
        send(wire, GOOD_TCP, BAD_TCP, BAD_TCP, ethernet(packet(UDP, sums="bad")))
        await_answer(
            wire,
            'sum by (interface, direction, verdict) (carry_checksums_total{verdict="bad"})',
            {"v0,out,bad": 3, "v1,in,bad": 3},
        )
        await_answer(wire, "sum(carry_packets_total)", {",,": 8})
        await_answer(wire, "carry_capture_drops_total", {"v0,,": 0, "v1,,": 0})
        send(wire, ethernet(packet(TCP, sums="bad")))
        await_answer(wire, 'sum(carry_checksums_total{protocol="tcp",verdict="bad"})', {",,": 6})
        process.end()
    assert process.status == CLEAN
