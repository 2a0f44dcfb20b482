#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a new version to the files that must state it. All other files follow
include/carry/base.h.

usage: set_version.py VERSION | --check      --check changes nothing, and fails if a file differs
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# These files cannot run scripts/version, as tools read them unchanged. {abi} names all releases
# that keep the ABI, {next} the first that does not.
PLACES = [
    ("include/carry/base.h", "#define CARRY_VERSION_MAJOR {major}"),
    ("include/carry/base.h", "#define CARRY_VERSION_MINOR {minor}"),
    ("include/carry/base.h", "#define CARRY_VERSION_PATCH {patch}"),
    ("bindings/rust/libcarry-sys/src/bindings.rs", "CARRY_VERSION_MAJOR: u32 = {major};"),
    ("bindings/rust/libcarry-sys/src/bindings.rs", "CARRY_VERSION_MINOR: u32 = {minor};"),
    ("bindings/rust/libcarry-sys/src/bindings.rs", "CARRY_VERSION_PATCH: u32 = {patch};"),
    ("bindings/rust/libcarry-sys/Cargo.toml", '\nversion = "{version}"'),
    ("bindings/rust/libcarry/Cargo.toml", '\nversion = "{version}"'),
    ("bindings/rust/libcarry/Cargo.toml", 'libcarry-sys = { version = "{version}"'),
    ("bindings/rust/bare/Cargo.toml", '\nversion = "{version}"'),
    ("bindings/rust/peers/Cargo.toml", '\nversion = "{version}"'),
    ("docs/rust.md", 'path = "libcarry-{version}"'),
    ("docs/rust.md", 'path = "libcarry-sys-{version}"'),
    ("docs/explanation/architecture.md", "`LIBCARRY_{abi}` in releases {abi}.x"),
    *(
        (f"packaging/debian/{library}0.symbols", form)
        for library in ("libcarry", "libcarry-capture", "libcarry-jit")
        for form in ("(<< {next}~)", "_{abi} {abi}")
    ),
    ("NEWS.md", "newest first.\n\n## {version}, "),
]
FIELDS = {
    "version": r"\d+\.\d+\.\d+",
    "abi": r"\d+(?:\.\d+)?",
    "next": r"\d+(?:\.\d+)?",
    "major": r"\d+",
    "minor": r"\d+",
    "patch": r"\d+",
}
UNRELEASED = "not yet released"


def fields(version: str) -> dict[str, str]:
    major, minor, patch = version.split(".")
    abi = f"0.{minor}" if major == "0" else major  # as in src/meson.build
    following = f"0.{int(minor) + 1}" if major == "0" else f"{int(major) + 1}"
    numbers = {"major": major, "minor": minor, "patch": patch}
    return {"version": version, "abi": abi, "next": following, **numbers}


def stated(form: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        form = form.replace(f"{{{name}}}", value)
    return form


def pattern(form: str) -> str:
    """Returns an expression that matches the form with any version."""
    return "".join(
        FIELDS.get(part[1:-1], re.escape(part)) for part in re.split(r"(\{[a-z]+\})", form)
    )


def line(text: str) -> str:
    return text.splitlines()[-1].strip()


def check_files(version: str) -> list[str]:
    errors = []
    for path, form in PLACES:
        found = re.findall(pattern(form), (ROOT / path).read_text())
        wanted = stated(form, fields(version))
        errors += [] if found else [f"{path}: no “{line(form)}”"]
        errors += [
            f"{path}: “{line(text)}”, and the version is {version}"
            for text in found
            if text != wanted
        ]
    return errors


def write_files(version: str) -> None:
    news = ROOT / "NEWS.md"
    text = news.read_text()
    newest = re.search(r"^## .*\n", text, re.MULTILINE)
    if newest and UNRELEASED not in newest[0]:  # a released version keeps its section
        start = newest.start()
        news.write_text(f"{text[:start]}## {version}, {UNRELEASED}\n\n{text[start:]}")
    for path, form in PLACES:
        parts = re.split(pattern(form), (ROOT / path).read_text())
        (ROOT / path).write_text(stated(form, fields(version)).join(parts))


def main() -> int:
    words = sys.argv[1:]
    if len(words) != 1 or not (words == ["--check"] or re.fullmatch(FIELDS["version"], words[0])):
        print("usage: set_version.py VERSION | --check", file=sys.stderr)
        return 2
    if words != ["--check"]:
        write_files(words[0])
    version = subprocess.run([ROOT / "scripts/version"], check=True, capture_output=True, text=True)
    errors = check_files(version.stdout.strip())
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
