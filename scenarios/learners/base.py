"""The base of all learners: a task is learned in steps that can be overridden."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from probe.batch import Named
from probe.by_layer.measurement import Cost
from probe.by_layer.offline import cost_of
from probe.examples import Examples
from probe.seeding import stream
from probe.tasks import Scenario, Task
from probe.training.costs import OpsMeter, bytes_of
from probe.training.loop import Objective, fit
from probe.training.precision import products
from probe.training.recipe import Recipe, RecipeChanges
from probe.validation import PositiveInt, StrictModel
from scenarios.learners.exemplars import ExemplarSettings
from scenarios.learners.freezing import frozen
from scenarios.networks import bare

_FREEZE_FROM = 2  # the default of `freeze_from`


class Settings(StrictModel, strict=True):
    """A learner's settings.

    Attributes:
        kind: The learner's name in a study.
        training: The learner's changes to the study's recipe.
        freeze: The dotted names of the network's modules that are frozen from a task
            on; learners with `cannot_freeze` have none.
        freeze_from: The first task at which they are frozen, counted from 1 in the
            order of learning; at 1 they keep their fresh weights.
    """

    kind: str = ""
    training: RecipeChanges | None = None
    # A file has lists, which strict tuples refuse.
    freeze: Annotated[tuple[str, ...], Field(strict=False)] = ()
    freeze_from: PositiveInt = _FREEZE_FROM

    @model_validator(mode="after")
    def _freezes_something(self) -> Self:
        """Raise ValueError for a first frozen task without modules to freeze."""
        if self.freeze_from != _FREEZE_FROM and not self.freeze:
            raise ValueError(
                f"freeze_from = {self.freeze_from} freezes nothing: name modules"
            )
        return self

    @property
    def budget(self) -> ExemplarSettings | None:
        """The budget of the exemplars that the learner stores, None for none."""
        return None

    def recorded(self) -> dict[str, Any]:
        """Return the settings that can change the result of a run, as JSON values."""
        # `training` is recorded with the study's.
        excluded = {"training"}
        if not self.freeze:
            # As in the records of studies from before layers could be frozen.
            excluded |= {"freeze", "freeze_from"}
        return self.model_dump(mode="json", exclude=excluded)

    def frozen_at(self, task_position: int) -> tuple[str, ...]:
        """Return the names of the modules that are frozen while a task is learned.

        Args:
            task_position: The task's position in the order of learning, from 1.

        Returns:
            The names.
        """
        return self.freeze if task_position >= self.freeze_from else ()


Train = Callable[[Task, Examples, OpsMeter], None]
"""Training on a task's examples; see `Learner.train`."""


