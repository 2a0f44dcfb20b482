# SPDX-License-Identifier: MIT
"""Tests of proofs import the prover's modules."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "proof/kernels"))
