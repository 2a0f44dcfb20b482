# SPDX-License-Identifier: MIT
"""The proof of the packet walk refuses sources with one fault each, and keeps valid results."""

import os
import re
import shutil
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent.parent
RUN = ROOT / "proof/packet/run"

needs_frama_c = pytest.mark.skipif(
    not all(map(shutil.which, ("frama-c", "why3", "cvc4"))),
    reason="frama-c-base, why3 or cvc4 is not installed",
)

# File, text, its replacement, and the goal that must then not be proven; for large files, the
# function.
MUTANTS = {
    "reads two bytes after those it requested": (
        "chdlc.c",
        "carry_walk_take(walk, 4)",
        "carry_walk_take(walk, 2)",
        "call_carry_load16_requires",
    ),
    "looks at a header that is not there": (
        "ah.c",
        "    if (!header)\n        return CARRY_NEXT_NONE;\n",
        "",
        "assert_rte_mem_access",
    ),
    "moves past a header that was not captured": (
        "ah.c",
        "    if (!carry_walk_header(walk, size))\n        return CARRY_NEXT_NONE;\n",
        "",
        "ensures_placed",
    ),
    "never leaves a chain of headers": (
        "erf.c",
        "carry_walk_take(walk, 8)",
        "carry_walk_header(walk, 8)",
        "loop_variant",
    ),
    "writes a sum past the end of the array": (
        "igmp.c",
        "    carry_walk_require_length(walk);\n",
        "    carry_walk_require_length(walk);\n    walk->sums[walk->count].cause = 0;\n",
        "assert_rte_mem_access",
    ),
    "counts a sum that is not listed": (
        "igmp.c",
        "    return CARRY_NEXT_NONE;\n",
        "    walk->count++;\n    return CARRY_NEXT_NONE;\n",
        "ensures_count",
    ),
    "returns a header that is one byte short": (
        "walk.h",
        "return size <= carry_walk_readable(walk) - walk->offset ?",
        "return size <= carry_walk_readable(walk) - walk->offset + 1 ?",
        "ensures",
        "carry_walk_header",
    ),
    "lets the end of a layer wrap around": (
        "walk.h",
        "    if (walk->offset + (uint64_t)type < walk->bound)\n",
        "",
        "call_carry_walk_set_end_requires",
        "carry_walk_ethertype",
    ),
    "reads addresses past the header that was captured": (
        "packet.c",
        "walk->network + (version4 ? 12 : 8)",
        "walk->network + (version4 ? 16 : 8)",
        "call_carry_load32_requires",
        "carry_walk_enter_tunnel",
    ),
    "lists a sum where there is no room": (
        "packet.c",
        "    if (walk->count == walk->capacity)\n        return;\n"
        "    struct carry_packet_sum *sum = &walk->sums[walk->count++];\n    describe_sum(",
        "    struct carry_packet_sum *sum = &walk->sums[walk->count++];\n    describe_sum(",
        "call_describe_sum_requires",
        "carry_walk_sum",
    ),
    "describes a fragment without a request": (
        "packet.c",
        "if (walk->fragment && !walk->fragmented)",
        "if (!walk->fragmented)",
        "call_describe_fragment_requires",
        "carry_walk_fragment",
    ),
    "sums a byte more than is covered": (
        "packet.c",
        "carry_sum(cover + after, sum->cover_size - after, carry_sum(cover, before, seed))",
        "carry_sum(cover + after, sum->cover_size - before, carry_sum(cover, before, seed))",
        "call_carry_sum_2?_?requires",
        "sum_without_field",
    ),
    "does not count a step": (
        "packet.c",
        "uint32_t next) {\n    walk->steps++;\n    if (walk->layers)",
        "uint32_t next) {\n    if (walk->layers)",
        "ensures_steps",
        "advance_walk",
    ),
    "lists a sum for each of two covers": (
        "packet.c",
        "    walk->count = index;\n",
        "",
        "ensures",
        "carry_walk_sum_either",
    ),
    "returns to a place without its end": (
        "packet.c",
        "    walk->end = rest->end;\n",
        "",
        "assert_end",
        "resume_walk",
    ),
    "counts a sum before it is listed": (
        "packet.c",
        "(struct steps_done){walk.steps, walk.count, walk.unsettled}",
        "(struct steps_done){walk.steps, walk.count + 1, walk.unsettled}",
        "call_finish_walk_2?_?requires",
        "check",
    ),
    "returns to the present message": (
        "netlink.c",
        "start + ((uint64_t)size + 3) / 4 * 4, walk_message",
        "start, walk_message",
        "call_carry_walk_return_to_requires",
        "walk_message",
    ),
}


