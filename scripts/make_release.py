#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes all files for users, from a clean clone in a bare Debian. `make release` runs it.

usage: make_release.py [--check] [--here] [--to DIST] [--url URL] [TARGET...]

DIST (dist) gets the files that artefacts.py lists, or only the files of the named targets; an SPDX
document that lists these files, and SHA256SUMS. --check makes everything twice, in two folders, and
compares. --here makes it in this system. --url names the repository, and adds the recipes by which
other projects build a release.
The output of the steps is in build/release/.
"""

import argparse
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import artefacts
import make_recipes
import make_sbom
from artefacts import ARTEFACTS, ROOT, ReleaseError, output_of

WORK = ROOT / "build/release"
TARGETS = list(dict.fromkeys(artefact.target for artefact in ARTEFACTS))
SUMS = "SHA256SUMS"
# Packages that a bare Debian needs before the Makefile installs the rest.
FIRST = "ca-certificates git make mmdebstrap python3 xz-utils"
# The certificates that this machine trusts: pip and cargo trust them in the bare Debian too.
TRUSTED = Path("/etc/ssl/certs/ca-certificates.crt")
# The folders of the first and the second build, and their umask and time zone.
PLACES = [("libcarry", "umask 022"), ("another/longer/name", "umask 027; export TZ=Asia/Kolkata")]


def refuse_changes() -> None:
    """Refuses a release with changes that are not committed, or with files that state different
    versions."""
    if changed := output_of("git", "status", "--porcelain"):
        raise ReleaseError(f"not committed: {changed.splitlines()[0].strip()}")
    output_of(ROOT / "scripts/set_version.py", "--check")


def run_step(
    name: str, command: Sequence[str | Path], env: Mapping[str, str] | None = None
) -> None:
    """Runs a command and prints a line. The command's output goes to a file; if it fails, the last
    lines of the file are printed."""
    print(f"{name:<10} ", end="", flush=True)
    log = WORK / f"{name}.log"
    start = time.monotonic()
    with log.open("w") as output:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=os.environ | dict(env or {}),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    print(
        f"{'FAILED' if done.returncode else 'ok':<6} {time.monotonic() - start:4.0f} s", flush=True
    )
    if done.returncode:
        print("".join(f"    {line}\n" for line in log.read_text().splitlines()[-20:]), end="")
        raise ReleaseError(f"make {name} failed: {log}")


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def made_files(dist: Path, targets: Sequence[str]) -> list[Path]:
    """Returns the files of these targets; fails if one is missing."""
    found = [(artefact, path) for artefact, path in artefacts.found_artefacts(dist)]
    for artefact in ARTEFACTS:
        if artefact.target in targets and artefact not in [one for one, _ in found]:
            name = artefact.pattern.format(version=artefacts.version())
            raise ReleaseError(f"make {artefact.target} made no {name}")
    return [path for artefact, path in found if artefact.target in targets]


def write_sums(dist: Path, paths: Sequence[Path]) -> None:
    lines = sorted((str(path.relative_to(dist)), checksum(path)) for path in paths)
    (dist / SUMS).write_text("".join(f"{value}  {name}\n" for name, value in lines))


def make_here(dist: Path, url: str, targets: Sequence[str]) -> None:
    """Makes the release in this system, with its compilers and libraries."""
    own = ROOT / "dist"
    shutil.rmtree(own, ignore_errors=True)
    run_step("packages", ["make", "packages-build"])
    time_of_commit = {"SOURCE_DATE_EPOCH": str(artefacts.release_time())}
    for target in targets:
        run_step(target, ["make", "--no-print-directory", target], time_of_commit)
    paths = made_files(own, targets)
    if url:
        author = output_of("git", "log", "-1", "--format=%ae")
        paths.append(make_recipes.write_recipes(own, url, author))
    write_sums(own, [*paths, make_sbom.write_document(own)])
    if dist != own:
        shutil.copytree(own, dist, dirs_exist_ok=True)


def make_in_root(place: int, dist: Path, url: str, targets: Sequence[str]) -> None:
    """Makes the release in a bare Debian, from a clone of the commit of the first build."""
    name, settings = PLACES[place]
    folder = WORK / f"root-{place}"
    shutil.rmtree(folder, ignore_errors=True)
    commit = (WORK / "commit").read_text()
    output_of("git", "clone", "--quiet", "--no-hardlinks", "--no-checkout", ROOT, folder / name)
    output_of("git", "-C", folder / name, "checkout", "--quiet", commit)
    again = ["scripts/make_release.py", "--here", "--to", "/build/out"]
    lines = [
        "set -e",
        f"apt-get -q -y install --no-install-recommends {FIRST} >/dev/null",
        f"! [ -e trusted ] || cp trusted {TRUSTED}",
        settings,
        "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'",
        f"cd {name}",
        shlex.join(["exec", *again, f"--url={url}", *targets]),
    ]
    if TRUSTED.is_file():
        shutil.copy(TRUSTED, folder / "trusted")
    (folder / "make").write_text("\n".join(lines) + "\n")
    done = subprocess.run([ROOT / "scripts/in_root", folder, "sh", "make"])
    if done.returncode:
        raise ReleaseError("the release was not made in a bare Debian")
    shutil.rmtree(dist, ignore_errors=True)
    shutil.copytree(folder / "out", dist)


def compare_releases(first: Path, second: Path) -> None:
    """Checks that both builds have the same bytes; diffoscope, if installed, shows differences."""
    names = sorted(
        {str(path.relative_to(top)) for top in (first, second) for path in release_files(top)}
    )
    different = [
        name
        for name in names
        if not ((first / name).is_file() and (second / name).is_file())
        or checksum(first / name) != checksum(second / name)
    ]
    for name in different:
        report = WORK / f"{Path(name).name}.diffoscope"
        if shutil.which("diffoscope"):
            both = (first / name, second / name)
            subprocess.run(["diffoscope", "--text", report, *both], capture_output=True)
        print(f"    differs: {name} ({report if report.is_file() else 'no diffoscope here'})")
    if different:
        raise ReleaseError(f"{len(different)} of {len(names)} files differ when made again")
    print(f"{len(names)} files, the same both times")


def release_files(top: Path) -> list[Path]:
    """Returns the files of a release, without the files in which dpkg records a build."""
    names = (path for path in top.rglob("*") if path.is_file())
    return [path for path in names if path.suffix not in (".buildinfo", ".changes")]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").split("usage: ")[1].split("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--to", type=Path, default=ROOT / "dist")
    parser.add_argument("--url", default="")
    parser.add_argument("target", nargs="*")
    given = parser.parse_args()
    if unknown := set(given.target) - set(TARGETS):
        parser.error(f"unknown targets: {' '.join(sorted(unknown))}; there are {' '.join(TARGETS)}")
    return given


def main() -> int:
    given = arguments()
    dist, targets = (
        given.to.resolve(),
        [t for t in TARGETS if t in given.target or not given.target],
    )
    WORK.mkdir(parents=True, exist_ok=True)
    try:
        refuse_changes()
        if given.here:
            make_here(dist, given.url, targets)
        else:
            (WORK / "commit").write_text(output_of("git", "rev-parse", "HEAD"))
            make_in_root(0, dist, given.url, targets)
            if given.check:
                make_in_root(1, WORK / "again", given.url, targets)
                compare_releases(dist, WORK / "again")
    except (OSError, ReleaseError) as error:
        print(f"make_release.py: {error}", file=sys.stderr)
        return 1
    if dist == ROOT / "dist":
        count = len(release_files(dist))
        print(f"Made {count} files in {dist}; to check them: sha256sum --check {SUMS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
