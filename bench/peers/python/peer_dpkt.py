# SPDX-License-Identifier: MIT
"""dpkt: the checksum that it stores in packets."""

import dpkt

NAME = "dpkt"
VERSION = dpkt.__version__
SUM = dpkt.dpkt.in_cksum
