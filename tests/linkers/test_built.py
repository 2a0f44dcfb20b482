# SPDX-License-Identifier: MIT
"""`carry sites --check` on the library and tests of a build, which may be for another architecture.

The step aarch64 runs this for its build, with the tool of this machine.
"""

from __future__ import annotations

import pytest
from conftest import Library, check_sites


@pytest.mark.parametrize("name", ["src/libcarry.so", "tests/test_patch_aarch64"])
def test_built(library: Library, name: str) -> None:
    path = library.static.parent.parent / name
    if not path.is_file():
        pytest.skip(f"{path} is not in this build")
    check_sites(library, path)
