"""What a study is: scenario x network x learners x orders x seeds, as one frozen object."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StrictInt,
    Tag,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import ErrorDetails

from probe.errors import InputError, unknown
from probe.fitting import Recipe
from scenarios.datasets import LOADERS
from scenarios.learners.catalogue import LEARNERS, AnySettings
from scenarios.networks import architecture
from scenarios.streams import orders

_Name = Annotated[str, AfterValidator(lambda name: _part_of_folder(name))]
_Orders = Annotated[
    Annotated[str, AfterValidator(lambda rule: _order_rule(rule)), Tag("rule")]
    | Annotated[dict[_Name, tuple[StrictInt, ...]], Field(min_length=1), Tag("explicit")],
    Discriminator(lambda value: "explicit" if isinstance(value, dict) else "rule"),
]


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

    @field_validator("features")
    @classmethod
    def _stages(
        cls, features: tuple[str, ...] | None, info: ValidationInfo
    ) -> tuple[str, ...] | None:
        if features and "name" in info.data:
            known = architecture(info.data["name"]).features
            for feature in features:
                if feature not in known:
                    raise unknown(f"feature of {info.data['name']}", feature, known)
        return features


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
    learners: Annotated[dict[_Name, AnySettings], BeforeValidator(lambda value: _with_kinds(value))]
    orders: _Orders = "rotate"
    seeds: StrictInt = Field(default=1, ge=1)

    @property
    def retraining_recipe(self) -> Recipe:
        """The recipe of the retrained tails."""
        return self.retraining or self.training

    @property
    def features(self) -> tuple[str, ...]:
        """The features to retrain behind, in order of depth; the last is the network's output."""
        known = architecture(self.network.name).features
        chosen = self.network.features or known
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
        return Study.model_validate(raw)
    except ValidationError as error:
        problems = "; ".join(_problem(detail) for detail in error.errors())
        raise InputError(f"{source}: {problems}") from None


def _presets() -> dict[str, str]:
    folder = files("scenarios.study") / "presets"
    texts = {entry.name: entry for entry in folder.iterdir() if entry.name.endswith(".toml")}
    return {name.removesuffix(".toml"): e.read_text("utf-8") for name, e in texts.items()}


def _with_kinds(learners: object) -> object:
    """Let a learner's table be called after its kind, which then need not be repeated."""
    if not isinstance(learners, dict):
        return learners
    if not learners:
        raise InputError(f"name at least one of {', '.join(LEARNERS)}")
    return {
        name: {"kind": name, **table} if isinstance(table, dict) else table
        for name, table in learners.items()
    }


def _part_of_folder(name: str) -> str:
    # A job's folder is LEARNER.order-ORDER.seed-N: no name may hold what stands between the two.
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_-]|\.[0-9])*", name):
        raise InputError(
            f"{name!r} is to be part of a folder's name: use letters, digits, _ and -, and a dot "
            f"only before a digit"
        )
    return name


def _order_rule(rule: str) -> str:
    orders(rule, tasks=1)
    return rule


def _problem(detail: ErrorDetails) -> str:
    """Return one problem as `path: what is wrong`, without pydantic's own additions."""
    path = [str(part) for part in detail["loc"] if part != "[key]"]
    # A union's tag is part of pydantic's path, and stands in no file.
    if path[0] == "learners" and len(path) > 3:
        del path[2]
    if path[0] == "orders" and len(path) > 1:
        del path[1]
    return f"{'.'.join(path)}: {_message(detail)}"


def _message(detail: ErrorDetails) -> str:
    kind, got = detail["type"], detail["input"]
    if kind == "union_tag_invalid":
        return str(unknown("learner", str(detail["ctx"]["tag"]), LEARNERS))
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return "there is no such key"
    if kind == "missing":
        return "this key is needed"
    if kind == "value_error":
        return detail["msg"].removeprefix("Value error, ")
    return detail["msg"] + (f", got {got!r}" if isinstance(got, str | int | float) else "")
