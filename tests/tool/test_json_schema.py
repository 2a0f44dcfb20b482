# SPDX-License-Identifier: MIT
"""All JSON that the tool prints conforms to docs/schema, member by member."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import schemas
from captures import GOOD, PARTIAL, UDP, V6, WRONG, Record, ethernet, packet, pcap
from carry_tool import SOURCE, Run
from test_options import COMMANDS, GROUPS

sys.path.insert(0, str(SOURCE / "scripts"))
import check_style

jsonschema = pytest.importorskip("jsonschema", reason="python3-jsonschema is not installed")

ONE = ["--quick", "--mode", "hot", "--size", "64"]
BROKEN = str(SOURCE / "examples/broken.pcap")
DAMAGED = str(SOURCE / "examples/damaged.pcap")
OFFLOAD = str(SOURCE / "examples/offload.pcapng")

# Commands for each schema; TOOL is the tool itself, which contains sites.
PRINT = {
    "audit": [["audit", "report", "-J", "audit"]],
    "check": [
        ["check", "-J", BROKEN, DAMAGED, OFFLOAD, "none"],
        ["check", "-J", "--no-reassemble", "--strict", OFFLOAD],
        ["check", "-J", "--list-bad", str(SOURCE / "examples")],
    ],
    "check_bad_only": [["check", "-bJ", "--partial=report", BROKEN, OFFLOAD]],
    "explain": [["explain", "-J", BROKEN, str(frame)] for frame in range(1, 12)],
    "fix": [["fix", "-J", "--dry-run", path] for path in (BROKEN, DAMAGED)],
    "fix_log": [["fix", "--dry-run", "--log=-", path] for path in (BROKEN, OFFLOAD)],
    "live": [["live", "-J", "--duration=1", "lo"]],
    "live_bad_only": [["live", "-bJ", "--duration=1", "lo"]],
    "cpu": [["cpu", "-J"]],
    "cpu_measure": [["cpu", "--measure", "--quick", "-J"]],
    "selftest": [["selftest", "-J"]],
    "selftest_proof": [["selftest", "--proof", "-J"]],
    "sites": [["sites", "-J", "TOOL"], ["sites", "-c", "-J", "TOOL"]],
    "bench_kernels": [
        ["bench", "sum", "-J", *ONE],
        ["bench", "sum", "-J", "--quick", "--mode", "imix"],
        ["bench", "crc", "-J", *ONE],
    ],
    "bench_copy": [["bench", "copy", "-J", *ONE, "--mode", "beside"]],
    "bench_capture": [["bench", "capture", "-J", "--size=1M"]],
    "bench_live": [["bench", "live", "-J", "--quick"]],
    "bench_patch": [["bench", "patch", "-J", "--quick"]],
    "bench_hook": [["bench", "hook", "-J", "--quick"]],
    "bench_xstate": [["bench", "xstate", "-J", "--quick"]],
    "bench_ring0": [["bench", "ring0", "-J"]],
    "bench_jit": [["bench", "jit", "-J", "--quick"]],
    "xstate_layout": [["xstate", "layout", "-J"]],
    "xstate_cost": [["xstate", "cost", "-J", "-q"]],
    "xstate_who": [["xstate", "who", "-J", "SELF"]],
    "xstate_prof": [["xstate", "prof", "-J", "-a", "-o", "OUT", "--", "sleep", "0.2"]],
    "xstate_leavers": [["xstate", "leavers", "-J", "-o", "OUT", "--", "true"]],
}

# Commands that print one object per line; other commands print a single object.
LINES = {"check", "check_bad_only", "fix_log", "sites", "xstate_who", "xstate_prof"}
LINES |= {"xstate_leavers", "live", "live_bad_only"}

# Messages of the tool about features that a machine or a build may lack.
SAID = ["no kernel was built", "built without", "beside the tool or where it is installed"]
SAID += ["cannot trace process", "cannot read thread", "needs the capability CAP_NET_RAW"]
SAID += ["bench live needs"]
MISSING = [*SAID, "Operation not permitted"]
if "CARRY_SANITIZED" in os.environ:  # the sanitizer has its own strlen()
    MISSING.append("cannot hook a function: unknown name")


def documents(name: str, text: str) -> list[str]:
    return text.splitlines() if name in LINES else [text]


@pytest.mark.parametrize("name", schemas.names())
def test_schemas_are_schemas(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schemas.load(name))
    assert schemas.load(name)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    known = schemas.load("common")["$defs"]
    text = (schemas.FOLDER / f"{name}.json").read_text()
    assert set(re.findall(r'"\$ref": "common\.json#/\$defs/(\w+)"', text)) <= set(known)


def test_each_schema_is_printed() -> None:
    assert set(PRINT) == set(schemas.names())


def test_reasons_to_skip_are_messages_of_the_tool() -> None:
    """The reasons to skip tests are messages of the tool. Otherwise a reworded message would make
    tests fail, but only on machines that lack a feature."""
    files = [*SOURCE.glob("tools/carry/**/*.c")]
    said = "\n".join(check_style.messages(path.read_text()) for path in files)
    assert [reason for reason in SAID if reason not in said] == []


def test_each_command_with_json_has_a_schema(carry: Run) -> None:
    described = {
        " ".join(words[: 2 if words[0] in GROUPS else 1])
        for each in PRINT.values()
        for words in each
    }
    for command in COMMANDS:
        if command.startswith("xstate") and platform.machine() != "x86_64":
            continue
        if "--json" in carry(*command.split(), "--help").stdout:
            assert command in described


@pytest.mark.parametrize("name", schemas.names())
def test_output_conforms(carry: Run, tool: str, tmp_path: Path, name: str) -> None:
    if name.startswith("xstate") and platform.machine() != "x86_64":
        pytest.skip("extended state is of x86-64")
    if name == "audit":
        pytest.skip("it needs an engine: tests/unit/audit/test_command.py runs it")
    if name == "live_bad_only":
        pytest.skip("it needs bad packets: test_live.py sends some")
    out = tmp_path / "out"
    for words in PRINT[name]:
        with subprocess.Popen(["sleep", "60"]) as sleeper:
            stands_for = {"TOOL": tool, "OUT": str(out), "SELF": str(sleeper.pid)}
            done = carry(*[stands_for.get(word, word) for word in words])
            sleeper.kill()
        text = out.read_text() if "OUT" in words and out.exists() else done.stdout
        if not text and any(reason in done.stderr for reason in MISSING):
            pytest.skip(done.stderr.strip())
        assert text, done.stderr
        for document in documents(name, text):
            found = schemas.conforming(name, document)
            assert found["schema"] == 1
            assert next(iter(found)) == "schema"


@pytest.fixture
def report(carry: Run) -> dict[str, Any]:
    frames = [GOOD, WRONG, PARTIAL, ethernet(packet(UDP, sums="none", **V6))]
    return json.loads(
        carry("check", "-J", "-", stdin=pcap([*frames, Record(GOOD[:50], 62)])).stdout
    )


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda report: report.pop("packets"), "'packets' is a required property"),
        (lambda report: report.update(more=1), "'more' was unexpected"),
        (lambda report: report.update(schema=2), "1 was expected"),
        (lambda report: report.update(outcome="fine"), "'fine' is not one of"),
        (lambda report: report["protocols"]["tcp"].pop("bad"), "'bad' is a required property"),
        (lambda report: report["reasons"]["tcp"].update(none=1), "'none' is not one of"),
        (lambda report: report["senders"]["tcp"]["bad"][0].update(mac="2"), "does not match"),
        (lambda report: report.update(damage={}), "is not valid under any"),
    ],
)
def test_nonconforming_object_is_found(
    report: dict[str, Any], change: Callable[[dict[str, Any]], Any], complaint: str
) -> None:
    assert not schemas.complaints("check", report)
    change(report)
    assert complaint in "\n".join(schemas.complaints("check", report))


@pytest.mark.parametrize("name", ["common", *schemas.names()])
def test_each_member_is_described(name: str) -> None:
    assert [*schemas.members(schemas.load(name))]
    assert schemas.undescribed(schemas.load(name)) == []


@pytest.mark.parametrize(
    ("name", "keys", "path"),
    [
        ("check", "properties packets", "packets"),
        ("check", "properties protocols additionalProperties", "protocols.*"),
        ("check", "properties reassembly anyOf 0 properties missing", "reassembly.missing"),
        ("explain", "$defs layers items properties at", "#layers[].at"),
        ("explain", "properties datagrams items properties frames", "datagrams[].frames"),
        ("sites", "$defs summary properties states properties nop", "#summary.states.nop"),
        ("sites", "$defs summary", "#summary"),
        ("common", "$defs port", "#port"),
    ],
)
@pytest.mark.parametrize("said", [None, " "])
def test_a_member_without_a_description_is_found(
    name: str, keys: str, path: str, said: str | None
) -> None:
    schema = node = schemas.load(name)
    for key in keys.split():
        node = node[int(key) if key.isdigit() else key]
    assert node["description"]
    node["description"] = said
    assert schemas.undescribed(schema) == [path]


def test_a_member_is_described_by_what_it_refers_to() -> None:
    schema = {
        "properties": {
            "port": {"$ref": "common.json#/$defs/port"},
            "own": {"$ref": "#/$defs/own"},
            "mute": {"$ref": "#/$defs/mute"},
            "lost": {"$ref": "#/$defs/lost"},
        },
        "$defs": {"own": {"description": "Mine."}, "mute": {"type": "string"}},
    }
    assert schemas.undescribed(schema) == ["mute", "lost", "#mute"]


@pytest.mark.parametrize("name", ["common", *schemas.names()])
def test_members_may_be_added(name: str) -> None:
    """Published schemas allow unknown members, so that new members need no new version."""
    assert '"additionalProperties": false' not in (schemas.FOLDER / f"{name}.json").read_text()


def test_the_page_names_the_folder_of_schemas() -> None:
    page = (SOURCE / "docs/man/carry.1").read_text()
    assert "docs/schema" in page[page.index("\n.SH JSON") :]
