"""The tables of a run directory as frames: the names of files and columns stand here only."""

import pandas as pd

MEASUREMENTS = "measurements"
METRIC = "metric"
SEEN = "tasks_seen"
POSITION = "task_position"
"""The file of measurements, and its columns: what, after how many tasks, at which position."""
OUTPUT = "output"


def table(folder, name, **columns):
    """Return the rows of a table in which every named column has that value."""
    frame = pd.read_csv(folder / f"{name}.csv", keep_default_na=False)
    for column, value in columns.items():
        frame = frame[frame[column].astype(str) == str(value)]
    return frame


def accuracies(folder, learner, feature, readout):
    """Return A by (seed, order, tasks seen, name of the task), R at the output."""
    if feature == OUTPUT:
        feature = readout = ""
    here = {
        "learner": learner,
        "feature": feature,
        "readout": readout,
        METRIC: "accuracy",
    }
    frame = table(folder, MEASUREMENTS, **here)
    frame = frame[frame["head"].isin(["", "single"])]
    columns = (frame[name] for name in ("seed", "order", SEEN, "task", "value"))
    return {
        (seed, order, int(seen), task): float(value)
        for seed, order, seen, task, value in zip(*columns, strict=True)
    }
