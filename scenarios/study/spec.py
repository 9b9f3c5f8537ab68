"""The specification of a study: scenario x network x learners x orders x seeds, one frozen object.

`Study` is the object that a preset or TOML file describes; pydantic checks each value, and `Study`
itself their combinations. Later code can rely on that: features exist in some network of the study,
names are valid in paths, heads suit the learners. It holds only the user's settings; the jobs that
follow from it are in `probe.by_layer.jobs`.
"""

from typing import Annotated, Any, Self, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from probe.by_layer.plan import CONTROLS
from probe.by_layer.probing import ProbingSpec
from probe.by_layer.report import ReportSpec
from probe.errors import InputError, located, unknown
from probe.retraining import check_multiples
from probe.training.recipe import Recipe
from probe.values.allocation import Storage
from scenarios.learners.base import Settings
from scenarios.learners.catalog import LEARNERS, AnySettings, settings_of
from scenarios.networks import Architecture, architecture
from scenarios.study.fields import LONGEST, Name, Orders, Seeds
from scenarios.study.scenario_spec import ScenarioSpec, has_single_classes


def _with_kinds(learners: object) -> object:
    """Take the name of a learner's table for its kind, unless the kind is given."""
    if not isinstance(learners, dict):
        return learners
    if not learners:
        raise InputError(f"name at least one of {', '.join(LEARNERS)}")
    named = {
        name: {"kind": name, **table} if isinstance(table, dict) else table
        for name, table in learners.items()
    }
    for name, table in named.items():
        # Tables and figures know the controls by their names.
        kind = table["kind"] if isinstance(table, dict) else name
        for own in CONTROLS:
            if (kind == own) != (name == own):
                raise InputError(f"{name!r} has kind {kind!r}, but `{own}` is for that kind alone")
    return named


