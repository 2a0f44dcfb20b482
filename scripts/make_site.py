#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the manual's site.

usage: make_site.py BUILD

The generator (mkdocs) reads BUILD/site-source/ and writes BUILD/site/. Pages fetch nothing from
other hosts. Any warning of the generator is an error.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from manual.site import KINDS, ROOT, SiteError, Stage, documents, matches, navigation

THEME = ROOT / "scripts/manual/theme"
SECONDS = 600

# Separates words for the search. "_" is part of a word, and so is "." except at the end of a word:
# the search finds names in code.
SEPARATOR = r"[\s\-(),;:*&\[\]{}<>\"'`=|/]+|\.(?=\s|$)"


def obstacle() -> str:
    """Returns a message about missing programs, or ""."""
    needed = {"mkdocs": "mkdocs", "mandoc": "mandoc", "pygmentize": "python3-pygments"}
    missing = [package for command, package in needed.items() if not shutil.which(command)]
    return f"not installed: {', '.join(missing)}" if missing else ""


def configuration(source: Path, site: Path) -> dict[str, object]:
    return {
        "site_name": "libcarry",
        "site_description": "Checksums of packets: the library libcarry and the tool carry",
        "docs_dir": str(source),
        "site_dir": str(site),
        "use_directory_urls": False,  # so that pages also work as files
        "theme": {
            "name": "readthedocs",
            "custom_dir": str(THEME),
            "highlightjs": False,  # other hosts would serve its files
            "navigation_depth": 3,
        },
        "plugins": [{"search": {"separator": SEPARATOR}}],
        "markdown_extensions": ["sane_lists", "attr_list", {"codehilite": {"guess_lang": False}}],
        "extra_css": ["site.css"],
        "extra_javascript": ["site.js"],
        "nav": navigation(),
    }


def colours() -> str:
    """Returns the style sheet of code."""
    command = ["pygmentize", "-S", "default", "-f", "html", "-a", ".codehilite"]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, check=True
    ).stdout


def make(build: Path) -> Path:
    source, site, config = build / "site-source", build / "site", build / "mkdocs.yml"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    stage = Stage(source)
    of_kinds = [name for kind in KINDS for name in matches(kind.pattern)]
    stage.put_all([*documents(), *of_kinds, "LICENSE"])
    (source / "site.css").write_text(colours() + (THEME / "site.css").read_text())
    shutil.copyfile(THEME / "site.js", source / "site.js")
    config.write_text(json.dumps(configuration(source, site), indent=2))  # JSON is YAML, too
    done = subprocess.run(
        ["mkdocs", "build", "--quiet", "--strict", "--config-file", config],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    if done.returncode:
        raise SiteError(done.stdout + done.stderr)
    return site


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: make_site.py BUILD", file=sys.stderr)
        return 2
    if missing := obstacle():
        print(f"make_site.py: {missing}", file=sys.stderr)
        return 1
    try:
        site = make(Path(sys.argv[1]).resolve())
    except (SiteError, OSError, subprocess.SubprocessError) as error:
        print(f"make_site.py: {error}", file=sys.stderr)
        return 1
    print(f"Built {Path(sys.argv[1]) / site.name}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