# Mutants that take long: later goals fail too, each at its time limit, or other goals are slow.
SLOW = (
    "lists a sum where there is no room",
    "returns to a place without its end",
    "counts a sum before it is listed",
)


def prove(name: str, packet: Path, *function: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(RUN), "--timeout", "5", "--packet", str(packet), name]
    command += ["--only", *function] if function else []
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


@needs_frama_c
@pytest.mark.parametrize("fault", MUTANTS)
def test_proof_refuses(fault: str, tmp_path: Path) -> None:
    if fault in SLOW and os.environ.get("CARRY_TEST_LEVEL", "medium") != "long":
        pytest.skip("it takes minutes: make proof runs it (CARRY_TEST_LEVEL=long)")
    name, old, new, goal, *function = MUTANTS[fault]
    packet = tmp_path / "packet"
    shutil.copytree(ROOT / "src/packet", packet)
    text = (packet / name).read_text()
    assert text.count(old) == 1
    (packet / name).write_text(text.replace(old, new))
    run = prove(name, packet, *function)
    assert run.returncode == 1, run.stdout + run.stderr
    assert re.search(rf"not proven: \w*{goal}", run.stdout), run.stdout + run.stderr


@needs_frama_c
def test_proof_names_a_loop_that_is_gone(tmp_path: Path) -> None:
    packet = tmp_path / "packet"
    shutil.copytree(ROOT / "src/packet", packet)
    text = (packet / "erf.c").read_text()
    (packet / "erf.c").write_text(text.replace("while (has_extension) {", "for (;;) {"))
    run = prove("erf.c", packet)
    assert run.returncode == 1
    assert run.stderr == "loops.acsl: erf.c has 0 lines: while (has_extension) {\n"


def load_run(path: Path = RUN) -> ModuleType:
    loader = SourceFileLoader("packet_run", str(path))
    module = module_from_spec(spec_from_loader("packet_run", loader))
    sys.modules["packet_run"] = module
    loader.exec_module(module)
    return module


# A function, a clause that is inserted before the first clause of its kind in the contract, and the
# smoke test that then fails.
CONTRADICTIONS = {
    "a requirement that is never fulfilled": (
        "carry_packet_walk_tcp",
        "requires walk->captured < walk->captured;",
        "carry_packet_walk_tcp_wp_smoke_default_requires",
    ),
    "a promise that cannot be kept": (
        "carry_walk_size",
        "ensures walk->captured < walk->captured;",
        "wp_smoke_dead_",
    ),
}


def smoke(tmp_path: Path, function: str, clause: str) -> tuple[bool, list[str], int]:
    """Returns whether tcp.h passes with an added clause, the failures, and how many tests pass."""
    run = load_run()
    run.prepare_provers(tmp_path)
    unit = run.Unit(run.Sources(ROOT / "src/packet", tmp_path), "tcp.h")
    old = run.find_contracts(unit.contracts)[function]
    assert unit.contracts.count(old) == 1
    kind = clause.partition(" ")[0]
    new = re.sub(rf"\b{kind}\b", f"{clause} {kind}", old, count=1) if kind else old
    assert (new != old) == bool(clause)
    unit.contracts = unit.contracts.replace(old, new)
    proof = unit.prove(5, 1, only_smoke=True)
    return proof.shown, proof.unproven, proof.smoked


