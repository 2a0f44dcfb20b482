# SPDX-License-Identifier: MIT
"""Second opinions on the frames of tests in C: tshark's verdicts on the same bytes.

The tests of links and tunnels write their frames into the file that CARRY_TEST_FRAMES names. tshark
need not know all of them. Where it reaches TCP, its verdicts must be what the tests expect,
except for the listed differences. Each row of that list must apply to some frame.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from captures import Pcapng
from carry_tool import SOURCE

BUILD = Path(os.environ.get("CARRY_BUILD", SOURCE / "build"))
TESTS = ["test_packet_link", "test_packet_tunnel"]

pytestmark = pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")

COLUMNS = {
    "ip": "ip.checksum.status",
    "tcp": "tcp.checksum.status",
    "udp": "udp.checksum.status",
    "gre": "gre.checksum.status",
}
STATUSES = {"0": "bad", "1": "good", "2": "unverifiable", "3": "absent", "4": "illegal"}
PORTS = {4754: "gre", 5000: "peekremote", 5072: "ayiya", 7932: "hp_erm", 37008: "tzsp"}

# Link types with a frame in which tshark finds TCP, and the protocol that tshark names first in
# this frame.
KNOWN = {
    **{7: "arcnet", 107: "fr", 117: "pflog", 123: "atm", 128: "tzsp", 129: "arcnet"},
    **{135: "juniper", 137: "juniper", 138: "ap1394", 143: "docsis", 167: "juniper"},
    **{178: "juniper", 179: "juniper", 180: "juniper", 181: "juniper", 197: "erf"},
    **{100: "llc", 122: "ipfc", 204: "ppp", 226: "ipnet", 253: "netlink"},
}
KNOWN_WITHIN = {
    *("cfp", "vntag", "etag", "avsp", "etherip", "peekremote", "ayiya", "hp_erm", "tzsp"),
    *("udp:gre", "ethertype:wlan", "ipv6:eth"),
}


class Frame(NamedTuple):
    link: int
    data: bytes
    expected: list[tuple[str, str]]  # protocol and verdict, without its reason

    def verdicts(self, protocol: str) -> list[str]:
        return [verdict for name, verdict in self.expected if name == protocol]


class Answer(NamedTuple):
    protocols: str
    verdicts: dict[str, list[str]]


class Difference(NamedTuple):
    reason: str
    applies: Callable[[Frame, Answer], bool]


def has_extra_bytes(frame: Frame, answer: Answer) -> bool:
    """Checks for headers after which tshark takes the last 4 bytes of a frame as a check
    sequence."""
    kinds = ("cfp:", "fr:eth", "llc:eth", "radiotap:", "peekremote:")
    return answer.verdicts["tcp"] == ["bad"] and any(kind in answer.protocols for kind in kinds)


DIFFERENCES = [
    Difference("tshark expects a frame check sequence, which is not there", has_extra_bytes),
    Difference(
        "carry finds nothing after a header that contradicts itself",
        lambda frame, answer: len(frame.expected) < sum(map(len, answer.verdicts.values())),
    ),
    Difference(
        "tshark sums what goes beyond the layer around it",
        lambda frame, answer: any(verdict == "unverifiable" for _, verdict in frame.expected),
    ),
    Difference(
        "tshark calls partial sums bad",
        lambda frame, answer: any(verdict == "partial" for _, verdict in frame.expected),
    ),
    Difference(
        "tshark does not allow UDP 0 over IPv6 around tunnels (RFC 6935)",
        lambda frame, answer: ("udp", "absent") in frame.expected,
    ),
    Difference(
        "tshark looks at the first message of netlink only",
        lambda frame, answer: "netlink" in answer.protocols and len(frame.expected) > 2,
    ),
]


def frames(path: Path) -> list[Frame]:
    for test in TESTS:
        program = BUILD / "tests" / test
        assert program.is_file(), f"{program} is missing: build it, or set CARRY_BUILD"
        env = os.environ | {"CARRY_TEST_FRAMES": str(path)}
        subprocess.run([program], env=env, stdout=subprocess.DEVNULL, check=True)
    found = []
    for line in path.read_text().splitlines():
        link, data, expected = line.split("\t")
        sums = [tuple(item.split("/")[0].split(" ")) for item in expected.split(", ") if item]
        if int(link) <= 0xFFFF:
            found.append(Frame(int(link), bytes.fromhex(data), [(name, v) for name, v in sums]))
    return found


def ask(path: Path, asked: list[Frame]) -> list[Answer]:
    file, links = Pcapng().section(), sorted({frame.link for frame in asked})
    for link in links:
        file.interface(link=link)
    for frame in asked:
        file.packet(frame.data, interface=links.index(frame.link))
    path.write_bytes(file.bytes())
    columns = [word for column in COLUMNS.values() for word in ("-e", column)]
    options = [
        word for name in ("ip", "tcp", "udp") for word in ("-o", f"{name}.check_checksum:TRUE")
    ]
    ports = [word for port, name in PORTS.items() for word in ("-d", f"udp.port=={port},{name}")]
    done = subprocess.run(
        ["tshark", "-n", "-r", path, "-Tfields", "-eframe.protocols", *columns, *options, *ports],
        capture_output=True,
        text=True,
        check=True,
    )
    answers = []
    for line in done.stdout.rstrip("\n").split("\n"):
        protocols, *cells = line.split("\t")
        verdicts = [[STATUSES[status] for status in cell.split(",") if status] for cell in cells]
        answers.append(Answer(protocols, dict(zip(COLUMNS, verdicts, strict=True))))
    return answers


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Frame, Answer]]:
    folder = tmp_path_factory.mktemp("frames")
    asked = frames(folder / "frames")
    return list(zip(asked, ask(folder / "frames.pcapng", asked), strict=True))


def is_judged(answer: Answer) -> bool:
    return answer.protocols.endswith(":tcp") and answer.verdicts["tcp"] != []


def test_tshark_agrees_where_it_finds_tcp(pairs: list[tuple[Frame, Answer]]) -> None:
    used: Counter[str] = Counter()
    for frame, answer in pairs:
        ours = {protocol: frame.verdicts(protocol) for protocol in COLUMNS}
        if not is_judged(answer) or ours == answer.verdicts:
            continue
        reasons = [row.reason for row in DIFFERENCES if row.applies(frame, answer)]
        assert reasons, (frame.link, frame.data.hex(), frame.expected, answer)
        used.update(reasons[:1])
    assert set(used) == {row.reason for row in DIFFERENCES}


def test_tshark_finds_tcp_after_known_headers(pairs: list[tuple[Frame, Answer]]) -> None:
    agreed = [
        (frame.link, answer.protocols)
        for frame, answer in pairs
        if is_judged(answer) and answer.verdicts["tcp"] == frame.verdicts("tcp")
    ]
    first = {link: protocols.split(":")[0] for link, protocols in agreed}
    assert {link: first.get(link) for link in KNOWN} == KNOWN
    within = {name for name in KNOWN_WITHIN if any(name in protocols for _, protocols in agreed)}
    assert within == KNOWN_WITHIN
