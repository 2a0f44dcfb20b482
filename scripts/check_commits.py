#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks commit messages against the rules of CONTRIBUTING.md.

usage: check_commits.py [RANGE]      all that led to HEAD, unless told otherwise

  sum: add the AVX-512 kernel        area, colon, a verb in lower case; at most 72 characters
                                     an empty line
  Why, in lines of at most 80        lines that are one long word, such as addresses, and trailers,
  characters.                        such as Signed-off-by, may be longer
"""

import re
import subprocess
import sys

SUBJECT = re.compile(r"[a-z0-9][a-z0-9_./,-]*: [a-z].*[^.\s]")
TRAILER = re.compile(r"[A-Z][A-Za-z-]+: ")  # Signed-off-by: and the like
SUBJECT_MAX = 72
BODY_MAX = 80


def complaints(message: str) -> list[str]:
    """What is wrong with a commit message, in the order of its lines."""
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


def commits(revisions: str) -> list[tuple[str, str]]:
    """Name and message of each commit; merges are git's own words."""
    log = subprocess.run(
        ["git", "log", "--no-merges", "--format=%h%n%B%x00", revisions],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    parts = (entry.lstrip("\n").split("\n", 1) for entry in log.split("\0") if entry.strip())
    return [(name, message) for name, message in parts]


def main() -> int:
    if len(sys.argv) > 2:
        print("usage: check_commits.py [RANGE]", file=sys.stderr)
        return 2
    checked = commits(sys.argv[1] if len(sys.argv) == 2 else "HEAD")
    errors = 0
    for name, message in checked:
        for complaint in complaints(message):
            errors += 1
            print(f"{name}: {complaint}: {message.splitlines()[0]}")
    print(f"{len(checked)} commits: {errors} complaints")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
