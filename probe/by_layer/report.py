"""The report: settings of tables and figures that change no measurement."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, Strict

from probe.errors import InputError
from probe.metrics.diaz_rodriguez import CRITERIA, WEIGHTS, CeForm, weights_by_criterion
from probe.metrics.task_predictions import Mean
from probe.validation import StrictModel

Head = Literal["single", "multi", "all"]
"""`single`: classes seen so far; `multi`: classes of the example's own task; `all`: every class."""


def _check_heads(heads: tuple[Head, ...]) -> tuple[Head, ...]:
    """Return the heads; raises InputError if one is named twice."""
    if len(set(heads)) < len(heads):
        raise InputError(
            f"heads must not repeat, got {', '.join(heads)}: name each head once"
        )
    return heads


def _check_weightings(
    weights: dict[str, tuple[float, ...]],
) -> dict[str, tuple[float, ...]]:
    """Return a user's weightings; raises InputError for the paper's names and wrong weights."""
    for name, values in weights.items():
        if name in WEIGHTS:
            raise InputError(
                f"{name} is one of the paper's weightings: choose another name"
            )
        if not re.fullmatch(r"[\w.+-]{1,80}", name):
            raise InputError(
                f"{name[:80]!r} is not a name: use up to 80 letters, digits and .+-_"
            )
        weights_by_criterion(values)
    return weights


_Weights = tuple[Annotated[float, Strict()], ...]


class ReportSpec(StrictModel):
    """Choice of the measurements that tables and figures show.

    Attributes:
        heads: The heads to report; figures show the first.
        mean: Whether accuracies are means over test `examples` or over `classes`, the
            mean-per-class accuracy of Kemker 2018.
        ce_epsilon: The epsilon of CE, 1 or more, against values very near 0.
        ce_form: The form of CE, of the `paper` or of its `poster`, which divides by 1 +
            Ops.
        weights: Weightings of CLscore besides W1, W2 and W3, by name: seven numbers
            that sum to 1, in the order A, MS, SSS, CE, REM, BWT+, FWT (Diaz-Rodriguez
            2018).
    """

    heads: Annotated[
        tuple[Head, ...], Field(min_length=1), AfterValidator(_check_heads)
    ] = ("single",)
    mean: Mean = "examples"
    ce_epsilon: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 1.0
    ce_form: CeForm = "paper"
    weights: Annotated[dict[str, _Weights], AfterValidator(_check_weightings)] = Field(
        default_factory=dict
    )

    @property
    def weightings(self) -> dict[str, dict[str, float]]:
        """All weightings by name, the paper's first; each by criterion."""
        weightings = WEIGHTS | self.weights
        return {
            name: dict(zip(CRITERIA, w, strict=True)) for name, w in weightings.items()
        }
