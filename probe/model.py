"""The model: the way to call a network and to make a new one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from operator import index
from pathlib import Path
from typing import Any, Literal, cast, get_args

import torch
from torch import Tensor, nn

from probe.batch import Value
from probe.cut.interface import Trainable, check_trainable
from probe.cut.model_call import Call, ModelCall, Output
from probe.errors import InputError
from probe.tasked_examples import Orders
from probe.training.fresh_weights import Factory, Fresh
from probe.training.recipe import Rule

Head = Literal["single", "multi"]
"""The outputs that compete: all classes seen so far, or the classes of the example's task."""

_HEADS = (None, *get_args(Head))
_POSITIONAL = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)

Networks = nn.Module | Mapping[int, nn.Module] | Mapping[int, str | Path] | str | Path
"""One network, several networks by tasks learned, the pattern of their files, or a folder."""


@dataclass(frozen=True)
class Model:
    """One or more networks, with the way to call them and to make a new one.

    >>> net = nn.ModuleDict({"body": nn.Linear(4, 8), "head": nn.Linear(8, 2)})
    >>> model = Model(net, call=lambda net, x: net["head"](net["body"](x)))

    Args:
        network: The network for `partial_retrain`; for `analyze` networks by tasks
            learned, the pattern of their files, or a recorder's folder.
        output: The key, attribute or index of the logits in the model's output; None =
            the output is the logits.
        call: `call(model, x)` runs the model on a batch; None = `model(x)`; or
            `call(model, x, task)` for networks with a head per task. task: (B,) the
            number of the task of each example, its position in `tasks` where that lists
            classes. A parameter `task` with a default counts, too, unless head is
            `single`.
        head: The outputs that compete, in training too: `single` = all classes seen so
            far, `multi` = the classes of the example's task; None = `multi` where
            `call` takes the task.
        classes: The outputs of the K classes, K different numbers, such as `range(6)`
            for a head with more outputs than classes; the others do not compete. Labels
            and tasks name the classes by their positions in this list, 0..K-1, or all
            of them by output number, such as 10..13 for `range(10, 14)`; labels that
            are 0..K-1 are positions. Tables number classes by position. None = the
            network has only K outputs.
        fresh: The source of re-initialized values: a function that makes a new model,
            called with all generators seeded; a model or state dict to rewind to; or a
            rule. None = the recipe's rule, by default each layer's own. Networks in
            files need a function, which gives way to an `init` of the recipe other than
            `torch`; or, where learners have different architectures, a function for
            each, by learner: the first one's network gives floor and ceiling; another
            architecture has its own floor and no ceiling.
        load: `load(path)` returns the network that is saved in a file or folder, for
            files that are no state dicts; then `fresh` may be left out.
        weights: The key of the state dict in files with several, such as
            `state_dict_ema`, or the prefix of its names.
        trainable: The parameters to train: `tail` = everything that the feature does
            not depend on; `as given` = only those of them that require gradients in the
            given model (the weights of LoRA, not of its base).
        device: The device on which networks in files are measured: `cpu`, `cuda` or
            `cuda:N`; `auto` = that of the data, or a GPU if there is one.
        orders: The task orders of files with {order} in their names: a rule (`rotate`),
            or the tasks, from 1, by the name of the order.

    Raises:
        InputError: call, head, classes or trainable is invalid, or they contradict each
            other.
    """

    network: Any  # Networks
    _: KW_ONLY
    output: Output = None
    call: Call | None = None
    head: Head | None = None
    classes: Sequence[int] | None = None
    fresh: Fresh | Mapping[str, Factory] | None = None
    trainable: Trainable = "tail"
    orders: Orders | None = None
    device: str = "auto"
    load: Callable[[Path], nn.Module] | None = None
    weights: str | None = None

    def __post_init__(self) -> None:
        _ = self.model_call
        if not isinstance(self.head, str | None) or self.head not in _HEADS:
            raise InputError(f"head must be 'single' or 'multi', got {self.head!r:.40}")
        if self.call_is_task_aware and self.head == "single":
            raise InputError(
                "`call` takes the task, but head='single' ignores it: leave it out"
            )
        check_trainable(self.trainable)
        if not (self.load is None or callable(self.load)):
            raise InputError(
                f"load= must be a function of a path, got {self.load!r:.40}"
            )
        try:
            if self.classes is not None:  # perhaps an array, or a generator
                object.__setattr__(self, "classes", tuple(map(index, self.classes)))
        except TypeError:
            raise InputError(
                f"classes= must be numbers, such as range(6), got {self.classes!r:.40}"
            ) from None

    @property
    def call_is_task_aware(self) -> bool:
        """Whether the call takes the task id of each example."""
        return self.call is not None and is_task_aware(self.call, self.head)

    @property
    def task_aware(self) -> bool:
        """Whether the network, or the choice among its outputs, uses the task id."""
        return self.head == "multi" or self.call_is_task_aware

    @property
    def model_call(self) -> ModelCall:
        """The call that gives the logits of a batch, (B, O)."""
        return ModelCall(call=self.call, output=self.output)

    @property
    def class_call(self) -> ModelCall:
        """The call that gives only the logits of the classes, (B, K)."""
        call = self.model_call
        if self.classes is None:
            return call
        classes = self.classes

        def of_classes(model: nn.Module, x: Value) -> Tensor:
            outputs = call(model, x)
            return outputs[:, torch.tensor(classes, device=outputs.device)]

        return ModelCall(call=of_classes)

    @property
    def build_by_learner(self) -> dict[str, Factory]:
        """The functions that make a new model, by learner; the first serves all that have none."""
        fresh = self.fresh if isinstance(self.fresh, Mapping) else {"": self.fresh}
        return {
            n: f
            for n, f in fresh.items()
            if callable(f) and not isinstance(f, nn.Module)
        }

    @property
    def build(self) -> Factory | None:
        """The first function that makes a new model; None if fresh values come from elsewhere."""
        return next(iter(self.build_by_learner.values()), None)

    def source(self, init: Rule) -> Fresh:
        """Return the source of fresh values.

        Args:
            init: The recipe's rule; unless it is torch's own, it takes precedence over
                a function.
        """
        if self.fresh is None or (self.build and init != "torch"):
            return init
        return self.build or cast(Fresh, self.fresh)

    @classmethod
    def coerce(cls, networks: Networks | Model) -> Model:
        """Return the caller's argument as a Model."""
        if isinstance(networks, Model):
            return networks
        return cls(networks)


def is_task_aware(call: Call, head: Head | None = None) -> bool:
    """Return whether a call takes the task id.

    Args:
        call: Function of the model, a batch and perhaps the task of each example.
        head: The head; if it is `single`, a parameter `task` with a default does not
            count.

    Raises:
        InputError: The call takes the task as a keyword only.
    """
    try:
        parameters = inspect.signature(call).parameters
    except ValueError:  # of some builtins
        return False
    if (
        "task" in parameters
        and parameters["task"].kind is inspect.Parameter.KEYWORD_ONLY
    ):
        raise InputError(
            "`call` takes `task` only by keyword: make it call(model, x, task)"
        )
    needed = sum(
        p.kind in _POSITIONAL and p.default is p.empty for p in parameters.values()
    )
    return needed > 2 or ("task" in parameters and head != "single")
