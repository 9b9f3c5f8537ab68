"""Compare a run of yours with the rows of the same study in this folder.

    probe run docs/found/mnist/study.toml --data DIR --seeds 1 --out RUN
    python docs/found/same.py RUN mnist    # exit code 1 if a shared row has another value

On one machine all rows are the same; another processor rounds otherwise, and training amplifies it.
"""

import sys
from pathlib import Path

import pandas as pd

KEYS = [
    "learner",
    "order",
    "seed",
    "tasks_seen",
    "head",
    "feature",
    "metric",
    "task_position",
    "readout",
]


def differences(own: pd.DataFrame, shipped: pd.DataFrame) -> pd.Series:
    """Return own minus shipped values of the rows that both have."""
    both = [rows.set_index(KEYS).value for rows in (own, shipped)]
    return both[0].sub(both[1]).dropna()


if __name__ == "__main__":
    run, study = sys.argv[1:]
    read = [
        pd.read_csv(Path(at, "measurements.csv")) for at in (run, Path(__file__).parent / study)
    ]
    found = differences(*read)
    print(
        f"{study}: {(found == 0).sum()} of {len(found)} shared rows the same, "
        f"largest difference {found.abs().max():g}"
    )
    sys.exit(not (len(found) and (found == 0).all()))
