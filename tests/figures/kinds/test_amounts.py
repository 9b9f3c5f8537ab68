"""Figures of amounts and of diagnostics where there are too few."""

import pytest

import figures
from figures.tables import StudyTables
from probe.errors import InputError
from tests.figures import invented, papers

LEARNERS = {"learners": invented.kinds(["er"])}
ONE_AMOUNT = {"layers": invented.layers(["er"], papers.FEATURES)} | LEARNERS
ONE_LAYER = {"diagnostics": invented.diagnostics(["er"], ["output"])} | LEARNERS


@pytest.mark.parametrize(
    ("kind", "tables"),
    [("budget", ONE_AMOUNT), ("repair", ONE_AMOUNT), ("diagnostics", ONE_LAYER)],
)
def test_one_amount_or_one_layer_is_no_figure(kind, tables):
    with pytest.raises(InputError, match=f"nothing to draw in figures.{kind}:"):
        getattr(figures, kind)(StudyTables(**tables))
