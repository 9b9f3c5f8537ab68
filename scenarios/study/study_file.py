"""A study as the user writes it: read from a preset or TOML file, checked, and changed by flags.

There are three steps: `read_study` returns the tables of the file unchecked, `check_study` makes a
`Study` of them or reports all of their mistakes, and `overridden` applies the flags of `probe run`.
The changed study is checked again, so that flags obey the rules of the file. Errors name table and
key as the user wrote them, instead of pydantic's path.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from probe.by_layer.probing import readouts_model
from probe.errors import InputError, unknown
from probe.validation import keys_at, message, problems, shown
from scenarios.learners.catalog import LEARNERS
from scenarios.options import RunOptions, names
from scenarios.study.scenario_spec import KINDS, SHIFTS
from scenarios.study.spec import Study

_PRESETS = Path(__file__).with_name("presets")
_BITS = 63  # of TOML's whole numbers, beside the sign


def read_study(source: str) -> dict[str, Any]:
    """Read a preset or a TOML file, unchecked: see `check_study`.

    A study without a name is named after its file.

    Args:
        source: Name of the preset, or path of the file.

    Returns:
        The study's keys and values.

    Raises:
        InputError: The preset is unknown, or the file cannot be read or is not TOML.
    """
    path = Path(source)
    if source in preset_names():
        path = _PRESETS / f"{source}.toml"
    elif path.suffix != ".toml":
        # If it looks like a file, names of presets would not help.
        if "." not in source and "/" not in source:
            raise unknown("preset", source, preset_names())
        raise InputError(
            f"{source} is neither a preset nor a TOML file: name a preset of `probe list`, or "
            f"a file NAME.toml"
        )
    try:
        return {"name": path.stem, **tomllib.loads(path.read_text("utf-8-sig"))}
    except OSError as error:
        raise InputError(
            f"cannot read the study {path} ({error.strerror}): name a preset or a file"
        ) from None
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    except RecursionError:
        reason = "it is nested too deeply"
    except ValueError as error:
        reason = str(error).partition(";")[0]
    raise InputError(f"{path} is not valid TOML ({reason}): correct the file")


def preset_names() -> list[str]:
    """Return the names of the presets, sorted.

    >>> "digits" in preset_names()
    True
    """
    return sorted(path.stem for path in _PRESETS.glob("*.toml"))


def check_study(raw: Mapping[str, Any], source: str) -> Study:
    """Return the study that `raw` describes.

    Args:
        raw: TOML's tables and values.
        source: Their name in errors, such as the file's path.

    Returns:
        The study.

    Raises:
        InputError: Names all problems, by path.

    Example:
        >>> check_study(read_study("digits"), "digits").seeds >= 1
        True
    """
    # TOML's integers have 64 bits, but Python's reader takes any.
    for path, number in _whole_numbers(raw):
        if number.bit_length() > _BITS:
            raise InputError(f"{source}: {path}: expected a number of 64 bits, got {shown(number)}")
    try:
        return Study.model_validate(raw)
    except ValidationError as error:
        listed = (_problem(detail, _keys_at(detail["loc"], raw)) for detail in problems(error))
        raise InputError(f"{source}: {'; '.join(listed)}") from None


def _whole_numbers(table: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield every integer within tables and lists, with its path."""
    # No recursion: a file may be nested more deeply than Python allows.
    remaining: list[tuple[str, object]] = [("", table)]
    while remaining:
        path, value = remaining.pop()
        if isinstance(value, int):
            yield path, value
        elif isinstance(value, Mapping | list | tuple):
            entries = value.items() if isinstance(value, Mapping) else enumerate(value)
            remaining += [(f"{path}.{key}".removeprefix("."), entry) for key, entry in entries]


def _keys_at(path: Sequence[str | int], raw: Mapping[str, Any]) -> list[str]:
    """Return the keys of the table of a study that a path ends in; empty for unknown tables."""
    if path[:2] == ("probing", "readouts") and len(path) > 2:
        return keys_at(readouts_model(), path[2:])
    if path[:1] != ("learners",) or len(path) < 3:
        return keys_at(Study, path)
    # The kind of a learner determines its settings.
    table = raw["learners"].get(path[1])
    kind = str(table.get("kind", path[1])) if isinstance(table, Mapping) else ""
    return keys_at(LEARNERS[kind].settings_class, path[2:]) if kind in LEARNERS else []


def _problem(detail: ErrorDetails, keys: Sequence[str]) -> str:
    """Return one problem as `path: problem`, in the terms of a study's file."""
    path = [str(part) for part in detail["loc"] if part != "[key]"]
    # A union's tag is part of pydantic's path, but of no file.
    table = path[0] if path else ""
    if table in ("orders", "scenario", "seeds") and len(path) > 1:
        del path[1]
    return f"{'.'.join(path)}: {_message(detail, table, keys)}".removeprefix(": ")


