# SPDX-License-Identifier: MIT
"""Documents: links lead to existing places, and the index leads to every document."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from carry_tool import SOURCE
from test_cause_rows import ROWS as CAUSES

sys.path.insert(0, str(SOURCE / "scripts"))
import check_style
import check_words
from manual import headers, roff

DOCUMENTS = sorted([*SOURCE.glob("*.md"), *SOURCE.glob("docs/**/*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
FUNCTIONS = roff.pages(headers.public_headers(), "2026-01-31")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def prose(document: Path) -> str:
    return check_words.FENCED.sub("", document.read_text())


def anchors(document: Path) -> set[str]:
    """Returns the anchors of headings, as GitHub and most generators form them."""
    words = (
        re.sub(r"[^\w\- ]", "", heading).lower() for heading in HEADING.findall(prose(document))
    )
    return {name.replace(" ", "-") for name in words}


def links(document: Path) -> Iterator[tuple[Path, str]]:
    """Yields the targets of the links of a document within the project, with their anchors."""
    for link in LINK.findall(prose(document)):
        if "://" not in link:
            name, _, anchor = link.partition("#")
            yield (document.parent / name).resolve() if name else document, anchor


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_links(document: Path) -> None:
    """Each link of a document leads to a file of the project and a heading in it."""
    for target, anchor in links(document):
        assert target.exists(), f"{target} is not there"
        assert target.is_relative_to(SOURCE)
        assert not anchor or anchor in anchors(target), f"{target.name} has no heading {anchor}"


def test_the_index_leads_to_every_document() -> None:
    reached, next_ones = set(), {SOURCE / "docs/index.md"}
    while next_ones:
        reached |= next_ones
        documents = (path for path in next_ones if path.suffix == ".md")
        next_ones = {target for path in documents for target, _ in links(path)} - reached
    assert reached >= set(DOCUMENTS)


def test_the_index_names_headers_examples_and_commands() -> None:
    """The index names more than nine headers and more than five examples, and they exist."""
    text = (SOURCE / "docs/index.md").read_text()
    headers = re.findall(r"`(carry/[\w/]+\.h)`", text)
    examples = re.findall(r"`(examples/\w+\.c)`", text)
    assert len(headers) > 9
    assert len(examples) > 5
    for name in [*(f"include/{header}" for header in headers), *examples]:
        assert (SOURCE / name).is_file()


def anchor_of(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_each_cause_has_its_situation() -> None:
    """The how-to leads from each cause that the command names to the section that explains it."""
    table = (SOURCE / "include/carry/capture_causes.def").read_text()
    causes = re.findall(r"^CARRY_CAPTURE_CAUSE\(\w+, (\w+),", table, re.MULTILINE)
    page = (SOURCE / "docs/howto/find-what-breaks-checksums.md").read_text()
    parts = re.split(r"^## (.+)\n", page, flags=re.MULTILINE)[1:]
    sections = {
        anchor_of(heading): text for heading, text in zip(parts[::2], parts[1::2], strict=True)
    }
    rows = re.findall(r"^\| `(\w+)` \| \[.+\]\(#(.+)\) \|$", page, re.MULTILINE)
    assert [cause for cause, _ in rows] == causes
    for cause, anchor in rows:
        assert f"`{cause}`" in sections[anchor], cause


# Tasks in the index, each with the page that the task's row leads to, and an answer on that page.
TASKS = [
    ("right, wrong or just offloaded", "README.md", "just offloaded"),
    ("what breaks checksums", "docs/howto/find-what-breaks-checksums.md", "ethtool -K"),
    ("give a capture to Zeek, Suricata", "docs/howto/feed-an-ids.md", "--only=partial"),
    ("check captures in continuous", "docs/howto/check-captures-in-ci.md", "exit status"),
    ("read the JSON of `carry check`", "docs/schema/check.json", "reassembly"),
    ("compute my first checksum", "docs/tutorial/first-checksum.md", "carry_sum_finish("),
    ("captures in my program", "examples/check.c", "carry_capture_check("),
    ("look up one function", "docs/reference/index.md", "include/carry/patch.h"),
    ("patch my first call", "docs/tutorial/first-patched-call.md", "carry_patch_commit("),
    ("in an operating-system kernel", "docs/howto/embed-in-a-kernel.md", "carry_host_cpu_mask"),
    ("add a kernel", "docs/howto/add-a-kernel.md", "kernels.def"),
]


@pytest.mark.parametrize(("task", "page", "answer"), TASKS, ids=[task for task, _, _ in TASKS])
def test_the_index_leads_to_the_answer(task: str, page: str, answer: str) -> None:
    index = SOURCE / "docs/index.md"
    (row,) = (line for line in index.read_text().splitlines() if task in line.partition(" | ")[0])
    found = {(index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(row)}
    assert SOURCE / page in found
    assert answer in (SOURCE / page).read_text()


def test_the_reference_names_all_pages() -> None:
    named = {target for target, _ in links(SOURCE / "docs/reference/index.md")}
    for pattern in ("include/carry/*.h", "docs/man/*.1", "docs/schema/*.json"):
        assert {*SOURCE.glob(pattern)} <= named


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_named_manual_pages_exist(document: Path) -> None:
    named = re.findall(r"`man ([\w.-]+)`(?:, section ([A-Z]+(?: [A-Z]+)*))?", document.read_text())
    for page, section in named:
        if page in FUNCTIONS:
            continue
        manual = (SOURCE / f"docs/man/{page}.1").read_text()
        assert not section or f"\n.SH {section}\n" in manual


def test_the_limits_of_a_server_are_those_of_its_code() -> None:
    """SECURITY.md promises these limits to users who open a port."""
    code = "".join((SOURCE / f"tools/carry/live/server.{end}").read_text() for end in "hc")
    limits = re.findall(r"#define (?:SERVER_CONNECTIONS|REQUEST_SIZE) +(\d+)", code)
    promised = "{} connections and {} bytes of a request at most".format(*limits)
    assert promised in (SOURCE / "SECURITY.md").read_text()


def test_points_that_join_conditions_must_say_which_one_failed() -> None:
    code = """
    tap_ok(a && b, "bare");
    tap_ok(TAP_EQ(a && b, 1) &&
               !f(','), "one bare: %d", a && b);
    tap_ok(TAP_EQ(a, b) && TAP_TRUE(f("(", c && d)), "%d", a && b);
    tap_ok(f(a && b) /* a && b */, "a && b");
