"""The two parts of a model that is cut, so that tail(prefix(x)) == model(x)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from probe.errors import unknown
from probe.training.fresh_weights import Fresh, fresh_state, initialize

Trainable = Literal["tail", "as given"]
"""The parameters to train downstream of a feature: all, or those that the user has not frozen."""


def check_trainable(trainable: str) -> None:
    """Raise InputError for an unknown choice of the parameters to train."""
    if trainable not in get_args(Trainable):
        raise unknown("choice of what is trainable", trainable, get_args(Trainable))


@dataclass(frozen=True, eq=False)
class Split:
    """A copy of a model, cut at a feature: tail(prefix(x)) is model(x), bit for bit.

    - prefix: maps inputs x (B, ...) to the tail's input, one tensor (B, ...) or several;
      always in eval mode and without gradients;
    - tail: maps the prefix's output to the logits (B, K); the tail is re-initialized and trained;
    - frozen: names, in the model, of the parameters and buffers that the feature's value depends
      on, which no training of the tail changes;
    - trainable: whether the output depends on any parameter that is trained in the tail; at the
      model's own output there is none;
    - slow: the reason for which the model could not be cut, empty if it was. If not, the prefix is
      the identity, and the tail is the whole model with the frozen part held fixed;
    - around: whether the code of the modules around the feature stays in eval mode too, as in
      training mode it would change the feature or the way in which it is computed;
    - fresh_values: the tensors that are re-initialized, of any shape, by their names in the model.
    """

    feature: str
    prefix: nn.Module
    tail: nn.Module
    frozen: tuple[str, ...]
    trainable: bool
    slow: str = ""
    around: bool = False
    fresh_values: Mapping[str, Tensor] = field(default_factory=dict, repr=False)
    _kept: frozenset[str] = field(default=frozenset(), repr=False)
    _unread: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def cached(self) -> bool:
        """Whether the prefix computes what is frozen, so that its values can be kept."""
        return not self.slow

    @torch.no_grad()
    def reinitialize(self, fresh: Fresh, generator: torch.Generator) -> None:
        """Give everything in the tail that is not frozen a fresh value.

        Args:
            fresh: The source of the values. Those of a state are taken by their names in the model;
                what it lacks stays. Parameters that the model never reads stay if a rule does not
                write them.
            generator: The source of randomness.

        Raises:
            InputError: A rule does not write a parameter.
        """
        if isinstance(fresh, str):
            initialize(self.tail, fresh, generator, keep=self._kept, unread=self._unread)
            return
        state = fresh_state(fresh, generator)
        for name in self.fresh_values.keys() & state.keys():
            tensor = self.fresh_values[name]
            # A buffer of another shape holds what the model has worked out for its inputs' size.
            if tensor.shape == state[name].shape or isinstance(tensor, nn.Parameter):
                tensor.copy_(state[name])
