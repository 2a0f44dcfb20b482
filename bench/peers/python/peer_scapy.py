# SPDX-License-Identifier: MIT
"""Scapy: what it fills into packets that are sent."""

import scapy
from scapy.utils import checksum

NAME = "scapy"
VERSION = scapy.__version__
SUM = checksum
