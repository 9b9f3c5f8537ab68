"""Cut networks of timm and transformers at a few features each, and retrain behind them.

`python -m tests.laws.others [NAME ...]`
"""

from __future__ import annotations

import argparse
import os
import sys
import time

import torch

from tests.laws.others.examine import Report, counted, examine_other, explained, said
from tests.laws.others.timm_nets import TIMM
from tests.laws.others.transformers_nets import TRANSFORMERS

OTHERS = {f"timm/{name}": net for name, net in TIMM.items()}
OTHERS |= {f"transformers/{name}": net for name, net in TRANSFORMERS.items()}


def main(arguments: list[str]) -> int:
    """Print a line per network and the counts; 1 if anything is wrong or crashed, else 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.laws.others", description=__doc__)
    parser.add_argument("name", nargs="*", default=[""], help="part of a name; by default, all")
    parser.add_argument("--feature", action="append", help="only this one; may be repeated")
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    found: dict[str, Report] = {}
    start = time.perf_counter()
    for name, net in OTHERS.items():
        if any(part in name for part in chosen.name):
            begun = time.perf_counter()
            found[name] = examine_other(net, chosen.feature)
            taken = time.perf_counter() - begun
            print(f"{name:44} {said(counted([found[name]]))}, {taken:.1f} s", flush=True)
            for line in explained(name, found[name]):
                print(f"    {line}", flush=True)
    counts = counted(found.values())
    for library in dict.fromkeys(name.split("/")[0] for name in found):
        own = [report for name, report in found.items() if name.startswith(f"{library}/")]
        print(f"\n{library}: {len(own)} networks, {said(counted(own))}")
    print(f"\n{len(found)} networks, {said(counts)}, {time.perf_counter() - start:.0f} s")
    return 1 if counts["wrong"] or counts["crashed"] or not found else 0


if __name__ == "__main__":
    os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is ever downloaded
    sys.exit(main(sys.argv[1:]))
