# SPDX-License-Identifier: MIT
"""Runs tests in steps: run_tests.py is the command."""
