# SPDX-License-Identifier: MIT
"""Compares every sum in the shared captures with tshark's verdict.

The captures and tshark's verdicts lie beside the project, not in it: CARRY_CORPUS names their
folder (../shared/captures by default); the verdicts lie in the folder of the same name with
"-oracle". For each frame and protocol, the verdicts of all layers, outer to inner, must be equal,
except for the rows of corpus_differences.py. Each row says in how many frames of a file they
differ, how, and why. A difference without a row is a failure, and so is a row without its
difference.

The comparison runs twice: for single frames, and for reassembled datagrams.
"""

from __future__ import annotations

import csv
import functools
import os
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from corpus_differences import REASONS, REASSEMBLED, Row

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = Path(os.environ.get("CARRY_CORPUS", ROOT / "../shared/captures"))
ORACLE = CAPTURES.with_name(CAPTURES.name + "-oracle")
DUMP_SUMS = Path(os.environ.get("CARRY_BUILD", ROOT / "build")) / "tests/dump_sums"

COLUMNS = {
    "ip": "ip.checksum.status",
    "tcp": "tcp.checksum.status",
    "udp": "udp.checksum.status",
    "icmp": "icmp.checksum.status",
    "icmpv6": "icmpv6.checksum.status",
    "igmp": "igmp.checksum.status",
    "gre": "gre.checksum.status",
    "sctp": "sctp.checksum.status",
    "dccp": "dccp.checksum.status",
    "pim": "pim.cksum.status",
    "vrrp": "vrrp.checksum.status",
}
STATUSES = {"0": "bad", "1": "good", "2": "unverifiable", "3": "absent", "4": "illegal"}

# Sums to which tshark gives no status, or a status that its list omits: the number of sums with
# each verdict. The names of zeek's files give the verdicts; tshark shows the sums of other files as
# correct in its full output.
OTHERS: dict[str, dict[tuple[str, str], int]] = {
    "arkime_arkime_synthetic.pcap": {("ospf", "good"): 1},
    "arkime_mpls-basic.pcap": {("eigrp", "good"): 10, ("rsvp", "good"): 1},
    "derived_bitflip5pct.pcap": {("ospf", "good"): 1},
    "derived_cut_midrecord.pcap": {("ospf", "good"): 1},
    "derived_wordswap.pcap": {("ospf", "good"): 1},
    "tcpdump_OSPFv3_broadcast_adjacency.pcap": {("ospf", "good"): 38},
    "tcpdump_icmp-rfc5837.pcap": {("icmpext", "good"): 1},
    "tcpdump_pgm_zmtp1.pcap": {("pgm", "good"): 14},
    "wireshark_communityid.pcap": {("rsvp", "good"): 2},
    "zeek_mip6-bad-mh-chksum.pcap": {("mipv6", "bad"): 1},
    "zeek_mip6-good-mh-chksum.pcap": {("mipv6", "good"): 1},
}

Frame = int
Protocol = str
Verdicts = dict[tuple[Frame, Protocol], list[str]]
Difference = tuple[Protocol, str, str]  # the protocol, our verdicts, tshark's verdicts

pytestmark = pytest.mark.skipif(
    not (CAPTURES.is_dir() and ORACLE.is_dir()),
    reason=f"no captures in {CAPTURES}, or no verdicts in {ORACLE}: see CARRY_CORPUS",
)


def rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="") as file:
        yield from csv.DictReader(file, delimiter="\t")


def captures() -> list[str]:
    return sorted(path.name for path in CAPTURES.glob("*"))


