# SPDX-License-Identifier: MIT
"""The reference manual, made from what it is about: the public headers and the schemas."""
