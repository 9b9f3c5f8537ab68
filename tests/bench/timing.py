"""Timing on a machine that others use too: interleaved, medians, and what the machine was.

What is measured, unless it is said otherwise, is the processor time of one thread: on an idle
machine it is the time on the clock, and on a busy one it leaves out the waiting.
"""

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch


def interleaved(
    actions: Mapping[str, Callable[[], object]],
    repeats: int,
    now: Callable[[], float] = time.process_time,
) -> dict[str, float]:
    """Return each action's median time in seconds; they take turns, after one turn to warm up."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(-1, repeats):
        for name, action in actions.items():
            start = now()
            action()
            if turn >= 0:
                times[name].append(now() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}


def machine() -> str:
    """Return the processor, what it can do for bf16, torch's version and how busy it is."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    facts = {key.strip(): value.strip() for key, value in lines.items()}
    known = ("amx_bf16", "avx512_bf16", "avx512f", "avx2")
    skills = [skill for skill in known if skill in facts.get("flags", "").split()]
    name = facts.get("model name") or platform.processor() or platform.machine()
    return (
        f"{name}, {os.cpu_count()} cores ({', '.join(skills) or 'no AVX'}), torch "
        f"{torch.__version__}, one thread, load {os.getloadavg()[0]:.1f}"
    )
