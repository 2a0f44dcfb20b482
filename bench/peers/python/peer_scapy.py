# SPDX-License-Identifier: MIT
"""Scapy: the checksum that it stores in packets to send."""

import scapy
from scapy.utils import checksum

NAME = "scapy"
VERSION = scapy.__version__
SUM = checksum
