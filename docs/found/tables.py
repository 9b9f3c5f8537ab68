"""Tables of a study as a page shows them: frames of text, made from the CSV files beside this."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from probe.analysis.intervals import half_width
from probe.answers.study import widest_scope
from probe.tables.layer_text import word_of

HERE = Path(__file__).parent
NAMES = {
    "er": "ER",
    "ewc": "EWC",
    "fel": "FEL",
    "gem": "GEM",
    "lwf": "LwF",
    "rwalk": "RWalk",
    "si": "SI",
    "finetune": "fine-tuning",
    "icarl": "iCaRL",
    "icarl_hybrid1": "iCaRL hybrid",
    "pathnet": "PathNet",
    "geppnet": "GeppNet",
    "geppnet_stm": "GeppNet+STM",
    "offline": "joint",
}
KEYS = ["method", "layer", "readout"]
CONTROLS = ["offline", "untrained"]
LEVELS = {
    "floor": "untrained",
    "accuracy": "accuracy",
    "ceiling": "joint",
}
QUANTITIES = {
    **LEVELS,
    "missing": "missing",
    "never_learned": "never learned",
    "forgotten": "forgotten",
}
CHANGES = {
    "attributed": "accounts for",
    "broken": "harm",
    "restored": "repair",
}
STATEMENTS = {
    "below_ceiling": "below joint?",
    "forgets": "forgets?",
    "learns_less": "learns less?",
    "loses_plasticity": "learns ever less?",
}


def table(study: str, name: str) -> pd.DataFrame:
    """Return a table of a study."""
    return pd.read_csv(HERE / study / f"{name}.csv.gz")


def has(study: str, name: str) -> bool:
    """Return whether a study has a table."""
    return (HERE / study / f"{name}.csv.gz").is_file()


def where(rows: pd.DataFrame, **wanted: object) -> pd.DataFrame:
    """Return the rows whose columns have a wanted value, or one of several."""
    for column, values in wanted.items():
        if isinstance(values, str):
            values = [values]
        rows = rows[rows[column].isin(list(values))]
    return rows


def method(learner: str) -> str:
    """Return how a page names a method."""
    return NAMES.get(learner, learner)


def verdict(word: str) -> str:
    """Return a verdict in the words of a page, nothing if none was given."""
    return "" if pd.isna(word) else word_of(word)


def with_interval(row: pd.Series, scale: float = 100, digits: int = 1) -> str:
    """Return a value with its interval, if it has one; in points by default."""
    ends = [f"{scale * row[end]:.{digits}f}" for end in ("value", "low", "high")]
    if pd.isna(row["low"]):
        return ends[0]
    return f"{ends[0]} [{ends[1]}, {ends[2]}]"


def with_half(row: pd.Series, scale: float = 1, digits: int = 3) -> str:
    """Return a mean, and half of its 95 % interval over seeds where there are several."""
    half = half_width(row["std"], int(row["seeds"]))
    text = f"{scale * row['mean']:.{digits}f}"
    if pd.isna(half):
        return text
    return f"{text} ± {scale * half:.{digits}f}"


def spread(rows: pd.DataFrame, index: list[str], columns: str) -> pd.DataFrame:
    """Turn rows with a `cell` into a table, its lines in the order of the rows."""
    lines = rows[index].drop_duplicates()
    cells = rows.pivot(index=index, columns=columns, values="cell")
    return lines.merge(cells.reset_index(), how="left").fillna("")


def renamed(shown: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    """Select the columns that have a name, and rename them."""
    keys = [key for key in KEYS if key in shown]
    columns = [column for column in names if column in shown]
    return shown[keys + columns].rename(columns=names)


def over_tasks(study: str, name: str) -> pd.DataFrame:
    """Return the rows of a table that hold for all tasks together, by method and depth."""
    rows = table(study, name)
    rows = rows[rows.task_position.isna()]
    rows = rows[~rows.learner.isin(CONTROLS)]
    order = list(rows.learner.unique())
    rows = rows.assign(
        rank=rows.learner.map(order.index),
        method=rows.learner.map(method),
        layer=rows.feature,
    )
    return rows.sort_values(["rank", "depth"], kind="stable")


def layers(study: str, readout: str) -> pd.DataFrame:
    """Return the quantities of each layer by a readout, in % or points, with 95 % intervals."""
    rows = where(
        over_tasks(study, "layers"),
        readout=readout,
        quantity=QUANTITIES,
    )
    levels = 100 * rows.value
    differences = rows.apply(with_interval, axis=1)
    cells = differences.mask(
        rows.quantity.isin(LEVELS),
        levels.map("{:.1f}".format),
    )
    shown = spread(rows.assign(cell=cells), ["method", "layer"], "quantity")
    return renamed(shown, QUANTITIES)


def causes(study: str) -> pd.DataFrame:
    """Return what each layer's change accounts for, its harm and repair, and its verdict.

    The last column is what a linear readout of the layer forgot.
    """
    rows = widest_scope(over_tasks(study, "causes"))
    rows = where(rows, score="accuracy", quantity=CHANGES)
    cells = rows.apply(with_interval, axis=1)
    shown = spread(rows.assign(cell=cells), ["method", "layer"], "quantity")
    shown = renamed(shown, CHANGES)
    shares = where(rows, quantity="attributed")
    shown["verdict"] = shares.verdict.map(verdict).to_numpy()
    readouts = layers(study, "linear")
    forgotten = renamed(readouts, {"forgotten": "its readout forgot"})
    return shown.merge(forgotten, how="left").fillna("")


def statements(study: str) -> pd.DataFrame:
    """Return what is said of each layer by each readout."""
    rows = where(table(study, "statements"), statement=STATEMENTS)
    rows = rows.assign(
        method=rows.learner.map(method),
        layer=rows.feature,
        cell=rows.verdict.map(verdict),
    )
    shown = spread(rows, KEYS, "statement")
    return renamed(shown, STATEMENTS)


def doubts(study: str) -> pd.DataFrame:
    """Return how often each kind of note was made."""
    notes = table(study, "notes").note
    kinds = notes.str.split(":").str[0]
    kinds = kinds[~kinds.str.startswith("linear reads")]
    kinds = kinds.str.replace(r"[\d.]*\d", "…", regex=True)
    counts = kinds.value_counts(sort=False)
    return pd.DataFrame(
        {
            "note": counts.index,
            "count": counts.astype(str),
        }
    )


def variants(study: str, metric: str) -> pd.DataFrame:
    """Return a metric of methods named METHOD-VARIANT, in %: a line for each method.

    Of a metric over the tasks without its `[i]`, the last is meant.
    """
    rows = table(study, "metrics")
    rows = rows[rows.feature.isna() & rows.metric.str.startswith(metric)]
    rows = rows.groupby("learner", sort=False).tail(1)
    parts = rows.learner.str.rsplit("-", n=1)
    rows = rows.assign(
        method=parts.str[0].map(method),
        variant=parts.str[1]
        .str.replace(r"(\d)_(?=\d)", r"\1.", regex=True)
        .str.replace("_", " "),
        cell=rows.apply(with_half, axis=1, scale=100, digits=1),
    )
    shown = spread(rows, ["method"], "variant")
    return shown[["method", *rows.variant.unique()]]


def budgets(study: str, layer: str) -> pd.DataFrame:
    """Return what a layer misses after each budget of retraining, and what is said of it."""
    names = {
        **LEVELS,
        "missing": "missing",
        "missing_drift": "moved",
    }
    rows = where(
        over_tasks(study, "layers"),
        layer=layer,
        quantity=names,
    )
    cells = rows.apply(with_interval, axis=1)
    shown = spread(rows.assign(cell=cells), KEYS, "quantity")
    shown = renamed(shown, names)
    said = renamed(statements(study), {"below joint?": "below joint?"})
    return shown.merge(said, how="left").fillna("")


def multimodal(study: str) -> pd.DataFrame:
    """Return the Omegas of two data sets, multi-head, by the one learned first."""
    rows = where(table(study, "multimodal"), head="multi")
    omega = rows.metric.str.extract(r"omega_(\w+)\[(\w+) first\]")
    rows = rows.assign(
        method=rows.learner.map(method),
        name=omega[1] + " first, Omega " + omega[0],
        cell=rows.apply(with_half, axis=1),
    )
    return spread(rows[rows["name"].notna()], ["method"], "name")


def redundancy(study: str) -> pd.DataFrame:
    """Return how many features FCBF keeps, beside the paper."""
    rows = table(study, "redundancy")
    share = 100 * rows.non_redundant / rows.features
    rows = rows.assign(percent=share.map("{:.1f}".format), paper="39, 5.0 %")
    return rows.astype(str)


def markdown(shown: pd.DataFrame, folded_above: int = 12) -> str:
    """Return a table in Markdown; a long one is folded."""
    rule = ["---"] * len(shown.columns)
    cells = shown.replace(r"\|", r"\\|", regex=True)
    lines = [shown.columns, rule, *cells.to_numpy()]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    if len(shown) <= folded_above:
        return text
    return f"<details>\n<summary>{len(shown)} rows</summary>\n\n{text}\n\n</details>"
