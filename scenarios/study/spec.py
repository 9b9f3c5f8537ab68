"""What a study is: scenario x network x learners x orders x seeds, as one frozen object."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StrictInt,
    Tag,
    ValidationInfo,
    field_validator,
)

from probe.errors import InputError, unknown
from probe.fitting import Recipe
from probe.placement import Storage
from scenarios.datasets import LOADERS
from scenarios.learners.catalogue import LEARNERS, AnySettings
from scenarios.networks import architecture
from scenarios.streams import orders
from scenarios.study.report import ReportSpec


def _with_kinds(learners: object) -> object:
    """Let a learner's table be called after its kind, which then need not be repeated."""
    if not isinstance(learners, dict):
        return learners
    if not learners:
        raise InputError(f"name at least one of {', '.join(LEARNERS)}")
    named = {
        name: {"kind": name, **table} if isinstance(table, dict) else table
        for name, table in learners.items()
    }
    for name, table in named.items():
        # Tables and figures know the level to compare with by its name.
        if isinstance(table, dict) and (table["kind"] == "offline") != (name == "offline"):
            kind = table["kind"]
            raise InputError(f"{name!r} has kind {kind!r}, but `offline` is for that kind alone")
    return named


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


def _kind_of_orders(value: object) -> str:
    return "explicit" if isinstance(value, dict) else "rule"


_Name = Annotated[str, AfterValidator(_part_of_folder)]
_Rule = Annotated[str, AfterValidator(_order_rule), Tag("rule")]
_Explicit = Annotated[dict[_Name, tuple[StrictInt, ...]], Field(min_length=1), Tag("explicit")]
_Orders = Annotated[_Rule | _Explicit, Discriminator(_kind_of_orders)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScenarioSpec(_Strict):
    """Which data, and how they are cut into tasks.

    data: a data set's name; train_limit, test_limit: examples kept per class (None = all);
    validation: training examples per class that are held out and tested on in place of the test
    data, to choose settings by (None = none).
    """

    data: str
    classes_per_task: StrictInt = Field(default=2, ge=1)
    train_limit: StrictInt | None = Field(default=None, ge=1)
    test_limit: StrictInt | None = Field(default=None, ge=1)
    validation: StrictInt | None = Field(default=None, ge=1)

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
    the retrained tails (None = that of the training, as in Murata 2020); storage: how features'
    values are kept for the retraining, `bf16` in half the memory but rounded; report: what the
    tables and figures show of the measurements.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    scenario: ScenarioSpec
    network: NetworkSpec
    training: Annotated[Recipe, Field(default_factory=Recipe)]
    retraining: Recipe | None = None
    learners: Annotated[dict[_Name, AnySettings], BeforeValidator(_with_kinds)]
    orders: _Orders = "rotate"
    seeds: StrictInt = Field(default=1, ge=1)
    storage: Storage = "fp32"
    report: ReportSpec = ReportSpec()

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
