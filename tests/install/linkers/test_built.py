# SPDX-License-Identifier: MIT
"""`carry sites --check` on the library and tests of a build, which may be for another architecture.

The step aarch64 runs this for its build, with the tool of this machine.
"""

from __future__ import annotations

from conftest import Library, check_sites

# Tests with many sites, each for one architecture: a build has one of them.
PROGRAMS = ["test_patch_aarch64", "test_patch_live"]


def test_library(library: Library) -> None:
    """The shared library of the build has no wrong site."""
    check_sites(library, library.static.with_suffix(".so"))


def test_program(library: Library) -> None:
    """A test program of the build has no wrong site."""
    folder = library.static.parent.parent / "tests"
    (program,) = (folder / name for name in PROGRAMS if (folder / name).is_file())
    check_sites(library, program)
