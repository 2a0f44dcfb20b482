# SPDX-License-Identifier: MIT
"""Makes the reference manual from the public headers and the schemas."""
