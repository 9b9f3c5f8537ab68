"""What a study is: scenario x network x learners x orders x seeds, as one frozen object."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    ValidationError,
    field_validator,
)
from pydantic_core import ErrorDetails

from probe.errors import InputError, unknown
from probe.fitting import Recipe
from scenarios.datasets import LOADERS
from scenarios.learners.catalogue import LEARNERS, AnySettings
from scenarios.networks import architecture


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScenarioSpec(_Strict):
    """Which data, and how they are cut into tasks.

    data: a data set's name; train_limit: training examples kept per class (None = all).
    """

    data: str
    classes_per_task: StrictInt = Field(default=2, ge=1)
    train_limit: StrictInt | None = Field(default=None, ge=1)

    @field_validator("data")
    @classmethod
    def _known(cls, data: str) -> str:
        if data not in LOADERS:
            raise unknown("data set", data, LOADERS)
        return data


class NetworkSpec(_Strict):
    """Which network, and the features to retrain behind (None = all of its stages)."""

    name: str
    features: tuple[str, ...] | None = Field(default=None, min_length=1)

    @field_validator("name")
    @classmethod
    def _known(cls, name: str) -> str:
        architecture(name)
        return name


class Study(_Strict):
    """A study. Two studies that compare equal give the same tables, bit for bit, on one device.

    learners: their settings, by the name that the tables use; orders: see
    `scenarios.streams.orders`; seeds: runs with the seeds 0 .. seeds - 1; retraining: the recipe of
    the retrained tails (None = that of the training, as in Murata 2020).
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    scenario: ScenarioSpec
    network: NetworkSpec
    training: Annotated[Recipe, Field(default_factory=Recipe)]
    retraining: Recipe | None = None
    learners: Annotated[dict[str, AnySettings], BeforeValidator(lambda value: _with_kinds(value))]
    orders: str | dict[str, tuple[int, ...]] = "rotate"
    seeds: StrictInt = Field(default=1, ge=1)

    @property
    def retraining_recipe(self) -> Recipe:
        """The recipe of the retrained tails."""
        return self.retraining or self.training

    @property
    def features(self) -> tuple[str, ...]:
        """The features to retrain behind, in order of depth; the last is the network's output.

        Raises InputError for a name that is no stage of the network.
        """
        known = architecture(self.network.name).features
        chosen = self.network.features or known
        for feature in chosen:
            if feature not in known:
                raise unknown(f"feature of {self.network.name}", feature, known)
        return tuple(feature for feature in known if feature in chosen or feature == known[-1])


def read_study(source: str) -> dict[str, Any]:
    """Read a preset by its name, or a TOML file by its path, unchecked: see `check_study`."""
    path = Path(source)
    if path.suffix != ".toml":
        known = preset_names()
        if source not in known:
            raise unknown("preset", source, known)
        return tomllib.loads(_presets()[source])
    try:
        return {"name": path.stem, **tomllib.loads(path.read_text(encoding="utf-8"))}
    except OSError as error:
        raise InputError(f"cannot read the study {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not valid TOML: {error}") from None


def preset_names() -> list[str]:
    """Return the names of the presets."""
    return sorted(_presets())


def check_study(raw: Mapping[str, Any], source: str) -> Study:
    """Return the study that `raw` describes; raises one InputError with all problems, by path."""
    try:
        study = Study.model_validate(raw)
    except ValidationError as error:
        problems = "; ".join(_problem(detail) for detail in error.errors())
        raise InputError(f"{source}: {problems}") from None
    if not study.learners:
        raise InputError(f"{source}: learners: name at least one of {', '.join(LEARNERS)}")
    _ = study.features
    return study


def _presets() -> dict[str, str]:
    folder = files("scenarios.study") / "presets"
    texts = {entry.name: entry for entry in folder.iterdir() if entry.name.endswith(".toml")}
    return {name.removesuffix(".toml"): e.read_text("utf-8") for name, e in texts.items()}


def _with_kinds(learners: object) -> object:
    """Let a learner's table be called after its kind, which then need not be repeated."""
    if not isinstance(learners, dict):
        return learners
    return {
        name: {"kind": name, **table} if isinstance(table, dict) else table
        for name, table in learners.items()
    }


def _problem(detail: ErrorDetails) -> str:
    """Return one problem as `path: what is wrong`, without pydantic's own additions."""
    path = [str(part) for part in detail["loc"]]
    if path[0] == "learners" and len(path) > 3:
        del path[2]  # the tag of the settings' union, which stands in no file
    message = detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "union_tag_invalid":
        message = str(unknown("learner", str(detail["ctx"]["tag"]), LEARNERS))
    if detail["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        message = "there is no such key"
    return f"{'.'.join(path)}: {message}"
