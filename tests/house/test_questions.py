# SPDX-License-Identifier: MIT
"""Questions of newcomers: at most two steps lead from the README to the answer.

A step follows a link of the current page, or searches for a word in a folder that this page names.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from carry_tool import SOURCE

LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
FEW = 12  # files that a reader looks through


class Search(NamedTuple):
    """A search for a word in a folder, and the one of the found files that contains the answer."""

    word: str
    folder: str
    file: str


class Question(NamedTuple):
    text: str
    steps: tuple[str | Search, ...]  # a string: the page that a link leads to
    answer: str


QUESTIONS = [
    Question(
        "Where is a TCP checksum judged?",
        ("docs/explanation/architecture.md",),
        "`src/packet/packet.c` walks from header to header",
    ),
    Question(
        "Why was this kernel chosen?",
        ("docs/cpu.md",),
        "carry cpu                            # features, kernels, those in use and why",
    ),
    Question(
        "What does `make test` run?",
        ("docs/testing.md",),
        "| `make test` | each module, the tool, the Python package",
    ),
    Question(
        "How do I add a protocol?",
        ("CONTRIBUTING.md", "docs/howto/add-a-protocol.md"),
        "A protocol is one file and one row.",
    ),
    Question(
        "Where is the table of commands?",
        (Search("CARRY_COMMAND", "tools/carry/", "tools/carry/commands.def"),),
        "CARRY_COMMAND(check, check,",
    ),
    Question("Which licence does it have?", ("LICENSE",), "MIT License"),
    Question(
        "How are kernels proven?",
        ("docs/explanation/soundness.md",),
        "| Prover: some 6,000 lines of Python, without a solver. |",
    ),
    Question(
        "How does a commit patch a running program?",
        ("docs/explanation/architecture.md",),
        "At the commit, `src/patch/commit.c` finds the sites of the changed keys",
    ),
    Question(
        "What does the verdict partial mean?",
        (),
        "*Partial*: the network card completes the checksum, and nothing is wrong.",
    ),
    Question(
        "Which file reads pcapng?",
        (Search("draft-ietf-opsawg-pcapng", "capture/", "capture/pcapng.c"),),
        "BLOCK_MIN_BYTES",
    ),
    Question(
        "What must a commit message look like?",
        ("CONTRIBUTING.md",),
        'The subject completes "This commit will ..."',
    ),
    Question(
        "How do I report a crash on hostile bytes?",
        ("SECURITY.md",),
        "private vulnerability reporting",
    ),
]


def targets(page: Path) -> set[Path]:
    """Returns the files that the links of a page lead to."""
    found = LINK.findall(page.read_text()) if page.suffix == ".md" else []
    return {(page.parent / link).resolve() for link in found if "://" not in link}


def follow(page: Path, step: str | Search) -> Path:
    """Takes a step from a page; returns the file it leads to."""
    if isinstance(step, str):
        assert SOURCE / step in targets(page), f"{page.name} has no link to {step}"
        return SOURCE / step
    assert f"`{step.folder}`" in page.read_text(), f"{page.name} does not name {step.folder}"
    files = [path for path in (SOURCE / step.folder).rglob("*") if path.is_file()]
    found = [path for path in files if step.word in path.read_text(errors="replace")]
    assert SOURCE / step.file in found
    assert len(found) <= FEW
    return SOURCE / step.file


def ask(question: Question) -> None:
    """Follows the steps to the answer."""
    page = SOURCE / "README.md"
    assert len(question.steps) <= 2
    for step in question.steps:
        page = follow(page, step)
    text = page.read_text()
    assert question.answer in (text if "  " in question.answer else " ".join(text.split()))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
def test_two_steps_lead_from_the_readme_to_the_answer(question: Question) -> None:
    ask(question)


@pytest.mark.parametrize(
    "question",
    [
        Question("no such link", ("docs/capture.md", "docs/cpu.md"), "carry cpu"),
        Question("too many steps", ("docs/index.md", "docs/cpu.md", "docs/sum.md"), "carry_sum"),
        Question("no such answer", ("docs/cpu.md",), "This is said nowhere."),
        Question("no such folder", (Search("a", "capture/nowhere/", "a"),), "a"),
        Question("no such word", (Search("This is said", "capture/", "capture/pcap.c"),), "pcap"),
        Question("too many files", (Search("include", "capture/", "capture/pcap.c"),), "include"),
    ],
    ids=lambda question: question.text,
)
def test_a_way_that_does_not_lead_there_is_found(question: Question) -> None:
    with pytest.raises(AssertionError):
        ask(question)
