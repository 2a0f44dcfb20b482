# SPDX-License-Identifier: MIT
"""dpkt: what it fills into packets that it makes."""

import dpkt

NAME = "dpkt"
VERSION = dpkt.__version__
SUM = dpkt.dpkt.in_cksum
