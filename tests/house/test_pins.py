# SPDX-License-Identifier: MIT
"""External files that releases are made with are pinned by their digests."""

from __future__ import annotations

import re
import sys

import pytest
from carry_tool import SOURCE

sys.path.insert(0, str(SOURCE / "scripts"))
import check_style
import lock_tools

COMMIT = "11bd71901bbe5b1630ceea73d27597364c9af683"
IMAGE = f"debian:12@sha256:{'30482e87' * 8}"
LINES = {
    "      - uses: actions/checkout@v4": "actions/checkout@v4 has no digest",
    f"      - uses: actions/checkout@{COMMIT[:7]}": f"actions/checkout@{COMMIT[:7]} has no digest",
    "    container: debian:12": "debian:12 has no digest",
    "      image: debian:12": "debian:12 has no digest",
    "      - run: pip install twine": "pip without --require-hashes",
    f"      - uses: actions/checkout@{COMMIT} # v4.2.2": None,
    "    container:": None,
    f"      image: {IMAGE}": None,
    "      - run: pip install --require-hashes -r scripts/pip/style.txt": None,
}


@pytest.mark.parametrize("line", LINES)
def test_a_workflow_names_digests(line: str) -> None:
    found = check_style.unpinned(check_style.WORKFLOWS / "new.yml", f"jobs:\n{line}\n")
    complaint = LINES[line]
    assert list(found) == ([(2, complaint)] if complaint else [])


@pytest.mark.parametrize("name", ["scripts/new.py", "packaging/oss-fuzz/Dockerfile", "Makefile"])
@pytest.mark.parametrize("line", ["pip3 install a", 'run(folder / "bin/pip", "install", "a")'])
def test_scripts_install_by_digests_alone(name: str, line: str) -> None:
    found = check_style.unpinned(SOURCE / name, line)
    assert list(found) == [(1, "pip without --require-hashes")]


def test_documents_may_show_what_users_type() -> None:
    assert not list(check_style.unpinned(SOURCE / "README.md", "pip install libcarry"))


@pytest.mark.parametrize("name", lock_tools.TOOLS)
def test_lock_matches_its_row(name: str) -> None:
    """Each package is pinned once, to one version, with digests; the tools of the row are among the
    packages."""
    text = (lock_tools.LOCKS / f"{name}.txt").read_text()
    packages = text.replace(" \\\n", "").splitlines()[1:]
    for package in packages:
        assert re.fullmatch(r"[a-z0-9-]+==[^ ;]+(    --hash=sha256:[0-9a-f]{64})+", package), (
            package
        )
    pinned = [package.partition(" ")[0] for package in packages]
    wanted = {re.sub(r"\[.*\]", "", tool).replace("_", "-") for tool in lock_tools.TOOLS[name]}
    assert len(set(pinned)) == len(pinned)
    assert wanted <= {*pinned}


def test_each_lock_is_a_row() -> None:
    assert {path.stem for path in lock_tools.LOCKS.iterdir()} == {*lock_tools.TOOLS}


FILES = {
    "ruff-0.17.6-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl": True,
    "polars_runtime_32-2.1.0-cp310-abi3-manylinux_2_24_aarch64.whl": True,
    "numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl": True,
    "six-1.17.0-py2.py3-none-any.whl": True,
    "numpy-2.4.6-cp311-cp311-win_amd64.whl": False,
    "numpy-2.4.6-cp314-cp314t-manylinux_2_27_x86_64.whl": False,
    "numpy-2.4.6-cp311-cp311-musllinux_1_2_x86_64.whl": False,
    "numpy-2.4.6.tar.gz": False,
}


@pytest.mark.parametrize("name", FILES)
def test_a_lock_has_the_files_that_debian_can_use(name: str) -> None:
    files = [{"url": f"https://a.example/{name}"}]
    package = {"wheels": files, "sdist": {"url": "source"}}
    assert lock_tools.usable_files(package) == (files if FILES[name] else [package["sdist"]])
