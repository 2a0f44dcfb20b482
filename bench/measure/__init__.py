# SPDX-License-Identifier: MIT
"""Measures the library and its peers."""
