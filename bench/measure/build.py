# SPDX-License-Identifier: MIT
"""Builds the library, and a program for the peers in each language."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from measure.fetch import fetch_packages, fetch_sources
from measure.peers import BENCH, ROOT, Peer
from measure.plan import DATA_MIB, MIXES, Cell, write_mix

BUILD_SECONDS = 600


class BuildError(Exception):
    """Reports that a part that the benchmark requires could not be built."""


@dataclass
class Built:
    programs: dict[str, Path] = field(default_factory=dict)  # by language
    missing: dict[str, str] = field(default_factory=dict)  # peer -> reason


def run(*command: str | Path, stdin: str | None = None) -> None:
    done = subprocess.run(list(map(str, command)), input=stdin, capture_output=True, text=True)
    if done.returncode:
        raise BuildError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")


LIBRARY, TOOL = "src/libcarry.a", "tools/carry/carry"


def build_library(source: Path, folder: Path, *targets: str) -> Path:
    """Builds `targets` as users do: by meson, with its defaults, and with the tool enabled. Returns
    `folder`."""
    if not (folder / "build.ninja").is_file():
        run("meson", "setup", "-Dtool=enabled", folder, source)
    run("ninja", "--quiet", "-C", folder, *targets)
    return folder


def carry_version() -> str:
    """Returns the version, and the revision if it is known."""
    version = subprocess.run([ROOT / "scripts/version"], capture_output=True, text=True).stdout
    described = subprocess.run(
        ["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True
    )
    return " ".join(filter(None, (version.strip(), described.stdout.strip())))


def library_notes(folder: Path) -> dict[str, str]:
    """Returns the compiler of the library, and its flags."""
    asked = ["meson", "introspect", "--buildoptions", folder]
    done = subprocess.run(asked, capture_output=True, text=True)
    options = {option["name"]: option["value"] for option in json.loads(done.stdout or "[]")}
    commands = json.loads((folder / "compile_commands.json").read_text())
    compiler = shlex.split(commands[0]["command"])[0]
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    flags = [f"-O{options.get('optimization', '?')}", *options.get("c_args", [])]
    return {"compiler": said.partition("\n")[0], "flags": " ".join(flags)}


def pathless(reason: str) -> str:
    """Removes this machine's folders from a reason."""
    return reason.replace(f"{ROOT}/", "")


def build_language(
    language: str, names: list[str], out: Path, library: Path, debs: Path, source: Path = ROOT
) -> tuple[Path | None, dict[str, str]]:
    """Builds the program of a language. Returns its path, or None if it lacks all peers; and why
    peers are missing, by name."""
    out.mkdir(parents=True, exist_ok=True)
    command = [BENCH / "peers" / language / "build", out, *names]
    places = {"BENCH_CARRY": library, "BENCH_SOURCE": source, "BENCH_DEBS": debs}
    environment = os.environ | {key: str(path) for key, path in places.items()}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=BUILD_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, dict.fromkeys(names, pathless(str(error)))
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        return None, dict.fromkeys(names, pathless(lines[-1]))
    found = re.findall(r"^missing (\S+) (.*)$", done.stdout, re.MULTILINE)
    missing = {name: pathless(reason) for name, reason in found}
    return None if missing.keys() >= set(names) else out / "run", missing


def build_peers(
    peers: list[Peer], folder: Path, library: Path, say: Callable[[str], None]
) -> Built:
    built = Built()
    debs = folder / "debs"
    debs.mkdir(parents=True, exist_ok=True)
    say("fetching packages")
    failed = fetch_packages(dict.fromkeys(name for peer in peers for name in peer.deb), debs)
    failed |= fetch_sources(dict.fromkeys(name for peer in peers for name in peer.source), debs)
    for language in dict.fromkeys(peer.language for peer in peers):
        names = [peer.name for peer in peers if peer.language == language]
        say(f"building peers: {language}")
        program, missing = build_language(language, names, folder / language, library, debs)
        built.missing |= missing
        if program:
            built.programs[language] = program
    for peer in peers:
        reasons = [failed[name] for name in (*peer.deb, *peer.source) if name in failed]
        if peer.name in built.missing and reasons:
            built.missing[peer.name] = reasons[0]
    return built


def prepare_work(cells: list[Cell], folder: Path) -> Path:
    """Makes the folder that CONTRACT.md calls WORK; returns its path."""
    work = folder / "work"
    work.mkdir(parents=True, exist_ok=True)
    program = folder / "vectors"
    tests = ROOT / "tests"
    run(
        *("gcc", "-O2", f"-I{tests}", f"-I{ROOT / 'include'}", "-o", program),
        *(BENCH / "vectors.c", tests / "harness/oracle.c"),
    )
    places = dict.fromkeys((cell.offset, cell.to, cell.size) for cell in cells if cell.size)
    lines = "".join(f"{offset} {to} {size}\n" for offset, to, size in places)
    run(program, work, str(DATA_MIB), stdin=lines)
    for mix in MIXES:
        write_mix(mix, work)
    return work
