"""What a study reports: choices that change its tables and figures, but no measurement."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict

from probe.errors import InputError
from probe.metrics.diaz_rodriguez import CRITERIA, W1, W2, W3, weights_by_criterion
from probe.metrics.task_counts import Mean
from scenarios.study.heads import Head

WEIGHTS = {"W1": W1, "W2": W2, "W3": W3}
"""The weightings of Diaz-Rodriguez 2018, which every study reports."""


_Weight = Annotated[float, Strict()]


def _heads(heads: tuple[Head, ...]) -> tuple[Head, ...]:
    if len(set(heads)) < len(heads):
        raise InputError(f"heads names each head once, got {', '.join(heads)}")
    return heads


def _weightings(weights: dict[str, tuple[float, ...]]) -> dict[str, tuple[float, ...]]:
    for name, values in weights.items():
        if name in WEIGHTS:
            raise InputError(f"{name} is a weighting of the paper: choose another name")
        if not re.fullmatch(r"[\w.+-]{1,80}", name):
            raise InputError(
                f"{name[:80]!r} is no name for a weighting: use letters, digits and .+-_, "
                f"80 at most"
            )
        weights_by_criterion(values)
    return weights


class ReportSpec(BaseModel):
    """heads: the heads to report, the first of them in the figures; weights: see below.

    mean: what accuracies are the mean over, test `examples` or `classes`; the latter is the
    mean-per-class accuracy of Kemker 2018. weights: by name, weightings of CLscore beside W1, W2
    and W3: seven numbers that sum to 1, in the order A, MS, SSS, CE, REM, BWT+, FWT.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    heads: Annotated[tuple[Head, ...], Field(min_length=1), AfterValidator(_heads)] = ("single",)
    mean: Mean = "examples"
    weights: Annotated[dict[str, tuple[_Weight, ...]], AfterValidator(_weightings)] = {}

    @property
    def weightings(self) -> dict[str, dict[str, float]]:
        """All weightings by name, the paper's first; each by criterion."""
        everything = {**WEIGHTS, **self.weights}
        return {name: dict(zip(CRITERIA, w, strict=True)) for name, w in everything.items()}
