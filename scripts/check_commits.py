#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks commit messages against the rules of CONTRIBUTING.md.

usage: check_commits.py [RANGE]      default: all commits that HEAD contains

  sum: add the AVX-512 kernel        area, colon, a verb in lower case; at most 72 characters
                                     an empty line
  Why, in lines of at most 80        lines that are one long word, such as addresses, and trailers,
  characters.                        such as Signed-off-by, may be longer

A subject completes "This commit will ...": its verb is an imperative. Subjects use none of the
phrases that check_words.py lists. Commits from before these two rules need not follow them.
"""

import re
import subprocess
import sys

import check_words

SUBJECT = re.compile(r"[a-z0-9][a-z0-9_./,-]*: [a-z].*[^.\s]")
TRAILER = re.compile(r"[A-Z][A-Za-z-]+: ")  # Signed-off-by: and the like
SUBJECT_MAX = 72
BODY_MAX = 80

WORDS_SINCE = 1795867200  # 2026-11-28 12:00 UTC
NO_VERBS = (
    "a all also an and another any as at both but by each every few for from here how if in its"
    " many more most much never no none not nothing now of on one only or other same so some such"
    " than that the their them then there these this those three to two what when where whether"
    " which who why with without"
)
ENDINGS = re.compile(r"\w+(?:[^su]s|ed|ing)")
VERBS = (
    "bias bleed bring embed exceed feed heed need ping proceed ring seed shed shred sing speed"
    " spring sting string succeed swing weed"
)


def subject_complaints(subject: str) -> list[str]:
    """Returns complaints about the words of a subject."""
    said = subject.partition(": ")[2]
    match = re.match(r"\w+", said)
    first = match[0] if match else ""
    found = [f"subject: {complaint}" for _, complaint in check_words.phrases(said)]
    if first in NO_VERBS.split() or (ENDINGS.fullmatch(first) and first not in VERBS.split()):
        found.append(f'"This commit will {first} ...": begin with a verb, such as "add"')
    return found


def complaints(message: str) -> list[str]:
    """Returns complaints about the form of a commit message."""
    subject, *rest = message.rstrip("\n").split("\n")
    found = []
    if not SUBJECT.fullmatch(subject):
        found.append("subject is not 'area: verb ...' in lower case, without a full stop")
    if len(subject) > SUBJECT_MAX:
        found.append(f"subject has {len(subject)} characters, more than {SUBJECT_MAX}")
    if rest and rest[0]:
        found.append("second line is not empty")
    if len(rest) == 1:
        found.append("body is empty")
    for number, line in enumerate(rest, 2):
        if len(line) > BODY_MAX and " " in line.strip() and not TRAILER.match(line):
            found.append(f"line {number} has {len(line)} characters, more than {BODY_MAX}")
        if line != line.rstrip():
            found.append(f"line {number} ends in white space")
    return found


def commits(revisions: str) -> list[tuple[str, int, str]]:
    """Returns name, time and message of each commit, except merges: Git writes their messages."""
    log = subprocess.run(
        ["git", "log", "--no-merges", "--format=%h%n%at%n%B%x00", revisions],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    parts = (entry.lstrip("\n").split("\n", 2) for entry in log.split("\0") if entry.strip())
    return [(name, int(time), message) for name, time, message in parts]


def main() -> int:
    if len(sys.argv) > 2:
        print("usage: check_commits.py [RANGE]", file=sys.stderr)
        return 2
    checked = commits(sys.argv[1] if len(sys.argv) == 2 else "HEAD")
    errors = 0
    for name, time, message in checked:
        subject = message.partition("\n")[0]
        words = subject_complaints(subject) if time >= WORDS_SINCE else []
        for complaint in [*complaints(message), *words]:
            errors += 1
            print(f"{name}: {complaint}: {subject}")
    print(f"{len(checked)} commits: {errors} complaints")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