class _Strict(BaseModel):
    """A frozen table that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class NetworkSpec(_Strict):
    """The network, and the features to retrain downstream of (None = all of its stages).

    name: one of `scenarios.networks`, or registered; features: in any order. Features of learners
    that have networks of their own can be named, too. For a registered network None is a suggested
    set of features, which is found once there are data to call it on
    (`scenarios.study.planning.with_own_features`).
    """

    name: str
    features: tuple[str, ...] | None = Field(default=None, min_length=1)

    @field_validator("name")
    @classmethod
    def _known(cls, name: str) -> str:
        architecture(name)
        return name


def _told(name: str, settings: Settings) -> Settings:
    """Return settings by which the outputs of the task's classes compete, unless they say others.

    Raises InputError for a learner that cannot be told the task.
    """
    kind, field = LEARNERS[settings.kind], type(settings).model_fields.get("competing")
    if kind.offline or kind.task_aware or "competing" in settings.model_fields_set:
        return settings
    if field is None or "task" not in get_args(field.annotation):
        raise InputError(
            f'{name} has no competing = "task", so that its training cannot be told the task: '
            f'leave it out, or use kind = "split"'
        )
    return settings.model_copy(update={"competing": "task"})


class Study(_Strict):
    """A study. Two studies that compare equal give the same tables, bit for bit, on one device.

    - name: also of its run directory, unless another is given;
    - training: the recipe of every learner without a recipe of its own;
    - retraining: the recipe of the retrained tails (None = the training's, as in Murata 2020);
    - learners: their settings, by their names in the tables;
    - orders: a rule, or a table of orders by name, see `probe.orders`;
    - seeds: the number of seeds from 0, or a list of them;
    - storage: precision of features' values for the retraining; `bf16` takes half the memory but
      rounds;
    - probing: the measurements downstream of the features, and their steps;
    - report: the measurements that tables and figures show.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=LONGEST)
    scenario: ScenarioSpec
    network: NetworkSpec
    training: Annotated[Recipe, Field(default_factory=Recipe)]
    retraining: Recipe | None = None
    learners: Annotated[dict[Name, AnySettings], BeforeValidator(_with_kinds)]
    orders: Orders = "rotate"
    seeds: Seeds = 1
    storage: Storage = "fp32"
    probing: ProbingSpec = ProbingSpec()
    report: ReportSpec = ReportSpec()

    @model_validator(mode="before")
    @classmethod
    def _multi_head(cls, raw: Any) -> Any:
        """Report the head `multi` where the task is told, unless heads are given."""
        match raw:
            case {"scenario": {"kind": "task"}}:
                return {**raw, "report": {"heads": ["multi"], **raw.get("report", {})}}
        return raw

    @field_validator("learners")
    @classmethod
    def _learners_told(cls, learners: dict[str, Settings], info: ValidationInfo) -> object:
        """Let the outputs of the task's classes compete where the task is told."""
        if not getattr(info.data.get("scenario"), "told", False):
            return learners
        return {name: _told(name, settings) for name, settings in learners.items()}

    @property
    def everyone(self) -> dict[str, Settings]:
        """The learners by name, with `untrained` where a floor is measured on their network."""
        named = dict(self.learners)
        if self.probing.has_floor and any(map(self._is_probed, self.learners)):
            named.setdefault("untrained", settings_of({"kind": "untrained"}))
        return named

    @property
    def each_seed(self) -> tuple[int, ...]:
        """The seeds, in the order in which they are run."""
        return tuple(range(self.seeds)) if isinstance(self.seeds, int) else self.seeds

    @property
    def network_features(self) -> tuple[str, ...]:
        """The features of the study's network by depth; of a user-defined one the named features.

        Until they are named it has the output alone.
        """
        known = architecture(self.network.name)
        if isinstance(known, Architecture):
            return known.features
        return self.network.features or known.features or ("output",)

    def _is_probed(self, learner: str) -> bool:
        """Return whether a learner has features of the study's network besides its output."""
        kind = LEARNERS[self.learners[learner].kind]
        return not (kind.offline or kind.own_features) and len(self.features_of(learner)) > 1

    @property
    def retraining_recipe(self) -> Recipe:
        """The recipe of the retrained tails."""
        return self.retraining or self.training

    def recipe_of(self, learner: str) -> Recipe:
        """Return the recipe of a learner: the study's, with the learner's settings over it."""
        own = self.everyone[learner].training
        return own.instead_of(self.training) if own else self.training

    def features_of(self, learner: str) -> tuple[str, ...]:
        """Return the features of a learner to retrain downstream of, by depth, its output last.

        They are features of the study's network, or of the learner's own. The output is always
        among them: it stands for the unchanged model, and costs no retraining.
        """
        known = self._known_features(learner)
        # A feature that this learner's network lacks belongs to another network.
        chosen = self.network.features or known
        return tuple(feature for feature in known if feature in chosen or feature == known[-1])

    def _known_features(self, learner: str) -> tuple[str, ...]:
        """Return all features of a learner's network, by depth."""
        settings = self.learners.get(learner)
        own = LEARNERS[settings.kind].own_features if settings else ()
        return own or self.network_features

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        """Raise InputError for features that no network has, and learners that no head suits."""
        # A feature need not be in every network: each learner uses those of its own.
        known = {f: None for learner in self.learners for f in self._known_features(learner)}
        for feature in self.network.features or ():
            if feature not in known:
                problem = unknown("feature of this study's networks", feature, known)
                raise InputError(f"network.features: {problem}")
        with located("probing.budget"):
            check_multiples(self.probing.budget, self.retraining_recipe)
        for name, settings in self.learners.items():
            if LEARNERS[settings.kind].task_aware or self.scenario.told:
                self._refuse_unless_told(name)
            with located(f"learners.{name}.training"):
                self.recipe_of(name)
        return self

    def _refuse_unless_told(self, learner: str) -> None:
        """Raise InputError where a learner needs a task that is unknown or gives away the label."""
        needs = (
            f"learners.{learner}: only the classes of the task compete, so that it must be told "
            f"the task of a test example"
        )
        if has_single_classes(self.scenario):
            raise InputError(f"{needs}, which in a session of one class is its label: leave it out")
        if "multi" not in self.report.heads:
            raise InputError(
                f'{needs}, which single-head is unknown: report heads = ["multi"], or leave it out'
            )
