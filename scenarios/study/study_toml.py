"""A preset or TOML file, read and not checked: see `scenarios.study.study_file`."""

import tomllib
from pathlib import Path

from probe.by_layer.fingerprint import Record
from probe.errors import InputError, unknown
from probe.validation import shown

_PRESETS = Path(__file__).with_name("presets")


def read_study(source: str, variant: str | None = None) -> Record:
    """Read a preset or a TOML file, unchecked: see `check_study`.

    A study without a name is named after its file, a variant after both. The tables of
    a variant add to those of the study, and replace its values; if it lists learners,
    only these are left, each with the study's settings as its defaults.

    Args:
        source: The name of a preset, or the path of a file.
        variant: The name of a table of `variants` in it; None = the study itself.

    Returns:
        The study's keys and values.

    Raises:
        InputError: There is no such preset or variant, or the file cannot be read or is
            not TOML.

    >>> read_study("diaz-cifar100", "small")["name"]
    'diaz-cifar100-small'
    """
    path = Path(source)
    if source in preset_names():
        path = _PRESETS / f"{source}.toml"
    elif path.suffix != ".toml":
        raise _unknown_preset(source)
    raw = {"name": path.stem, **read_toml(path)}
    variants = raw.pop("variants", {})
    if not isinstance(variants, dict):
        raise InputError(f"{source}: variants: expected tables, got {shown(variants)}")
    if variant is None:
        return raw
    if not isinstance(variants.get(variant), dict):
        raise InputError(f"{source}: {unknown('variant', variant, variants)}")
    changes = {"name": f"{path.stem}-{variant}", **variants[variant]}
    study = _merge(raw, changes)
    if isinstance(changes.get("learners"), dict):
        study["learners"] = {
            name: study["learners"][name] for name in changes["learners"]
        }
    return study


def _merge(table: Record, changes: Record) -> Record:
    """Return a table with changed values; tables within it are merged likewise."""
    merged = dict(table)
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(table.get(key), dict):
            merged[key] = _merge(table[key], value)
        else:
            merged[key] = value
    return merged


def _unknown_preset(name: str) -> InputError:
    """Return the error of a preset that does not exist, or is now a variant of another."""
    for preset in preset_names():
        for variant in (None, *variant_names(preset)):
            if read_study(preset, variant)["name"] == name:
                flag = f" --variant {variant}" if variant else ""
                return InputError(f"{name} is now `probe run {preset}{flag}`")
    problem = unknown("preset", name, preset_names())
    return InputError(f"{problem}: give a preset or a file NAME.toml")


def read_toml(path: Path) -> Record:
    """Read a TOML file.

    Args:
        path: The file.

    Returns:
        The keys and values of the file.

    Raises:
        InputError: The file is not TOML.
        OSError: The file cannot be read.
    """
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))
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


def variant_names(preset: str) -> list[str]:
    """Return the names of a preset's variants.

    >>> variant_names("chaudhry-cifar100-single")
    ['small', 'samples', 'sampling']
    """
    return list(read_toml(_PRESETS / f"{preset}.toml").get("variants", {}))