@needs_frama_c
@pytest.mark.parametrize("fault", CONTRADICTIONS)
def test_contract_that_contradicts_itself(fault: str, tmp_path: Path) -> None:
    function, clause, test = CONTRADICTIONS[fault]
    shown, failed, _ = smoke(tmp_path, function, clause)
    assert not shown
    assert any(test in goal for goal in failed), failed


@needs_frama_c
def test_contracts_do_not_contradict_themselves(tmp_path: Path) -> None:
    shown, failed, passed = smoke(tmp_path, "carry_walk_size", "")
    assert shown and passed >= 4, failed


def test_smoke_test_of_unreachable_code_may_fail() -> None:
    dead = "typed_cast_carry_walk_pseudo_wp_smoke_dead_code_s8"
    call = "typed_cast_builtin_unreachable_wp_smoke_dead_call_s8"
    other = "typed_cast_check_wp_smoke_dead_code_s9"
    failed = load_run().failed_smoke_tests
    assert failed([("Failed", dead), ("Failed", call), ("Passed", other)]) == set()
    assert failed([("Failed", dead), ("Passed", call), ("Failed", other)]) == {dead, other}
    assert failed([("Failed", dead), ("Failed", call), ("Failed", other)]) == {other}


def digests(packet: Path, out: Path) -> dict[str, str]:
    run = load_run()
    sources = run.Sources(packet, out)
    return {name: run.Unit(sources, name).digest() for name in ("ah.c", "sll.c", "walk.h")}


def changed(old: str, new: str, folder: Path) -> set[str]:
    """Returns the files whose proofs a change of walk.h makes stale."""
    packet = folder / "packet"
    shutil.copytree(ROOT / "src/packet", packet)
    text = (packet / "walk.h").read_text()
    assert text.count(old) == 1
    (packet / "walk.h").write_text(text.replace(old, new))
    before, after = digests(ROOT / "src/packet", folder / "1"), digests(packet, folder / "2")
    return {name for name, digest in after.items() if digest != before[name]}


def test_function_with_a_contract_concerns_its_own_file(tmp_path: Path) -> None:
    assert changed("        walk->offset += size;\n", "", tmp_path) == {"walk.h"}


def test_declarations_concern_all_files(tmp_path: Path) -> None:
    old = "    uint32_t bound;  /* end of the bytes"
    assert changed(old, old.replace("32", "64"), tmp_path) == {"ah.c", "sll.c", "walk.h"}


def test_comments_concern_none(tmp_path: Path) -> None:
    assert changed("/* taken so far */", "/* until now */", tmp_path) == set()


