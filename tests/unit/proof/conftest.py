# SPDX-License-Identifier: MIT
"""Lets tests of proofs import the modules of the prover and of the test kernel."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "proof/kernels"), str(ROOT / "tests/unit/ring0")]
