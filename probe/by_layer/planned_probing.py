"""The measurements of a plan, as plain data that can be read without the readouts' code."""

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt

from probe.rewinding.shapley import EXACT
from probe.validation import StrictModel


class PlannedReadout(StrictModel):
    """A readout and the steps at which it is measured.

    Attributes:
        steps: The numbers of tasks learned after which it is measured.
        settings: The settings of the readout by name.
        source: A hash of the code of a user-defined readout.
        task_aware: Whether it is fitted to each task separately and predicts only its
            classes.
    """

    steps: str | tuple[int, ...]
    settings: dict[str, Any] = Field(default_factory=dict)
    source: str | None = None
    task_aware: bool = False

    @property
    def has_controls(self) -> bool:
        """Whether it is measured on the untrained and the offline network, too."""
        return self.steps != "last" and (isinstance(self.steps, str) or 0 in self.steps)


Readouts = dict[str, PlannedReadout]
"""The readouts of a study by name; readouts not listed are not measured."""


_Multiple = Annotated[StrictInt, Field(le=10_000)]


class PlannedProbing(StrictModel):
    """The measurements downstream of the features of a study.

    Attributes:
        readouts: The readouts by name, with their steps.
        budget: Multiples of the retraining's epochs after which a retrained model is
            tested.
        batch_norm: The batch-norm statistics; `reestimated` also measures with
            statistics estimated on all tasks' training inputs, which shows how much
            accuracy is lost only by them.
        checkpoints: The checkpoints to keep; `needed` deletes all checkpoints of a job
            but the last once it is measured.
        diagnostics: Whether to measure dead units, rank and similarity.
        hybrids: The largest number of sets of blocks that are put back for each earlier
            task, to measure causes. If there are more sets, those of random orders are
            put back, see `probe.rewinding.shapley`. 0 = none.
        inherited: Whether to measure how much of what a readout shows as forgotten is
            due to the layer's own block, and how much to those upstream; None = only if
            that takes no more readouts than all other measurements.
        blocks: Patterns of names of parameters by block that is put back, such as
            `{"lstm 1": ["lstm.*_l0"]}`; None = a block for each feature.
        controls: The controls to measure; `exclusion` trains networks that never saw a
            task, `labels` also fits each readout to permuted labels; see
            `probe.results.controls`.
    """

    readouts: Readouts
    budget: Annotated[tuple[_Multiple, ...], Field(max_length=8)] = (1,)
    batch_norm: Literal["kept", "reestimated"] = "kept"
    checkpoints: Literal["needed", "all"] = "needed"
    diagnostics: StrictBool = True
    hybrids: Annotated[StrictInt, Field(ge=0, le=100_000)] = EXACT
    inherited: StrictBool | None = None
    blocks: dict[str, str | tuple[str, ...]] | None = None
    controls: tuple[Literal["exclusion", "labels"], ...] = ()

    @property
    def has_floor(self) -> bool:
        """Whether some readout is measured on untrained networks."""
        return any(readout.has_controls for readout in self.readouts.values())
