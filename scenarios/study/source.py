"""Where a study comes from: a preset of the package, or a TOML file."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from probe.errors import InputError, unknown


def read_study(source: str) -> dict[str, Any]:
    """Read a preset by its name, or a TOML file by its path, unchecked: see `check_study`."""
    path = Path(source)
    if path.suffix != ".toml":
        return tomllib.loads(_preset(source))
    try:
        return {"name": path.stem, **tomllib.loads(path.read_text("utf-8"))}
    except OSError as error:
        raise InputError(
            f"cannot read the study {path} ({error.strerror}): give the path of a TOML file, or a "
            f"preset of `probe list`"
        ) from None
    except UnicodeDecodeError:
        reason = "it is no UTF-8 text"
    except RecursionError:
        reason = "it is nested too deeply"
    except ValueError as error:
        reason = str(error).partition(";")[0]
    raise InputError(f"{path} is not valid TOML ({reason}): correct the file")


def preset_names() -> list[str]:
    """Return the names of the presets."""
    return sorted(_presets())


def _preset(name: str) -> str:
    presets = _presets()
    if name in presets:
        return presets[name]
    if "." in name or "/" in name:
        raise InputError(
            f"{name} is neither a preset nor a TOML file: name the file NAME.toml, or a preset of "
            f"`probe list`"
        )
    raise unknown("preset", name, presets)


def _presets() -> dict[str, str]:
    folder = files("scenarios.study") / "presets"
    texts = {entry.name: entry for entry in folder.iterdir() if entry.name.endswith(".toml")}
    return {name.removesuffix(".toml"): e.read_text("utf-8") for name, e in texts.items()}
