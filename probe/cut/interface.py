"""The interface of a cut: everything that the rest of the package uses.

A `Cut` has facts and two parts, and can be made again for other data. `probe.cut.cuts`
makes all cuts of one network, `Cuts`, which compute their values and features in one
pass.
"""

from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

import torch
from torch import nn

from probe.arguments import checked
from probe.batch import Named, Value
from probe.cut.batch_dimension import Axis as Axis, TensorFacts as TensorFacts
from probe.errors import unknown
from probe.immutable import immutable
from probe.training.fresh_weights import Fresh, fresh_state, initialize

Trainable = Literal["tail", "as given"]
"""The parameters to train downstream of a feature: all, or only those the user has not frozen."""


def check_trainable(trainable: str) -> None:
    """Raise InputError for an unknown choice of the parameters to train."""
    if not isinstance(trainable, str) or trainable not in get_args(Trainable):
        raise unknown("choice of what is trainable", trainable, get_args(Trainable))


@dataclass(frozen=True, eq=False)
class Split:
    """A copy of a model, cut at a feature: tail(prefix(x)) is model(x), bit for bit.

    Attributes:
        feature: Name of the feature.
        prefix: The module that maps inputs x (B, ...) to the tail's input, one tensor
            (B, ...) or several; always in eval mode and without gradients.
        tail: The module that maps the prefix's output to the logits (B, K); it is
            re-initialized and trained.
        frozen: Names, in the model, of the parameters and buffers that the feature's
            value depends on, which no training of the tail changes.
        trainable: Whether the output depends on any parameter that is trained in the
            tail; False for a cut at the model's own output.
        slow: The reason why the model could not be cut, empty if it was. Without a cut,
            the prefix is the identity, and the tail is the whole model with the frozen
            part held fixed.
        around: Whether the code of the modules around the feature stays in eval mode
            too, as in training mode it would change the feature or the way in which it
            is computed.
        fresh_values: The tensors to re-initialize, of any shape, by their names in the
            model.
    """

    feature: str
    prefix: nn.Module
    tail: nn.Module
    frozen: tuple[str, ...]
    trainable: bool
    slow: str = ""
    around: bool = False
    fresh_values: Named = field(default_factory=dict, repr=False)
    _kept: frozenset[str] = field(default=frozenset(), repr=False)
    _unread: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def cached(self) -> bool:
        """Whether the prefix computes the frozen part, so that its values can be cached."""
        return not self.slow

    @torch.no_grad()
    @checked
    def reinitialize(self, fresh: Fresh, generator: torch.Generator) -> None:
        """Give everything in the tail that is not frozen a fresh value.

        Args:
            fresh: The source of the values. From a state, values are taken by their
                names in the model, and tensors that it lacks stay unchanged. With a
                rule, parameters that the model never reads stay unchanged if the rule
                does not write them.
            generator: The source of randomness.

        Raises:
            InputError: A rule does not write a parameter.
        """
        if isinstance(fresh, str):
            initialize(
                self.tail, fresh, generator, keep=self._kept, unread=self._unread
            )
            return
        state = fresh_state(fresh, generator)
        for name in self.fresh_values.keys() & state.keys():
            tensor = self.fresh_values[name]
            # A buffer of another shape holds what the model has worked out for its
            # inputs' size.
            if tensor.shape == state[name].shape or isinstance(tensor, nn.Parameter):
                tensor.copy_(state[name])


@immutable
class CutFacts:
    """Facts about the cut of a network at a feature.

    Attributes:
        name: Name of the feature.
        position: Position of the feature among all runs of modules, in the order in
            which they end.
        frozen: Names of the parameters and buffers that the feature's value depends on.
        trained: Names of the parameters downstream that the logits depend on and that
            are trained.
        slow: The reason why the whole model has to be run, empty if its prefix is
            cached.
        around: The reason why the code around the feature stays in eval mode, empty if
            it does not.
        is_output: Whether the feature is the logits.
        random_downstream: Whether something downstream is random in eval mode too.
        work: Floating-point operations of one pass until the feature.
        value: The tensors of the feature's own value that have a row for each example.
        kept: The tensors that the prefix returns.
        inputs: The model's input, its tensors with no examples.
        logits_shape: The shape of the model's output for `examples` examples.
        examples: The number of examples on which the model was traced.
    """

    name: str
    position: int
    frozen: frozenset[str]
    trained: frozenset[str]
    slow: str
    around: str
    is_output: bool
    random_downstream: bool
    work: int
    value: tuple[TensorFacts, ...]
    kept: tuple[TensorFacts, ...]
    inputs: Value = field(repr=False)
    logits_shape: tuple[int, ...]
    examples: int


class Cut(Protocol):
    """A cut of a network at one feature."""

    @property
    def facts(self) -> CutFacts:
        """The facts about the cut, which can be pickled."""

    def split(self) -> Split:
        """Return the prefix and the tail; the tail has its own copy of the parameters."""

    def again(self, x: Value, reason: str = "", whole: bool = False) -> "Cut":
        """Cut again, for data that this cut does not fit.

        If the whole model has to be run, the feature is found again on examples from
        all x, as the path through a model may depend on the data.

        Args:
            x: The training inputs, one or more tensors (N, ...).
            reason: Why this cut does not fit, as the end of a sentence; empty if it
                fits.
            whole: Whether to run the whole model without trying another cut first.

        Returns:
            The new cut.
        """
