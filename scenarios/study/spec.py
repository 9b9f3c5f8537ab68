"""Specification of a study: scenario x network x learners x orders x seeds, one frozen object.

`Study` is the object that a preset or TOML file describes; pydantic checks each value,
and `Study` itself their combinations. Later code can rely on this: features exist in
some network of the study, names are valid in paths, heads suit the learners. It holds
only the user's settings; the jobs that follow from it are in `probe.by_layer.jobs`.
"""

import re
from itertools import chain
from typing import Annotated, Any, Self, get_args

from pydantic import Field
from pydantic.functional_validators import (
    AfterValidator,
    BeforeValidator,
    model_validator,
)
from pydantic.types import Discriminator, StrictInt, Tag

from probe.arrays import Storage
from probe.by_layer.plan import CONTROLS
from probe.by_layer.probing import ProbingSpec
from probe.by_layer.report import ReportSpec
from probe.errors import InputError, located, unknown
from probe.retraining import check_multiples
from probe.tasks import orders
from probe.training.recipe import Recipe
from probe.validation import MOST, StrictModel, shown
from scenarios.learners.base import Settings
from scenarios.learners.catalog import LEARNERS, AnySettings, settings_of
from scenarios.networks import ARCHITECTURES, network_entry
from scenarios.study.scenario_spec import ScenarioSpec

# Characters of a name: a job's folder has two names, and at most 255 characters in all.
LONGEST = 80


def _check_name(name: str) -> str:
    """Return a name that can be part of a job's folder; raises InputError for any other."""
    # A job's folder is LEARNER.order-ORDER.seed-N: no name may contain the separators.
    if len(name) > LONGEST or not re.fullmatch(
        r"[A-Za-z0-9]([A-Za-z0-9_-]|\.[0-9])*", name
    ):
        raise InputError(
            f"{shown(name)} becomes part of a folder's name: use "
            f"up to {LONGEST} letters, digits, _ and -, and a dot only before a digit"
        )
    return name


def _check_rule(rule: str) -> str:
    """Return a rule of orders; raises InputError if there is no such rule."""
    orders(rule, tasks=1)
    return rule


def _seed_list(seeds: object) -> object:
    """Return seeds as a list; a number n stands for 0 to n - 1."""
    if type(seeds) is int and 1 <= seeds <= MOST:
        return tuple(range(seeds))
    if not isinstance(seeds, list | tuple):
        raise InputError(
            f"expected 1 to {MOST} seeds, or a list of seeds, got {shown(seeds)}"
        )
    if len(set(map(str, seeds))) < len(seeds):
        raise InputError(
            f"seeds must not repeat, got {list(seeds)}: list each seed once"
        )
    return seeds


Name = Annotated[str, AfterValidator(_check_name)]
Orders = Annotated[
    Annotated[str, AfterValidator(_check_rule), Tag("rule")]
    | Annotated[dict[Name, tuple[StrictInt, ...]], Field(min_length=1), Tag("listed")],
    Discriminator(lambda value: "rule" if isinstance(value, str) else "listed"),
]
Seed = Annotated[StrictInt, Field(ge=0, lt=2**31)]


def _with_kinds(learners: object) -> object:
    """Use the name of a learner's table as its kind, unless the table has a kind."""
    if not isinstance(learners, dict):
        return learners
    tables = dict(learners)
    for name, table in learners.items():
        if isinstance(table, dict):
            tables[name] = {"kind": name, **table}
    return tables


class NetworkSpec(StrictModel):
    """The network, and the features to retrain downstream of (None = all of its stages).

    Attributes:
        name: The name of a network of `scenarios.networks`, or of a registered one.
        features: The names of the features, in any order; those of learners with a
            network of their own may be among them. For a registered network, None = a
            suggested set, found once there are data to call it on
            (`scenarios.study.plan.resolve_settings`).
    """

    name: Annotated[str, AfterValidator(lambda name: network_entry(name).name)]
    features: tuple[str, ...] | None = Field(default=None, min_length=1)


