# SPDX-License-Identifier: MIT
"""scripts/check_commits.py refuses messages that do not follow CONTRIBUTING.md."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from carry_tool import SOURCE

sys.path.insert(0, str(SOURCE / "scripts"))
import check_commits

GOOD = "sum: add the AVX-512 kernel\n\nIt is faster.\n"
FORM = "subject is not 'area: verb ...' in lower case, without a full stop"
# Messages, and the complaint about each.
BAD = {
    "add the AVX-512 kernel\n": FORM,
    "sum: Add the AVX-512 kernel\n": FORM,
    "sum: add the AVX-512 kernel.\n": FORM,
    f"sum: add {'a' * 64}\n": "subject has 73 characters, more than 72",
    "sum: add a kernel\nIt is faster.\n": "second line is not empty",
    f"sum: add a kernel\n\n{'It is ' * 13}faster\n": "line 3 has 84 characters, more than 80",
    "sum: add a kernel\n\nIt is \nfaster.\n": "line 3 ends in white space",
}


@pytest.mark.parametrize("message", BAD)
def test_forms(message: str) -> None:
    assert BAD[message] in check_commits.complaints(message)
    assert check_commits.complaints(GOOD) == []


@pytest.mark.parametrize(
    "first",
    ["what", "who", "the", "a", "all", "of", "no", "adds", "copies", "added", "wrapped", "adding"],
)
def test_a_subject_begins_with_an_imperative(first: str) -> None:
    complaint = f'"This commit will {first} ...": begin with a verb, such as "add"'
    assert check_commits.subject_complaints(f"sum: {first} the kernel") == [complaint]


@pytest.mark.parametrize(
    "first", ["add", "pass", "focus", "compress", "need", "feed", "bring", "string", "check", "fix"]
)
def test_imperatives(first: str) -> None:
    assert check_commits.subject_complaints(f"sum: {first} the kernel") == []


def test_a_subject_uses_the_terms() -> None:
    assert check_commits.subject_complaints("tests: take a broken twin for caught") == [
        'subject: "twin": say "mutant"'
    ]
    assert check_commits.subject_complaints("tests: tell the caller so") == []


def test_older_commits_need_not_follow_new_rules(tmp_path: Path) -> None:
    """The words of a subject are checked only in new commits, its form in all."""

    def git(*arguments: str) -> None:
        subprocess.run(["git", "-C", tmp_path, *arguments], check=True, capture_output=True)

    git("init", "-q")
    for name, value in (("user.name", "A"), ("user.email", "a@example.org")):
        git("config", name, value)
    since = check_commits.WORDS_SINCE
    for time, subject in ((since - 1, "a: what it is"), (since, "a: what it was"), (0, "no area")):
        git("commit", "-q", "--allow-empty", "-m", subject, "--date", f"@{time} +0000")
    run = subprocess.run(
        [SOURCE / "scripts/check_commits.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    complaints = [line.split(": ", 1)[1] for line in run.stdout.splitlines()]
    assert complaints == [
        f"{FORM}: no area",
        '"This commit will what ...": begin with a verb, such as "add": a: what it was',
        "2 complaints",
    ]
