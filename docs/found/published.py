"""Our scores beside those that papers print, from papers.csv; and how many rows agree."""

from __future__ import annotations

import re

import pandas as pd
from tables import HERE, has, method, over_tasks, table, where, with_half

WITHIN = 0.05
LABELS = {
    "acc": "accuracy",
    "model_size_mb": "MB",
    "average_accuracy": "A",
    "forgetting": "F",
    "intransigence": "I",
    "alpha_base": "base before",
    "alpha_new": "new class",
    "alpha_all": "overall",
}
SAME_TABLE = {
    "chaudhry-authors": "chaudhry-single",
    "chaudhry-multi-authors": "chaudhry-multi",
}
SETTINGS = {
    "own": " at our settings",
    "paper": " at the paper's strengths",
    "authors": " at the authors' settings",
}
SUFFIX = r"-(paper|authors)$"


def published(study: str) -> pd.DataFrame:
    """Return the numbers that the paper of a study prints."""
    rows = pd.read_csv(HERE / "papers.csv")
    source = SAME_TABLE.get(study, study)
    return where(rows, study=source).drop(columns="study")


def scores(study: str) -> pd.DataFrame:
    """Return our metrics of whole networks, and the accuracy of joint training."""
    rows = table(study, "metrics")
    rows = rows[rows.feature.isna()]
    if not has(study, "layers"):
        return rows
    joint = where(
        over_tasks(study, "layers"),
        layer="output",
        quantity="ceiling",
    )
    joint = joint[["value", "seeds"]].head(1)
    joint = joint.rename(columns={"value": "mean"})
    joint = joint.assign(
        learner="offline",
        paper="gem",
        metric="acc",
    )
    return pd.concat([rows, joint])


def pairs(study: str) -> pd.DataFrame:
    """Return each number of the paper beside each of ours.

    `row` is our method; `setting` is "paper" or "authors" for methods with this suffix.
    """
    ours = scores(study)
    setting = ours.learner.str.extract(SUFFIX)[0]
    ours = ours.assign(
        row=ours.learner,
        setting=setting.fillna("own"),
        learner=ours.learner.str.replace(SUFFIX, "", regex=True),
    )
    keys = ["learner", "paper", "metric"]
    both = ours.merge(published(study), on=keys)
    same_head = both["head_x"] == both["head_y"]
    both = both[same_head | both["head_x"].isna()]
    difference = both["mean"] - both["value"]
    is_fraction = both.metric != "model_size_mb"
    return both.assign(
        is_fraction=is_fraction,
        near=(difference.abs() <= WITHIN) | ~is_fraction,
    )


def beside(study: str) -> pd.DataFrame:
    """Return ours beside theirs, and whether all of a row's fractions are within 5 points."""
    lines = []
    for row, own in pairs(study).groupby("row", sort=False):
        line = {"method": method(str(row))}
        for pair in own.to_dict("records"):
            metric = re.sub(r"\[\d+\]", "", pair["metric"])
            name = LABELS.get(metric, metric.replace("_", " "))
            digits = 3 if pair["is_fraction"] else 2
            line[name] = with_half(pair, digits=digits)
            line[f"{name}, paper"] = f"{pair['value']:g}"
        line["within 5 points"] = "yes" if own.near.all() else "no"
        lines.append(line)
    return pd.DataFrame(lines)


def within(study: str) -> pd.DataFrame:
    """Return by setting how many rows are within 5 points in all columns that are fractions."""
    groups = pairs(study).groupby(["setting", "learner"], sort=False)
    agrees = groups.near.all().unstack("setting")
    counts = []
    for setting in agrees:
        rows = agrees[setting].dropna()
        count = {
            "setting": setting,
            "rows": len(rows),
            "within": int(rows.sum()),
        }
        counts.append(count)
    return pd.DataFrame(counts)


def agreement(study: str, short: bool = False) -> str:
    """Return in a sentence how many rows are within 5 points of the paper's.

    short: Without saying what it means that a row agrees.
    """
    first, *others = within(study).itertuples()
    rows = f"{first.within} of {first.rows} rows"
    setting = SETTINGS[first.setting] if others else ""
    parts = [
        f"{count.within} of {count.rows}{SETTINGS[count.setting]}" for count in others
    ]
    if short:
        return ", ".join([f"{rows} agree{setting}", *parts])
    scores = "every score"
    if "model_size_mb" in set(published(study).metric):
        scores += " but MB"
    text = f"In {rows}{setting} {scores} is within 5 points of the paper's"
    *middle, last = [text, *(f"in {part}" for part in parts)]
    return f"{', '.join([*middle, f'and {last}'] if middle else [last])}."
