"""The face of a cut: all that the rest of the package sees of it.

A `Cut` has its facts, its two parts, and can be made again. `probe.cut.cuts` makes the cuts of one
network, `Cuts`, whose values and features come from one pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

import torch

from probe.batch import Value
from probe.cut.batch_dimension import BatchedShape
from probe.cut.split import Split

Axis = Literal["first", "last"]
"""`first`: (B, C, positions ...), as of convolutions; `last`: (B, positions ..., C), as of linear
layers. Wherever the examples lie: that is known besides, see `probe.cut.batch_dimension`."""


@dataclass(frozen=True)
class TensorFacts:
    """A tensor of a feature's value, or one that a cut keeps.

    - shape: for any batch size, with one example's; None where it has no row for each example;
    - seen_shape: its shape when the model was followed on `CutFacts.examples` examples;
    - dtype: its type;
    - axis: of its channels, None where no layer tells;
    - input_index: the tensor of the model's input that it is, unchanged; None if it is none.
    """

    shape: BatchedShape | None
    seen_shape: tuple[int, ...]
    dtype: torch.dtype
    axis: Axis | None = None
    input_index: int | None = None


@dataclass(frozen=True, kw_only=True)
class CutFacts:
    """Facts about the cut of a network at a feature.

    - name: of the feature; position: among all runs of modules, in the order in which they end;
    - frozen, trained: names of the parameters and buffers that the feature depends on, and of the
      parameters downstream that the logits depend on and that are trained;
    - slow: the reason for running the whole model, empty if its prefix is cached;
    - around: the reason for keeping the code around the feature in eval mode, empty if it is not;
    - is_output: whether the feature is the logits;
    - random_downstream: whether what is downstream draws at random in eval mode too;
    - work: floating-point operations of one pass until the feature;
    - value, kept: the tensors of the feature's own value, and those that the prefix gives;
    - inputs: the model's input, its tensors with no examples;
    - logits_shape: of the model's output, for this number of examples.
    """

    name: str
    position: int
    frozen: tuple[str, ...]
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
        """Its facts, which pickle."""

    def split(self) -> Split:
        """Return prefix and tail, the tail with parameters of its own."""

    def again(self, x: Value, reason: str = "", whole: bool = False) -> Cut:
        """Return the cut for data on which this one does not do.

        Where it runs the whole model, the feature is found again on examples from all x, as the
        path through a model may depend on the data.

        Args:
            x: The training inputs, one or more tensors (N, ...).
            reason: The reason why this cut does not do, the end of a sentence; empty if it does.
            whole: Whether to run the whole model at once.
        """
