"""Figures of amounts and of diagnostics where there are too few."""

import pytest

import figures
from figures.tables import StudyTables
from probe.errors import InputError
from tests.figures import invented, papers

ONE_AMOUNT = {"layers": invented.layers(["er"], papers.FEATURES)}
ONE_LAYER = {"diagnostics": invented.diagnostics(["ewc"], ["output"])}


@pytest.mark.parametrize(
    ("kind", "tables"),
    [("budget", ONE_AMOUNT), ("repair", ONE_AMOUNT), ("diagnostics", ONE_LAYER)],
)
def test_one_amount_or_one_layer_is_no_figure(kind, tables):
    with pytest.raises(InputError, match=rf"figures\.{kind}"):
        getattr(figures, kind)(StudyTables(**tables))
