# SPDX-License-Identifier: MIT
"""Describes this machine."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path


def cpu_fields() -> dict[str, str]:
    """Returns the fields of the first CPU in /proc/cpuinfo."""
    try:
        text = Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in text.splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def lscpu(field: str) -> str:
    try:
        done = subprocess.run(["lscpu"], capture_output=True, text=True, env={"LC_ALL": "C"})
    except OSError:
        return ""
    found = re.search(rf"^\s*{field}:\s*(.*)", done.stdout, re.MULTILINE)
    return found[1] if found else ""


def cpu_name() -> str:
    """Returns the name of the CPU. On Arm, Linux gives only numbers; lscpu translates them."""
    return cpu_fields().get("model name") or lscpu("Model name") or platform.machine()


# The fields of x86, or of Arm.
NUMBERS = (("cpu family", "CPU implementer"), ("model", "CPU part"), ("stepping", "CPU revision"))


def describe() -> dict[str, str]:
    cpu = cpu_fields()
    numbers = [cpu.get(own, cpu.get(arm, "?")) for own, arm in NUMBERS]
    return {
        "cpu": cpu_name(),
        "family, model, stepping": " ".join(numbers),
        "microcode": cpu.get("microcode", "unknown"),
        "cores": str(os.cpu_count()),
        "hypervisor": lscpu("Hypervisor vendor") or "none",
        "kernel": f"{platform.system()} {platform.release()}",
    }


def short_name() -> str:
    """Returns a short name of the CPU that can be part of a file name."""
    name = cpu_name()
    name = re.sub(r"\((R|TM|r|tm)\)|CPU|Processor|@.*", " ", name)
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "cpu"
