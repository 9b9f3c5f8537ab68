"""Compare a run of yours with the rows of the same study in this folder.

    probe run docs/found/mnist/study.toml --data DIR --seeds 1 --out RUN python
    docs/found/same.py RUN mnist    # exit code 1 if a shared row has another value

On one machine all rows are the same; another processor rounds otherwise, and training
amplifies it.
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
    values = [rows.set_index(KEYS).value for rows in (own, shipped)]
    return values[0].sub(values[1]).dropna()


if __name__ == "__main__":
    run, study = sys.argv[1:]
    own = pd.read_csv(Path(run, "measurements.csv"))
    shipped = pd.read_csv(Path(__file__).parent / study / "measurements.csv.gz")
    change = differences(own, shipped)
    print(
        f"{study}: {(change == 0).sum()} of {len(change)} shared rows the same, "
        f"largest difference {change.abs().max():g}"
    )
    sys.exit(not (len(change) and (change == 0).all()))
