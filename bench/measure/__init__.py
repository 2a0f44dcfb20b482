# SPDX-License-Identifier: MIT
"""The benchmark of the library among its peers."""
