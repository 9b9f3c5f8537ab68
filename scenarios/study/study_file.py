"""A study as the user writes it: read from a preset or TOML file, checked, and changed by flags.

There are three steps: `scenarios.study.study_toml` reads the file unchecked,
`check_study` turns its tables into a `Study` or reports all mistakes in them, and
`apply_flags` applies the flags of `probe run`. The changed study is checked again, so
that flags obey the rules of the file. Errors name table and key as the user wrote them,
instead of pydantic's path.
"""

from collections.abc import Mapping, Sequence

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from probe.by_layer.fingerprint import Record
from probe.by_layer.probing import readouts_model
from probe.errors import InputError, check_known
from probe.validation import MOST, keys_at, message, problems, shown
from scenarios.learners.catalog import LEARNERS
from scenarios.options import RunOptions, names, weightings
from scenarios.study.spec import Study


def check_study(raw: Record, source: str) -> Study:
    """Return the study that `raw` describes.

    Args:
        raw: The tables and values of the file.
        source: The name of the study in errors, such as the file's path.

    Returns:
        The study.

    Raises:
        InputError: The study is invalid; the message names all problems, by path.

    Example:
        >>> from scenarios.study.study_toml import read_study
        >>> check_study(read_study("murata-digits"), "murata-digits").seeds
        (0, 1, 2, 3, 4)
    """
    try:
        return Study.model_validate(raw)
    except ValidationError as error:
        texts = []
        for detail in problems(error):
            keys = _keys_at(detail["loc"], raw)
            texts.append(_problem(detail, keys))
        raise InputError(f"{source}: {'; '.join(texts)}") from None


def _keys_at(path: Sequence[str | int], raw: Record) -> list[str]:
    """Return the keys that are valid where a path ends; none for an unknown table."""
    if path[:2] == ("probing", "readouts") and len(path) > 2:
        return keys_at(readouts_model(), path[2:])
    if path[:1] != ("learners",) or len(path) < 3:
        return keys_at(Study, path)
    # The kind of a learner determines its settings.
    table = raw["learners"].get(path[1])
    kind = str(table.get("kind", path[1])) if isinstance(table, Mapping) else ""
    return keys_at(LEARNERS[kind].settings_class, path[2:]) if kind in LEARNERS else []


def _problem(detail: ErrorDetails, keys: Sequence[str]) -> str:
    """Return one problem as `path: problem`, in the terms of a study's file.

    Args:
        detail: The problem as pydantic describes it.
        keys: The keys that are valid there, for the nearest one to a wrong key.
    """
    path = [str(key) for key in detail["loc"] if key != "[key]"]
    text = message(detail, keys)
    if path[:1] == ["orders"]:
        # A union's tag is part of pydantic's path, but of no file.
        del path[1:2]
        if detail["type"] == "dict_type":
            rules = "rotate, none, shuffle:N or a table of orders"
            text = f"expected {rules}, got {shown(detail['input'])}"
    return f"{'.'.join(path)}: {text}".removeprefix(": ")


def apply_flags(study: Study, options: RunOptions) -> Study:
    """Return a study with the flags of `probe run` applied; those not given change nothing.

    Learners are chosen first, so that `--epochs` changes only their recipes.

    Args:
        study: The study.
        options: The flags of `probe run`.

    Returns:
        The changed study.

    Raises:
        InputError: A change is impossible.

    >>> from scenarios.study.study_toml import read_study
    >>> study = check_study(read_study("digits"), "digits")
    >>> study.seeds, apply_flags(study, RunOptions(seeds=4)).seeds
    ((10, 11, 12), (10, 11, 12, 13))
    """
    raw = study.model_dump()
    if options.learners is not None:
        raw["learners"] = choose_learners(names(options.learners), raw["learners"])
    # The study's key, by its path, that each flag replaces; None = the flag was not typed.
    for path, value in (
        ("seeds", _seeds(study.seeds, options.seeds)),
        ("orders", options.orders),
        ("scenario.train_limit", options.train_limit),
        ("scenario.test_limit", options.test_limit),
        ("scenario.validation", options.validation),
        ("scenario.data", options.dataset and names(options.dataset)),
        ("probing.controls", options.controls and names(options.controls)),
        ("report.heads", options.heads and names(options.heads)),
        (
            "probing.budget",
            options.epoch_multiples and _numbers(options.epoch_multiples),
        ),
    ):
        if value is not None:
            table, _, key = path.rpartition(".")
            values = raw[table] if table else raw
            values[key] = value
    raw["report"]["weights"].update(weightings(options.weights or ()))
    if options.epochs is not None:
        _set_epochs(raw, options.epochs)
    return check_study(raw, "the flags given")


def _seeds(seeds: Sequence[int], count: int | None) -> int | Sequence[int] | None:
    """Return so many seeds: the study's first ones, and if it has fewer, those that follow."""
    if count is None or not 1 <= count <= MOST:
        return count
    first = max(seeds) + 1
    return [*seeds, *range(first, first + count)][:count]


def _set_epochs(raw: Record, epochs: int) -> None:
    """Set the epochs of each recipe of a study's tables that has epochs or iterations."""
    recipes = [raw["training"], raw["retraining"]]
    recipes += [settings.get("training") for settings in raw["learners"].values()]
    # A missing recipe stands for that of the training.
    for recipe in filter(None, recipes):
        if recipe["epochs"] or recipe.get("iterations"):
            recipe |= {"epochs": epochs, "iterations": None}


def choose_learners(chosen: Sequence[str], settings: Record) -> Record:
    """Return the settings of the chosen learners.

    Args:
        chosen: The names of the learners.
        settings: The settings of the study's learners; learners without any get the
            defaults.

    Returns:
        The settings by learner.
    """
    if "" in chosen or len(set(chosen)) < len(chosen):
        raise InputError(
            f"--learners expects different names a,b,c, got {','.join(chosen)!r}"
        )
    # The study's settings last, as they replace the defaults of the kind.
    learners = {kind: {"kind": kind} for kind in LEARNERS} | settings
    for name in chosen:
        check_known("method", name, learners)
    return {name: learners[name] for name in chosen}


def _numbers(text: str) -> list[int | str]:
    """Return the numbers of a flag; other entries are left to the check of the study."""
    return [int(entry) if entry.isdecimal() else entry for entry in names(text)]