def _message(detail: ErrorDetails, table: str, keys: Sequence[str]) -> str:
    """Describe a problem in a sentence; table: of the study, which has it."""
    if detail["type"] == "union_tag_invalid":
        kind, _, shift = str(detail["ctx"]["tag"]).partition(" ")
        if kind == "domain-incremental":
            return str(unknown("shift", shift, SHIFTS))
        return str(unknown("kind of scenario", kind, KINDS))
    if detail["type"] in ("string_type", "dict_type") and table == "orders":
        rules = "rotate, none, shuffle:N or a table of orders"
        return f"expected {rules}, got {shown(detail['input'])}"
    return message(detail, keys)


def overridden(study: Study, options: RunOptions) -> Study:
    """Return the study changed by flags; flags that are not given change nothing.

    Learners are chosen first, so that `--epochs` changes only their recipes.

    Args:
        study: The study.
        options: The flags of `probe run`.

    Returns:
        The changed study.

    Raises:
        InputError: A change is impossible.

    >>> study = check_study(read_study("digits"), "digits")
    >>> overridden(study, RunOptions(seeds=3)).seeds
    3
    """
    raw = study.model_dump()
    scenario = raw["scenario"]
    if options.learners is not None:
        raw["learners"] = chosen_learners(names(options.learners), raw["learners"])
    tables = {"seeds": raw, "orders": raw, "train_limit": scenario, "validation": scenario}
    for flag, table in tables.items():
        if (value := getattr(options, flag)) is not None:
            table[flag] = value
    if options.dataset is not None:
        scenario["data"] = _data(names(options.dataset), scenario["kind"])
    if options.epoch_multiples is not None:
        text = options.epoch_multiples
        try:
            raw["probing"]["budget"] = [int(multiple) for multiple in names(text)]
        except ValueError:
            raise InputError(f"--epoch-multiples expects 1,2,4, got {text!r}") from None
    if options.controls is not None:
        raw["probing"]["controls"] = names(options.controls)
    if options.heads is not None:
        raw["report"]["heads"] = names(options.heads)
    raw["report"]["weights"].update(_weightings(options.weights or ()))
    if options.epochs is not None:
        _set_epochs(raw, options.epochs)
    return check_study(raw, "the flags given")


def chosen_learners(chosen: Sequence[str], settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the chosen learners.

    Args:
        chosen: The names of the learners.
        settings: The settings of the study's learners; others get the defaults.

    Returns:
        The settings by learner.
    """
    if "" in chosen or len(set(chosen)) < len(chosen):
        raise InputError(f"--learners expects different names a,b,c, got {','.join(chosen)!r}")
    # In this order: the study's settings replace the defaults of the kind.
    learners = {kind: {"kind": kind} for kind in LEARNERS} | settings
    for name in chosen:
        if name not in learners:
            raise unknown("learner", name, learners)
    return {name: learners[name] for name in chosen}


def _data(chosen: Sequence[str], kind: str) -> str | list[str]:
    """Return the data of a scenario of that kind, one name or two; raises InputError for others."""
    wanted = 2 if kind == "multimodal" else 1
    if "" in chosen:
        raise InputError(f"--dataset expects NAME or A.npz,B.npz, got {','.join(chosen)!r}")
    if len(chosen) != wanted:
        raise InputError(f"--dataset names {wanted} for kind {kind}, got {len(chosen)}")
    return chosen[0] if wanted == 1 else list(chosen)


def _set_epochs(raw: dict[str, Any], epochs: int) -> None:
    """Set the epochs of every recipe in the study.

    A learner's recipe without epochs of its own stays unchanged.
    """
    for recipe in ("training", "retraining"):
        # Without a recipe of its own the retraining uses the training's, with its epochs.
        raw[recipe] = raw[recipe] and {**raw[recipe], "epochs": epochs}
    for settings in raw["learners"].values():
        changes = settings.get("training")
        if changes and changes["epochs"]:
            changes["epochs"] = epochs


def _weightings(texts: Sequence[str]) -> dict[str, list[float]]:
    """Return the weights of CLscore by the name of their weighting; their sum is checked later."""
    weightings: dict[str, list[float]] = {}
    for text in texts:
        name, _, numbers = (part.strip() for part in text.partition("="))
        if name in weightings:
            raise InputError(f"--weights names {name!r} twice: give each weighting its own name")
        try:
            weightings[name] = [float(number) for number in numbers.split(",")]
        except ValueError:
            raise InputError(f"--weights expects NAME=w1,...,w7, got {text!r}") from None
    return weightings
