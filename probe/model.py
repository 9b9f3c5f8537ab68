"""The model: the way to call a network and to make a new one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from operator import index
from pathlib import Path
from typing import Any, Literal

from torch import Tensor, nn

from probe.batch import Value
from probe.cut.interface import Trainable, check_trainable
from probe.cut.model_call import Call, ModelCall, Output
from probe.errors import InputError
from probe.training.fresh_weights import Fresh, Rule

Head = Literal["single", "multi"]
"""The outputs that compete: of the classes seen so far, or of the classes of the example's task."""

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

Networks = nn.Module | Mapping[int, nn.Module] | Mapping[int, str | Path] | str | Path
"""One network, or several by tasks learned, or the pattern of their files, or a folder."""


@dataclass(frozen=True)
class Model:
    """A network, or several, with the way to call them and to make a new one.

    >>> net = nn.ModuleDict({"body": nn.Linear(4, 8), "head": nn.Linear(8, 2)})
    >>> model = Model(net, call=lambda net, x: net["head"](net["body"](x)))

    - of: the network for `partial_retrain`; networks by tasks learned, the pattern of their files
      or a recorder's folder for `analyze`;
    - output: the key, attribute or index of the logits in the model's output; None = the output is
      the logits; call: `call(model, x)` runs the model on a batch; None = `model(x)`; or
      `call(model, x, task)`, task: (B,) the number of the task of each example, for networks with a
      head per task: its position in `tasks` where that lists classes. A task with a default counts,
      unless head is `single`;
    - head: the outputs that compete: `single`, of all classes seen so far, or `multi`, of the
      example's own task, in training too; None = `multi` where `call` takes the task;
    - classes: the outputs of the K classes, K different numbers, as `range(6)` for a head with more
      outputs than classes; the others do not compete. Labels and tasks name the classes by their
      positions in this list, 0..K-1, or all of them by the outputs' own numbers, as 10..13 for
      `range(10, 14)`; labels that are 0..K-1 are positions. Tables number them by position. None =
      the network has only K outputs;
    - fresh: the source of re-initialized values: a function that makes a new model, called with all
      generators seeded; a model or state dict to rewind to; or a rule. None = the recipe's rule, by
      default each layer's own. Networks in files need a function;
    - trainable: `tail` = everything that the feature does not depend on; `as given` = of that only
      the parameters that require gradients in the given model (those of LoRA, not its base);
    - orders: of files with {order} in their names, a rule (`rotate`) or the tasks from 1 by name.
    """

    of: Any  # Networks
    _: KW_ONLY
    output: Output = None
    call: Call | None = None
    head: Head | None = None
    classes: Sequence[int] | None = None
    fresh: Fresh | None = None
    trainable: Trainable = "tail"
    orders: str | Mapping[str, Sequence[int]] | None = None

    def __post_init__(self) -> None:
        _ = self.model_call
        if self.head not in (None, "single", "multi"):
            raise InputError(f"head must be 'single' or 'multi', got {self.head!r:.40}")
        if self.takes_task and self.head == "single":
            raise InputError(
                "call takes the task, and single-head the task is not known: leave out head, or "
                "give a call that joins the outputs of all heads"
            )
        check_trainable(self.trainable)
        try:
            if self.classes is not None:  # perhaps an array, or a generator
                object.__setattr__(self, "classes", tuple(map(index, self.classes)))
        except TypeError:
            raise InputError(
                f"classes= are numbers, as range(6), got {self.classes!r:.40}"
            ) from None

    @property
    def takes_task(self) -> bool:
        """Whether the call takes the number of the task of each example."""
        return self.call is not None and takes_task(self.call, self.head)

    @property
    def told(self) -> bool:
        """Whether the network, or the choice among its outputs, is told the task."""
        return self.head == "multi" or self.takes_task

    @property
    def model_call(self) -> ModelCall:
        """The call that gives the logits of a batch, (B, O)."""
        return ModelCall(call=self.call, output=self.output)

    @property
    def class_call(self) -> ModelCall:
        """The call that gives the logits of the classes alone, (B, K)."""
        call, classes = self.model_call, self.classes
        if classes is None:
            return call

        def chosen(model: nn.Module, x: Value) -> Tensor:
            return call(model, x)[:, list(classes)]

        return ModelCall(call=chosen)

    @property
    def build(self) -> Callable[[], nn.Module] | None:
        """The function that makes a new model, None where fresh values come from elsewhere."""
        return (
            self.fresh if callable(self.fresh) and not isinstance(self.fresh, nn.Module) else None
        )

    def source(self, init: Rule) -> Fresh:
        """Return the source of fresh values; init: the recipe's rule.

        A recipe that names a rule other than torch's own is followed before a function.
        """
        if self.fresh is None or (self.build and init != "torch"):
            return init
        return self.fresh

    @classmethod
    def around(cls, given: Networks | Model) -> Model:
        """Return the caller's argument as a Model."""
        return given if isinstance(given, Model) else cls(given)


def takes_task(call: Call, head: Head | None = None) -> bool:
    """Return whether a call takes the task; single-head it may have one that has a default.

    Raises InputError for a call that takes it by name alone.
    """
    try:
        named = inspect.signature(call).parameters
    except ValueError:  # of some builtins
        return False
    if "task" in named and named["task"].kind is inspect.Parameter.KEYWORD_ONLY:
        raise InputError("call takes task by name alone: let it be call(model, x, task)")
    given = [own for own in named.values() if own.kind in _POSITIONAL]
    needed = sum(own.default is own.empty for own in given)
    return needed > 2 or ("task" in named and head != "single")