class Study(StrictModel):
    """A study; studies that compare equal give the same tables, bit for bit, on the same device.

    Attributes:
        name: The name of the study, and of its run directory unless another is given.
        scenario: The data, and their division into tasks.
        network: The network and its features.
        training: The recipe of every learner without a recipe of its own.
        retraining: The recipe of the retrained tails; None = the training's, as in
            Murata 2020.
        learners: The settings of the learners, by their names in the tables.
        orders: The task orders, a rule or a table by name, see `probe.tasks.orders`.
        seeds: The seeds; a file may give only their number n, for 0 to n - 1.
        storage: The precision of cached activations; `bf16` takes half the memory but
            rounds.
        probing: The measurements downstream of the features, and the steps at which
            they are made.
        report: The measurements that tables and figures show.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=LONGEST)
    scenario: ScenarioSpec
    network: NetworkSpec
    training: Annotated[Recipe, Field(default_factory=Recipe)]
    retraining: Recipe | None = None
    learners: Annotated[
        dict[Name, AnySettings], BeforeValidator(_with_kinds), Field(min_length=1)
    ]
    orders: Orders = "rotate"
    seeds: Annotated[
        tuple[Seed, ...], Field(min_length=1), BeforeValidator(_seed_list)
    ] = (0,)
    storage: Storage = "fp32"
    probing: ProbingSpec = ProbingSpec()
    report: ReportSpec = ReportSpec()

    @model_validator(mode="before")
    @classmethod
    def _multi_head(cls, raw: Any) -> Any:
        """Report the head `multi` of a task-incremental study, unless heads are given."""
        match raw:
            case {"scenario": {"kind": "task-incremental"}}:
                return {**raw, "report": {"heads": ["multi"], **raw.get("report", {})}}
        return raw

    @model_validator(mode="after")
    def _can_be_frozen(self) -> Self:
        """Raise InputError for a learner with layers to freeze whose kind cannot freeze any."""
        remedy = "leave freeze out, or choose another kind, such as 'finetune'"
        for name, settings in self.learners.items():
            reason = LEARNERS[settings.kind].cannot_freeze()
            if settings.freeze and reason:
                raise InputError(
                    f"learners.{name}.freeze: {settings.kind!r} {reason}: {remedy}"
                )
        return self

    @property
    def all_learners(self) -> dict[str, Settings]:
        """The learners by name, with `untrained` where a floor is measured on their network."""
        learners = dict(self.learners)
        for name, settings in self.learners.items():
            kind = LEARNERS[settings.kind]
            on_network = not (kind.offline or kind.own_features)
            if (
                self.probing.has_floor
                and on_network
                and len(self.features_of(name)) > 1
            ):
                learners.setdefault("untrained", settings_of({"kind": "untrained"}))
        return learners

    @property
    def retraining_recipe(self) -> Recipe:
        """The recipe of the retrained tails."""
        return self.retraining or self.training

    def recipe_of(self, learner: str) -> Recipe:
        """Return the recipe of a learner: the study's, changed by the learner's settings."""
        changes = self.all_learners[learner].training
        return changes.applied_to(self.training) if changes else self.training

    def features_of(self, learner: str) -> tuple[str, ...]:
        """Return the features of a learner to retrain downstream of, by depth, the output last.

        They are features of the study's network, or of the learner's own network. The
        output is always one of them: it stands for the unchanged model, and costs no
        retraining.
        """
        features = self._all_features(learner)
        # The study may name features of several networks: a learner has those of its own.
        chosen = self.network.features or features
        return tuple(f for f in features if f in chosen or f == features[-1])

    def _all_features(self, learner: str) -> tuple[str, ...]:
        """Return all features of a learner's network, by depth.

        For a user-defined network these are the named features, or only the output
        until they are known.
        """
        settings = self.learners.get(learner)
        if settings and LEARNERS[settings.kind].own_features:
            return LEARNERS[settings.kind].own_features
        entry = network_entry(self.network.name)
        chosen = None if entry.name in ARCHITECTURES else self.network.features
        return chosen or entry.features or ("output",)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        """Check features, budget and learners against each other.

        In a task-incremental study, the loss of each learner is over the task's
        classes, unless its settings name other classes.
        """
        self._check_features()
        with located("probing.budget"):
            check_multiples(self.probing.budget, self.retraining_recipe)
        for name, settings in self.learners.items():
            # Tables and figures know the controls by their names.
            if name != settings.kind and {name, settings.kind} & {*CONTROLS}:
                raise InputError(
                    f"learners: {name!r} has kind {settings.kind!r}: "
                    "a control is named after its kind"
                )
            kind = LEARNERS[settings.kind]
            has_own_loss = kind.offline or kind.task_aware
            if self.scenario.task_aware and not has_own_loss:
                self.learners[name] = _with_task_loss(name, settings)
            if kind.task_aware or self.scenario.task_aware:
                self._check_task_aware(name)
            with located(f"learners.{name}.training"):
                self.recipe_of(name)
        return self

    def _check_features(self) -> None:
        """Raise InputError for a feature that is in no learner's network."""
        features = list(chain(*map(self._all_features, self.learners)))
        for feature in self.network.features or ():
            if feature not in features:
                existing = dict.fromkeys(features)
                error = unknown(
                    "feature", feature, existing, "in this study's networks"
                )
                raise InputError(f"network.features: {error}")

    def _check_task_aware(self, learner: str) -> None:
        """Raise InputError if this learner, which needs the task id, does not fit the study."""
        needs = (
            f"learners.{learner}: only the task's classes compete, so it needs the "
            "task id"
        )
        if self.scenario.has_single_classes:
            raise InputError(f"{needs}, which gives away single classes: leave it out")
        if "multi" not in self.report.heads:
            raise InputError(f'{needs}: report heads = ["multi"], or leave it out')


def _with_task_loss(name: str, settings: Settings) -> Settings:
    """Return settings with the loss over the task's classes, unless they name other classes.

    Raises InputError for a learner without such a loss.
    """
    if "loss_classes" in settings.model_fields_set:
        return settings
    loss = type(settings).model_fields.get("loss_classes")
    if loss is None or "task" not in get_args(loss.annotation):
        raise InputError(
            f'learners.{name}: it has no loss_classes = "task", which task-incremental '
            "needs: leave it out or change the kind"
        )
    return settings.model_copy(update={"loss_classes": "task"})
