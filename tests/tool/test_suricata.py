# SPDX-License-Identifier: MIT
"""Alerts of Suricata, an intrusion detection system, with and without `carry fix -o -`.

Suricata must verify the checksums of three connections: one is good; the client of the second left
its checksums to its network card; a segment of the third is damaged.
"""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from captures import CHECK_AT, TCP, Record, ethernet, finish, fold, network, pcap, pseudo, put16
from carry_tool import CLEAN

pytestmark = pytest.mark.skipif(
    not shutil.which("suricata"),
    reason="suricata is not installed (Debian package suricata; for Debian 12, in its backports)",
)

CLIENT, SERVER, PORT = "10.0.0.5", "10.0.0.9", 8000
GOOD, OFFLOADED, DAMAGED = 40001, 40002, 40003  # ports of the clients
FIN, SYN, PSH, ACK = 1, 2, 8, 16

CONFIGURATION = """\
%YAML 1.1
---
outputs:
  - eve-log:
      enabled: yes
      filetype: regular
      filename: eve.json
      types: [alert, flow]
pcap-file:
  checksum-checks: yes
stream:
  checksum-validation: yes
app-layer:
  protocols:
    http:
      enabled: no
"""

RULES = """\
alert tcp any any -> any 8000 \
(msg:"secret"; flow:established,to_server,only_stream; content:"secret"; sid:1; rev:1;)
"""


def segment(port: int, sums: str, seq: int, ack: int, flags: int, data: bytes = b"") -> bytes:
    return frame((CLIENT, SERVER), (port, PORT), sums, (seq, ack, flags), data)


def answer(port: int, seq: int, ack: int, flags: int) -> bytes:
    return frame((SERVER, CLIENT), (PORT, port), "good", (seq, ack, flags), b"")


def frame(
    ends: tuple[str, str],
    ports: tuple[int, int],
    sums: str,
    state: tuple[int, int, int],
    data: bytes,
) -> bytes:
    seq, ack, flags = state
    tcp = struct.pack(">HHLLBBHHH", *ports, seq, ack, 0x50, flags, 65535, 0, 0) + data
    head = pseudo(*ends, TCP, len(tcp))
    check = {"good": finish(head + tcp), "bad": finish(head + tcp) ^ 0x1234, "partial": fold(head)}
    return ethernet(network(*ends, TCP, put16(tcp, CHECK_AT[TCP], check[sums])))


def connection(port: int, sums: str, sent: str) -> Iterator[bytes]:
    """Yields the frames of a connection. The client's segments without data have sums of the kind
    `sums`; the segment with data has a sum of the kind `sent`."""
    data = b"the secret of " + str(port).encode()
    end = 101 + len(data)
    yield segment(port, sums, 100, 0, SYN)
    yield answer(port, 500, 101, SYN | ACK)
    yield segment(port, sums, 101, 501, ACK)
    yield segment(port, sent, 101, 501, PSH | ACK, data)
    yield answer(port, 501, end, ACK)
    yield segment(port, sums, end, 501, FIN | ACK)
    yield answer(port, 501, end + 1, FIN | ACK)
    yield segment(port, sums, end + 1, 502, ACK)


def capture() -> bytes:
    frames: list[bytes] = [
        *connection(GOOD, "good", "good"),
        *connection(OFFLOADED, "partial", "partial"),
        *connection(DAMAGED, "good", "bad"),
    ]
    return pcap(Record(frame, fraction=at * 1000) for at, frame in enumerate(frames))


class Seen(NamedTuple):
    alerts: set[int]  # ports of clients in whose data Suricata found the pattern
    followed: set[int]  # ports of clients whose connections Suricata followed to the end


def ports(events: list[dict[str, Any]], kind: str) -> set[int]:
    return {event["src_port"] for event in events if event["event_type"] == kind}


def run_suricata(folder: Path, command: str) -> Seen:
    """Returns the clients whose data or connections Suricata recognises in in.pcap. The start of
    Suricata's command line replaces {} in `command`."""
    (folder / "suricata.yaml").write_text(CONFIGURATION)
    (folder / "rules").write_text(RULES)
    (folder / "in.pcap").write_bytes(capture())
    suricata = "suricata -c suricata.yaml -S rules -l . --runmode single -r"
    script = command.format(suricata)
    done = subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, text=True)
    assert done.returncode == CLEAN, done.stdout + done.stderr
    events = [json.loads(line) for line in (folder / "eve.json").read_text().splitlines()]
    closed = [event for event in events if event.get("tcp", {}).get("state") == "closed"]
    return Seen(ports(events, "alert"), ports(closed, "flow"))


def test_offload_hides_a_connection_without_fix(tmp_path: Path) -> None:
    assert run_suricata(tmp_path, "{} in.pcap") == Seen({GOOD}, {GOOD, DAMAGED})


@pytest.mark.parametrize("source", ["cat in.pcap | {tool} fix -", "{tool} fix in.pcap"])
def test_fix_completes_partial_sums_on_the_way(tool: str, tmp_path: Path, source: str) -> None:
    """Offloaded connections are detected, and damaged segments are not accepted."""
    fix = f"{source.format(tool=tool)} -q -o - --only=partial"
    assert run_suricata(tmp_path, f"{fix} | {{}} /dev/stdin") == (
        Seen({GOOD, OFFLOADED}, {GOOD, OFFLOADED, DAMAGED})
    )


def test_full_repair_hides_damage(tool: str, tmp_path: Path) -> None:
    """A full repair hides damage, so the manual recommends --only=partial."""
    everything = {GOOD, OFFLOADED, DAMAGED}
    command = f"{tool} fix in.pcap -q -o - | {{}} /dev/stdin"
    assert run_suricata(tmp_path, command) == Seen(everything, everything)