class Learner(Objective):
    """A model that learns one task after another.

    A task is learned by `begin(task)`, then for every batch of `examples(task)` the
    four steps of `Objective` (`batch`, `loss`, `after_backward`, `after_step`), then
    `end(task)`. A learner may override any of them, or `train` if it does not learn by
    batches. Everything that it carries from task to task besides the model goes through
    `state` and `restore`. Random numbers come from `stream`, which depends on the seed,
    the purpose and the number of tasks learned, so that a run resumed from a checkpoint
    equals an uninterrupted one. The optimizer is reset with each task.

    Attributes:
        settings_class: The class that checks the learner's table in a study.
        offline: Whether it learns all tasks at once.
        elementwise: The multiply-adds of elementwise work per trained parameter and
            step, such as for a penalty's gradient (matrix products are counted as they
            run).
        own_features: The features of the learner's own network, by depth, with `output`
            last; empty if it learns the study's network.
        task_aware: Whether it needs the task id of each example, so that it has the
            multi-head only.
        first_task: A name shared by learners that train on the first task in exactly
            the same way: they gather nothing at its steps, and `end` does not change
            the model. It is not inherited.
    """

    settings_class: ClassVar[type[Settings]] = Settings
    offline: ClassVar[bool] = False
    elementwise: ClassVar[int] = 0
    own_features: ClassVar[tuple[str, ...]] = ()
    task_aware: ClassVar[bool] = False
    first_task: ClassVar[str | None] = None

    @classmethod
    def cannot_freeze(cls) -> str:
        """Return why layers cannot be frozen from a task on, empty if they can."""
        if cls.offline:
            return "does not learn one task after another"
        if cls.own_features and cls.train is not Learner.train:
            return "has a network and a training of its own"
        if cls.learn is not Learner.learn:
            return "learns a task without Learner.learn, which freezes layers"
        return ""

    @classmethod
    def network(
        cls, settings: Any, shape: Sequence[int], classes: int, tasks: int
    ) -> nn.Module:
        """Build the learner's own network, uninitialized.

        Args:
            settings: The learner's settings.
            shape: The shape of one input of `view`, without the batch.
            classes: The number of classes, K.
            tasks: The number of tasks, T.

        Returns:
            The network.
        """
        raise NotImplementedError

    @classmethod
    def view(cls, scenario: Scenario) -> Scenario:
        """Return the scenario as the learner sees it in training, tests and retraining."""
        return scenario

    def __init__(
        self, model: nn.Module, recipe: Recipe, settings: Settings, seed: int
    ) -> None:
        self.model = model
        self.recipe = recipe
        self.settings = settings
        self.seed = seed
        self.learned = 0
        self.seen: tuple[int, ...] = ()

    @products("fp32")
    def learn(self, task: Task, train: Train | None = None) -> Cost:
        """Learn one task, with its data on the model's device.

        Args:
            task: The task to learn.
            train: A function that trains the model in place of the method `train`.

        Returns:
            The cost.
        """
        with frozen(bare(self.model)[0], self.settings.frozen_at(self.learned + 1)):
            return self._learn_beside_frozen(task, train)

    def _learn_beside_frozen(self, task: Task, train: Train | None) -> Cost:
        """Learn one task: begin, train, end; return what it cost. Some layers may be frozen."""
        meter = OpsMeter()
        self.losses = ()
        # The bytes that earlier tasks left, before this task changes them.
        carried = bytes_of(self.carried().values())
        stored = self.stored_bytes()
        with meter.once():
            self.begin(task)
            data = self.examples(task)
        (train or self.train)(task, data, meter)
        # Before `end`, whose random streams are those of after the task.
        self._see(task)
        self.learned += 1
        with meter.once():
            self.end(task)
        return cost_of(
            self.model,
            task.train,
            self.recipe,
            meter,
            self.elementwise,
            carried=carried,
            stored=stored,
            # The bytes that this task leaves for the next.
            kept=bytes_of(self.carried().values()) + self.stored_bytes(),
        )

    def scores(self, x: Tensor) -> Tensor:
        """Return the scores (B, K) of all classes for inputs (B, ...); no class is excluded."""
        scores: Tensor = self.model(x)
        return scores

    def begin(self, task: Task) -> None:
        """Prepare for a task before its first batch."""

    def examples(self, task: Task) -> Examples:
        """Return the examples to train on, each visited once per epoch."""
        return task.train

    def train(self, task: Task, data: Examples, meter: OpsMeter) -> None:
        """Train the model.

        Args:
            task: The task.
            data: The result of `examples`.
            meter: The counter of multiply-adds.
        """
        fit(
            self.model,
            data,
            self.recipe,
            self.stream("batches"),
            objective=self,
            meter=meter,
        )

    def end(self, task: Task) -> None:
        """Store what later tasks need; `seen` and `learned` include this task."""

    def carried(self) -> Named:
        """Return the tensors that later tasks need besides the model and stored samples, by name.

        A tensor with the shape of a parameter is named KIND.PARAMETER, such as
        `importance.output.weight`, so that a checkpoint can be checked against the
        model.
        """
        return {}

    def stored_bytes(self) -> int:
        """Return the size of the stored samples of earlier tasks, in bytes."""
        return 0

    def state(self) -> Named:
        """Return all tensors that a checkpoint needs besides the model, by name."""
        return self.carried()

    def restore(self, state: Named, past: Sequence[Task]) -> None:
        """Restore the state that `state` returned, on the model's device.

        The model has been restored by the caller.

        Args:
            state: The tensors by name.
            past: The tasks learned so far.
        """
        self.learned = len(past)
        self.seen = ()
        for task in past:
            self._see(task)

    def _see(self, task: Task) -> None:
        """Add a task's classes to those seen, in order, each once."""
        self.seen += tuple(c for c in task.classes if c not in self.seen)

    def stream(self, purpose: str) -> torch.Generator:
        """Return the CPU generator for a purpose in the present task."""
        return stream(self.seed, purpose, self.learned)
