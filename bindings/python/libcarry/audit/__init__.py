# SPDX-License-Identifier: MIT
"""Archives of captures: every checksum of thousands of files, as tables in Parquet."""
