# SPDX-License-Identifier: MIT
"""The prover refuses kernels that need more features of a CPU than their rows name."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

pytest.importorskip("elftools", reason="python3-pyelftools is not installed")
import digest
import features
from image import Image
from number import Unproven

if platform.machine() != "x86_64":
    pytest.skip("the features are those of x86-64", allow_module_level=True)

LIBRARY = Path(os.environ["CARRY_BUILD"]) / "src/libcarry.so"
# Rows, kernels that need more features, and the features that the rows lack.
LACKING = [
    ("carry_sum_avx2", "carry_sum_avxvnni", "avxvnni"),
    ("carry_sum_adc", "carry_sum_avx2", "avx2|bmi2"),
    ("carry_sum_avx512_vl256", "carry_sum_avx512vnni_vl256", "avx512vnni"),
    ("carry_copy_avx2", "carry_copy_avx512", "avx512bw|bmi2"),
    ("carry_crc32c_generic", "carry_crc32c_pclmul", "sse42|pclmulqdq"),
]


def test_each_kernel_needs_what_its_row_names() -> None:
    image = Image(LIBRARY)
    kernels = [name for name in digest.functions("x86_64") if name in image.functions]
    assert len(kernels) > 20
    for name in kernels:
        features.check_features(name, image.instructions(name))


@pytest.mark.parametrize(("row", "kernel", "lacking"), LACKING)
def test_kernel_that_needs_more(row: str, kernel: str, lacking: str) -> None:
    code = Image(LIBRARY).instructions(kernel)
    with pytest.raises(Unproven, match=f"needs ({lacking}), which its row does not name"):
        features.check_features(row, code)


def test_avx512_on_fewer_bits_needs_avx512vl(monkeypatch: pytest.MonkeyPatch) -> None:
    named = features.with_all_below({"avx512bw", "avx512vnni"})
    monkeypatch.setattr(features, "of_row", lambda _: named)
    code = Image(LIBRARY).instructions("carry_sum_avx512vnni_vl256")
    with pytest.raises(Unproven, match="needs avx512vl, which its row does not name"):
        features.check_features("carry_sum_avx512vnni_vl256", code)


def test_row_brings_what_its_features_are_built_on() -> None:
    assert features.of_row("carry_sum_avx512_vl256") >= {"avx512vl", "avx512bw", "avx512f", "bmi2"}
    assert features.of_row("carry_copy_lines") == set()
