"""Timing on a machine that others use too: interleaved, medians, and a description of the machine.

Unless stated otherwise the processor time of one thread is measured: on an idle machine
it equals the time on the clock, and on a busy one it leaves out the waiting.
"""

import os
import platform
import re
import statistics
import time
from contextlib import suppress
from pathlib import Path

import torch


def interleaved(actions, repeats):
    """Return each action's median time in seconds; they take turns, after one turn to warm up."""
    times = {name: [] for name in actions}
    for turn in range(-1, repeats):
        for name, action in actions.items():
            start = time.process_time()
            action()
            if turn >= 0:
                times[name].append(time.process_time() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}


def machine():
    """Return the processor, its support of bf16, torch's version and the load."""
    text = ""
    with suppress(OSError):
        text = Path("/proc/cpuinfo").read_text()
    name, *_ = re.findall(r"model name\s*: (.*)", text) or [platform.machine()]
    skills = [
        s for s in ("amx_bf16", "avx512_bf16", "avx512f", "avx2") if f" {s} " in text
    ]
    load = f"one thread, load {os.getloadavg()[0]:.1f}"
    return (
        f"{name}, {os.cpu_count()} cores ({', '.join(skills)}), torch "
        f"{torch.__version__}, {load}"
    )