"""
    assert [line for line, _ in check_style.silent_points(code)] == [2, 3]


# --- Steps through the code ---

STEP_NAMES = re.compile(r"`(?P<file>(?:src|include)/[\w/]+\.\w+)`|`(?P<function>\w+)\(\)`")


def defines(path: Path, function: str) -> bool:
    """Checks whether a source file contains the body of a function."""
    head = rf"^\w[^;{{}}()]*\b{function}\([^;{{}}]*\) \{{$"
    return bool(re.search(head, path.read_text(), re.MULTILINE))


def named_functions(step: str) -> list[tuple[str, str]]:
    """Returns each function of a step, with the file that is named with it or last before it."""
    named, file = [], ""
    for match in STEP_NAMES.finditer(step):
        file = match["file"] or file
        following = re.match(r"` in\s+`([\w/.]+)`", step[match.end() - 1 :])
        if match["function"]:
            named.append((following[1] if following else file, match["function"]))
    return named


def test_the_steps_of_one_packet_name_functions_of_their_files() -> None:
    text = (SOURCE / "docs/explanation/architecture.md").read_text()
    steps = text.split("\n## One TCP packet\n")[1].split("\n## ")[0]
    named = [
        pair
        for step in re.split(r"^\d+\. ", steps, flags=re.M)[1:]
        for pair in named_functions(step)
    ]
    assert len(named) > 20
    assert [pair for pair in named if not defines(SOURCE / pair[0], pair[1])] == []
    assert {file for file, _ in named} >= {
        f"src/packet/{name}" for name in ("packet.c", "ethernet.h", "walk.h", "ip.h", "tcp.h")
    }


def test_packet_c_begins_with_functions_of_their_files() -> None:
    """The reading order in packet.c names functions of packet.c, of a header that it names, or of
    offload.c."""
    folder = SOURCE / "src/packet"
    head = (folder / "packet.c").read_text().split("*/")[1]
    functions = re.findall(r"\b(\w+)\(\)", head)
    files = [folder / "packet.c", *(folder / name for name in re.findall(r"\b(\w+\.h)\b", head))]
    files += [folder / "offload.c"]
    assert len(functions) > 15
    assert [name for name in functions if not any(defines(file, name) for file in files)] == []


def test_a_function_must_be_defined_to_be_named(tmp_path: Path) -> None:
    """Calls and declarations are not definitions."""
    (tmp_path / "a.c").write_text(
        "int f(int a);\nstatic int g(int a,\n      int b) {\n    f(a);\n}\n"
    )
    assert defines(tmp_path / "a.c", "g")
    assert not defines(tmp_path / "a.c", "f")
    assert named_functions("`src/a.c`: `f()`, `g()` in\n   `src/b.h`; `h()`") == [
        ("src/a.c", "f"),
        ("src/b.h", "g"),
        ("src/b.h", "h"),
    ]


# --- Decisions ---

DECISIONS = SOURCE / "docs/explanation/decisions"
RECORDS = sorted(DECISIONS.glob("[0-9]*.md"))
RECORD = re.compile(
    r"# (\d{3})\. (?P<title>[^\n]+)\n\nModule: (?P<modules>`[^.]+)\. Code: (?P<code>`.+?`)\.\n\n"
    r"\*\*Context\.\*\* .+\n\n\*\*Decision\.\*\* .+\n\n\*\*Evidence\.\*\*\s.+\n",
    re.DOTALL,
)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_decision_has_a_record_that_leads_to_the_code(path: Path) -> None:
    record = RECORD.fullmatch(path.read_text())
    assert record
    assert record[1] == path.name[:3]
    for name in re.findall(r"`([^`]+)`", record["code"]):
        assert (SOURCE / name).exists(), f"{name} is not there"


def test_the_index_of_decisions_lists_each_under_its_module() -> None:
    listed = []
    for section in (DECISIONS / "index.md").read_text().split("\n## ")[1:]:
        module, *lines = section.splitlines()
        for number, name, title in (
            match.groups()
            for line in lines
            if (match := re.fullmatch(r"- \[(\d{3})\]\((.+\.md)\) (.+)", line))
        ):
            record = RECORD.fullmatch((DECISIONS / name).read_text())
            assert record
            assert (number, title) == (record[1], record["title"])
            assert record["modules"].startswith(f"`{module}`")
            listed.append(name)
    assert sorted(listed) == [path.name for path in RECORDS]
    assert [path.name[:3] for path in RECORDS] == [f"{i + 1:03}" for i in range(len(RECORDS))]


def test_documents_have_the_rows_of_causes() -> None:
    documented = (SOURCE / "docs/capture.md").read_text()
    table = documented.split("## Causes\n")[1].split("\n\n")[1].splitlines()[2:]
    assert table == [f"| {' | '.join(row.cells())} |" for row in CAUSES.values()]
    page = (SOURCE / "docs/man/carry-check.1").read_text()
    listed = page.split(".SS Causes\n")[1].split("\n.PP\n")[0]
    described = re.findall(r"^\.B (\w+)\n(.*?)$(?=\n\.TP|\Z)", listed, re.MULTILINE | re.DOTALL)
    assert [(name, " ".join(text.split())) for name, text in described] == [
        (row.name, f"{row.verdict.capitalize()}: it {row.one}.") for row in CAUSES.values()
    ]
