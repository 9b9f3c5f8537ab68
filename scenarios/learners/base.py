"""What every continual learner shares: how a task is learned, and the steps that can be changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor, nn

from probe.batch import tensors
from probe.examples import Examples
from probe.seeding import stream
from probe.tasks import Scenario, Task
from probe.training.costs import Cost, OpsMeter, bytes_of, one_pass_ops
from probe.training.loop import Objective, fit
from probe.training.optimizers import optimizer_ops
from probe.training.precision import products
from probe.training.recipe import Recipe, RecipeChanges
from scenarios.learners.exemplars import ExemplarSettings


class Settings(BaseModel):
    """The settings of a learner; each learner adds its own, and `kind` names it.

    training: what differs from the study's recipe while it learns.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    kind: str
    training: RecipeChanges | None = None

    @property
    def budget(self) -> ExemplarSettings | None:
        """The exemplars that the learner stores, None for none."""
        return None

    def recorded(self) -> dict[str, Any]:
        """Return the settings that can change the result of a run, as JSON has them."""
        # `training` is recorded with the study's.
        return self.model_dump(mode="json", exclude={"training"})


class Learner(Objective):
    """A model that learns one task after another.

    A task is learned in these steps, each of which a learner may override:
    `begin(task)`, then for every batch of `examples(task)` the four steps of `Objective` (`batch`,
    `loss`, `after_backward`, `after_step`), then `end(task)`; one that learns in another way than
    by batches overrides `train`. What a learner carries from task to task beside the model goes
    through `state` and `restore`; chance comes from `stream`, which depends on the seed, the
    purpose and the number of tasks learned, so that a run continued from a checkpoint equals one
    that never stopped. The optimizer starts anew with each task.

    settings_class: of the learner's settings, which checks its table in a study. offline: it learns
    all tasks at once. elementwise: the multiply-adds per trained parameter and step of the
    learner's own elementwise work, such as a penalty's gradient; its matrix products are counted as
    they run. own_features: the features of the learner's own network in order of depth, the last
    `output`; none: it learns the study's network. task_aware: it must be told the task of what it
    classifies, so that it can be measured multi-head alone.
    """

    settings_class: ClassVar[type[Settings]] = Settings
    offline: ClassVar[bool] = False
    elementwise: ClassVar[int] = 0
    own_features: ClassVar[tuple[str, ...]] = ()
    task_aware: ClassVar[bool] = False

    @classmethod
    def network(
        cls, settings: Settings, shape: Sequence[int], classes: int, tasks: int
    ) -> nn.Module:
        """Build the learner's own network, uninitialized; asked for only where it has one.

        shape: of one input as `view` gives it, without the batch; classes: K; tasks: T.
        """
        raise NotImplementedError

    @classmethod
    def view(cls, scenario: Scenario) -> Scenario:
        """Return what the learner sees of a scenario: in training, tests and retraining."""
        return scenario

    def __init__(self, model: nn.Module, recipe: Recipe, settings: Settings, seed: int) -> None:
        self.model = model
        self.recipe = recipe
        self.settings = settings
        self.seed = seed
        self.learned = 0
        self.seen: tuple[int, ...] = ()
        self.losses: tuple[float, ...] = ()

    @products("fp32")
    def learn(self, task: Task) -> Cost:
        """Learn one task, whose data must lie on the model's device; return what it cost."""
        meter, self.losses = OpsMeter(), ()
        # What is carried and stored into the task, before the task changes it.
        carried, stored = bytes_of(self.carried().values()), self.stored_bytes()
        with meter.once():
            self.begin(task)
            data = self.examples(task)
        self.train(task, data, meter)
        # Before `end`, whose random streams are those of after the task.
        self.seen += tuple(c for c in task.classes if c not in self.seen)
        self.learned += 1
        with meter.once():
            self.end(task)
        parameters = list(self.model.parameters())
        trained = sum(p.numel() for p in parameters if p.requires_grad)
        # What no matrix product shows: the optimizer's work, and the learner's own.
        meter.add(meter.steps * trained * (optimizer_ops(self.recipe) + self.elementwise))
        return Cost(
            parameter_bytes=bytes_of(parameters),
            carried_bytes=carried,
            stored_bytes=stored,
            train_bytes=bytes_of([*tensors(task.train.x), task.train.y]),
            ops_one_pass=one_pass_ops(self.model, task.train, self.recipe.batch_size),
            ops=meter.total,
            kept_bytes=bytes_of([*parameters, *self.model.buffers(), *self.carried().values()])
            + self.stored_bytes(),
        )

    def scores(self, x: Tensor) -> Tensor:
        """Return the scores (B, K) of all classes for inputs (B, ...), the largest the likeliest.

        No class is barred: see `logits`.
        """
        scores: Tensor = self.model(x)
        return scores

    def logits(self, x: Tensor, task: Task | None = None) -> Tensor:
        """Return scores (B, K) for inputs (B, ...), -inf for the classes that do not compete.

        Single-head by default: the classes seen so far compete (all of them before any task was
        learned). With a task, multi-head: the task's classes alone (Chaudhry 2018, section 2.1).
        """
        scores = self.scores(x)
        competing = self.seen if task is None else task.classes
        # Before the first task all compete.
        if not competing:
            return scores
        barred = torch.ones(scores.shape[1], dtype=torch.bool)
        barred[list(competing)] = False
        return scores.masked_fill(barred.to(scores.device), -torch.inf)

    def begin(self, task: Task) -> None:
        """Prepare for a task before its first batch."""

    def examples(self, task: Task) -> Examples:
        """Return the examples to train on, x (N, ...) and y (N,), each visited once per epoch."""
        return task.train

    def train(self, task: Task, data: Examples, meter: OpsMeter) -> None:
        """Train the model on a task.

        data: what `examples` gave, x (N, ...) and y (N,); meter: counts what is spent.
        """
        fit(self.model, data, self.recipe, self.stream("batches"), objective=self, meter=meter)

    def after_epoch(self, model: nn.Module, losses: Sequence[float]) -> None:
        """Remember how the training on this task went; see `probe.training.history.History`."""
        self.losses = tuple(losses)

    def end(self, task: Task) -> None:
        """Keep what later tasks need; `seen` and `learned` count this task already."""

    def carried(self) -> dict[str, Tensor]:
        """Return what later tasks need beside the model and stored samples, by name.

        A tensor that belongs to one parameter has its shape and is called KIND.PARAMETER, such as
        `importance.output.weight`: so a checkpoint can be checked against the model.
        """
        return {}

    def stored_bytes(self) -> int:
        """Return the bytes of the earlier tasks' samples that are stored now."""
        return 0

    def state(self) -> dict[str, Tensor]:
        """Return all that a checkpoint needs beside the model and the tasks learned, by name.

        Tensors of any shapes (...).
        """
        return self.carried()

    def restore(self, state: dict[str, Tensor], past: Sequence[Task]) -> None:
        """Take over what `state` returned after the tasks `past` were learned.

        The tensors have the shapes (...) that `state` gave them, and lie on the model's device. The
        model's own state is restored by the caller.
        """
        self.learned = len(past)
        self.seen = tuple(dict.fromkeys(c for task in past for c in task.classes))

    def stream(self, purpose: str) -> torch.Generator:
        """Return the learner's CPU generator for a purpose in the task at hand."""
        return stream(self.seed, purpose, self.learned)


def by_kind(**kinds: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return tensors that belong to parameters, of several kinds, by KIND.PARAMETER.

    >>> by_kind(anchor={"weight": torch.ones(1)}, score={"weight": torch.zeros(1)})
    {'anchor.weight': tensor([1.]), 'score.weight': tensor([0.])}
    """
    return {f"{kind}.{n}": each for kind, part in kinds.items() for n, each in part.items()}


def of_kind(tensors: Mapping[str, Tensor], kind: str) -> dict[str, Tensor]:
    """Return those of one kind that `by_kind` named, by the names of their parameters.

    >>> of_kind({"anchor.weight": torch.ones(1), "score.weight": torch.zeros(1)}, "anchor")
    {'weight': tensor([1.])}
    """
    start = f"{kind}."
    return {n.removeprefix(start): each for n, each in tensors.items() if n.startswith(start)}