@functools.cache
def our_verdicts(capture: str, *options: str) -> Verdicts:
    assert DUMP_SUMS.is_file(), f"{DUMP_SUMS} is missing: build it, or set CARRY_BUILD"
    command = [DUMP_SUMS, *options, CAPTURES / capture]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert run.returncode in (0, 2), run.stderr  # 2: damaged, as some captures are intentionally
    verdicts: Verdicts = defaultdict(list)
    for line in run.stdout.splitlines():
        frame, protocol, verdict, *rest = line.split("\t")
        protocol = "udp" if protocol == "udplite" else protocol  # the name in tshark
        if verdict == "superseded":
            verdicts[int(frame), protocol].remove("unverifiable/fragment")
            continue
        reason = rest[0]
        shown = f"{verdict}/{reason}" if verdict == "unverifiable" else verdict
        verdicts[int(frame), protocol].append(shown)
    return {key: shown for key, shown in verdicts.items() if shown}


def their_verdicts(capture: str, variant: str) -> Verdicts:
    # tshark 4.0 reports partial sums as bad. A second pass over its output found the partial ones
    # among the bad sums.
    partial = {
        (row["frame"], row["proto"])
        for row in rows(ORACLE / f"{capture}.partial.tsv")
        if row["kind"] == "pseudo+len"
    }
    verdicts: Verdicts = {}
    frame = 0
    for row in rows(ORACLE / f"{capture}.{variant}.tsv"):
        if not row["frame.encap_type"]:
            continue  # a custom block of pcapng, which tshark numbers although it is not a packet
        frame += 1
        for protocol, column in COLUMNS.items():
            statuses = [STATUSES[status] for status in row[column].split(",") if status]
            if (row["frame.number"], protocol) in partial:
                statuses = ["partial" if status == "bad" else status for status in statuses]
            if statuses:
                verdicts[frame, protocol] = statuses
    return verdicts


def differences(ours: Verdicts, theirs: Verdicts) -> Counter[Difference]:
    found: Counter[Difference] = Counter()
    for key in ours.keys() | theirs.keys():
        if key[1] not in COLUMNS:
            continue
        mine, other = ours.get(key, []), theirs.get(key, [])
        if [verdict.split("/")[0] for verdict in mine] != other:
            found[key[1], ",".join(mine) or "-", ",".join(other) or "-"] += 1
    return found


def known_differences(reasons: dict[str, list[Row]]) -> dict[str, Counter[Difference]]:
    known: dict[str, Counter[Difference]] = defaultdict(Counter)
    for rows_of_reason in reasons.values():
        for file, protocol, ours, theirs, frames in rows_of_reason:
            known[file][protocol, ours, theirs] += frames
    return known


def unlisted_differences(
    found: Counter[Difference], known: Counter[Difference]
) -> dict[Difference, str]:
    return {
        difference: f"{found[difference]} frames, {known[difference]} listed"
        for difference in found.keys() | known.keys()
        if found[difference] != known[difference]
    }


@pytest.mark.parametrize("capture", captures())
def test_agrees_with_tshark_except_listed_differences(capture: str) -> None:
    found = differences(our_verdicts(capture), their_verdicts(capture, "nodefrag"))
    assert not unlisted_differences(found, known_differences(REASONS)[capture])


@pytest.mark.parametrize("capture", captures())
def test_agrees_with_tshark_on_reassembled_datagrams(capture: str) -> None:
    found = differences(our_verdicts(capture, "-r"), their_verdicts(capture, "defrag"))
    known = known_differences(REASONS) | known_differences(REASSEMBLED)
    assert not unlisted_differences(found, known.get(capture, Counter()))


@pytest.mark.parametrize("capture", captures())
def test_sums_that_tshark_gives_no_status_for(capture: str) -> None:
    found = Counter(
        (protocol, verdict)
        for (_, protocol), verdicts in our_verdicts(capture).items()
        for verdict in verdicts
        if protocol not in COLUMNS
    )
    assert found == OTHERS.get(capture, {})


def test_every_listed_capture_exists() -> None:
    known = known_differences(REASONS) | known_differences(REASSEMBLED)
    assert set(known) | set(OTHERS) <= set(captures())


def test_the_captures_hold_sums_of_every_protocol() -> None:
    seen = {protocol for capture in captures() for _, protocol in our_verdicts(capture)}
    assert seen == set(COLUMNS) | {protocol for sums in OTHERS.values() for protocol, _ in sums}