GRE = ("src/packet/gre.c", "proof/packet/contracts_gre.acsl")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Returns a folder with all that a digest depends on, and with results for gre.c and igmp.c."""
    for name in ("proof/packet", "src/base", "src/packet", "src/sum", "include/carry"):
        shutil.copytree(ROOT / name, tmp_path / name)
    run = load_run(tmp_path / "proof/packet/run")
    sources = run.Sources(tmp_path / "src/packet", tmp_path / "out")
    names = ("gre.c", "igmp.c")
    rows = [f"{name} 20 7 {run.Unit(sources, name).digest()}" for name in names]
    (tmp_path / "proof/packet/results.txt").write_text("\n".join(["# Head.", *rows]) + "\n")
    return tmp_path


def results(project: Path) -> dict[str, list[str]]:
    rows = (project / "proof/packet/results.txt").read_text().splitlines()
    return {row.split()[0]: row.split()[1:] for row in rows if row[0] != "#"}


def rename(project: Path, old: str, new: str) -> None:
    """Replaces a whole word in gre.c and in its contracts."""
    for name in GRE:
        text = (project / name).read_text()
        (project / name).write_text(re.sub(rf"\b{old}\b", new, text))


def record_renamed(project: Path, *pairs: str) -> tuple[int, str]:
    command = [sys.executable, "-B", str(project / "proof/packet/run"), "--renamed", *pairs]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return run.returncode, (run.stdout + run.stderr).rstrip()


def test_renamed_functions_stay_proven(project: Path) -> None:
    before = results(project)
    rename(project, "skip_routes", "a_name_that_is_sorted_first")
    rename(project, "walk_redirected", "walk_wccp")
    pairs = ("skip_routes=a_name_that_is_sorted_first", "walk_redirected=walk_wccp")
    assert record_renamed(project, *pairs) == (0, "gre.c: only names changed")
    after = results(project)
    assert after["gre.c"][:2] == before["gre.c"][:2] == ["20", "7"]
    assert after["gre.c"][2] != before["gre.c"][2]
    assert after["igmp.c"] == before["igmp.c"]
    assert record_renamed(project, *pairs) == (0, "")  # nothing is stale


# Changes in gre.c besides the renaming of `walk_gre_content` to `walk_content`, the arguments, and
# the expected message.
NOT_ONLY_RENAMED = {
    "code changes": (
        [("carry_load16", "carry_load_le16")],
        ["walk_gre_content=walk_content"],
        "gre.c: more than names changed",
    ),
    "a renaming is not named": (
        [("payload", "room")],
        ["walk_gre_content=walk_content"],
        "gre.c: more than names changed",
    ),
    "two names become one": (
        [("walk_redirected", "walk_content")],
        ["walk_gre_content=walk_content"],
        "gre.c: more than names changed",
    ),
    "two names become one, and both are named": (
        [("walk_redirected", "walk_content")],
        ["walk_gre_content=walk_content", "walk_redirected=walk_content"],
        "--renamed: walk_content would be the name of two things",
    ),
    "one name becomes two": (
        [("walk_redirected", "walk_wccp")],
        ["walk_gre_content=walk_content", "walk_gre_content=walk_wccp"],
        "gre.c: one name became two",
    ),
    "the former name is still there": (
        [("payload", "walk_gre_content")],
        ["walk_gre_content=walk_content"],
        "gre.c: also has the former name walk_gre_content",
    ),
    "two names are exchanged": (
        [("skip_routes", "walk_gre_content")],
        ["walk_gre_content=walk_content", "skip_routes=walk_gre_content"],
        "gre.c: also has the former name walk_gre_content",
    ),
    "another header has the name": (
        [("walk_redirected", "carry_sum_fold")],
        ["walk_gre_content=walk_content", "walk_redirected=carry_sum_fold"],
        "--renamed: include/carry/sum.h also has the name carry_sum_fold",
    ),
}


@pytest.mark.parametrize("change", NOT_ONLY_RENAMED)
def test_proof_of_other_text_is_not_kept(change: str, project: Path) -> None:
    others, pairs, answer = NOT_ONLY_RENAMED[change]
    before = results(project)
    rename(project, "walk_gre_content", "walk_content")
    for old, new in others:
        rename(project, old, new)
    assert record_renamed(project, *pairs) == (1, answer)
    assert results(project) == before


def test_readme_names_what_is_assumed(tmp_path: Path) -> None:
    run = load_run()
    sources = run.Sources(ROOT / "src/packet", tmp_path)
    used = run.assumed_functions([run.Unit(sources, name) for name in run.recorded_rows()])
    readme = (ROOT / "proof/packet/README.md").read_text()
    assert [name for name in used if f"`{name}()`" not in readme] == []


def test_results_are_of_files_that_exist() -> None:
    """Each line of results.txt names a file that exists."""
    rows = (ROOT / "proof/packet/results.txt").read_text().splitlines()
    proven = {row.split()[0] for row in rows if not row.startswith("#")}
    assert proven
    assert proven - {*load_run().file_names(ROOT / "src/packet")} == set()
