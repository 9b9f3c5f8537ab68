"""The analysis: the measurements of any number of runs, and the quantities derived from them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pandas as pd

from probe.answers.plain import plain
from probe.answers.record import Answer
from probe.answers.study import answers
from probe.answers.text import answer_sheet, answers_as_text, as_markdown
from probe.arguments import checked
from probe.arrays import Floats
from probe.errors import InputError, check_known
from probe.files import write_text
from probe.metrics.matrix import AccuracyMatrix
from probe.results.records import Records
from probe.tables.folder import Saved
from probe.tables.layer_text import pra_sheet
from probe.tables.matrices import Matrices
from probe.tables.note_text import note_sentences
from probe.tables.result_base import ResultBase
from probe.tables.schemas import Tables
from probe.tables.sheets import Sheet, as_html, as_latex, as_text, together
from probe.tables.table_file import where

KIND = "analysis"
"""The kind of a saved analysis."""

ONE_NETWORK = (
    "the intervals cover retrainings and test examples, not another training of the "
    "network"
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Analysis(ResultBase):
    """Measurements downstream of the features of networks; `print` shows them as tables.

    >>> import probe, torch
    >>> net = lambda: torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 2))
    >>> data = torch.randn(8, 4), torch.arange(8) % 2
    >>> result = probe.analyze({2: net()}, data, data, [[0], [1]], ["0"], readouts=["linear"])
    >>> result.matrix("0", "linear").values.shape, result.to_pandas("layers").shape[0] > 0
    ((3, 2), True)

    Attributes:
        tables_by_name: The tables by name, as in a run directory.
        records: The predictions, see `probe.predictions`; None if only the tables are
            known.

    Tables are pandas DataFrames with the columns of a study's tables, see
    `probe.tables.schemas`. Networks without a learner or order in their names have the
    learner `model` and the order "0"; the controls are the learners `untrained` and
    `offline`, of order "". The matrix of the output is R itself: single-head, where all
    classes seen so far compete, or multi-head for readouts that are fitted to each
    task.

    Intervals speak of these networks, over test examples, or from three seeds on of the
    way of training, over seeds and test examples. If the seeds are retrainings of the
    same networks, the intervals cover retrainings and the finite test set, not another
    training of the networks.
    """

    tables_by_name: Tables
    records: Records | None = None

    @property
    def R(self) -> AccuracyMatrix:  # noqa: N802, as the literature has it
        """The accuracy matrix of the networks themselves, (T+1, T), see `matrix`.

        Raises InputError for several learners: use `matrix` of the output for one of
        them.
        """
        return self._matrices.R(self._learner(None))

    @checked
    def matrix(
        self, feature: str, readout: str, learner: str | None = None
    ) -> AccuracyMatrix:
        """Return A[l, t, j] of a feature l, (T+1, T), by task position; NaN = not measured.

        A cell is the mean over the orders of a seed, then over seeds; row 0 is the
        floor. At the output it is R.

        Args:
            feature: The feature l.
            readout: The readout downstream of it.
            learner: The learner, needed if there are several.

        Raises:
            InputError: A name is unknown.
        """
        return self._matrices.matrix(self._learner(learner), feature, readout)

    @checked
    def ceiling(self, feature: str, readout: str, learner: str | None = None) -> Floats:
        """Return C[l, j] of a feature l, (T,), by task position; NaN without an offline model.

        Args:
            feature: The feature l.
            readout: The readout downstream of it.
            learner: The learner whose orders count; all learners of a study have the
                same.

        Raises:
            InputError: A name is unknown.
        """
        name = self.learners[0] if learner is None else self._learner(learner)
        return self._matrices.ceiling(name, feature, readout)

    def measurements(self) -> pd.DataFrame:
        """Return all measurements, a row for each, as in measurements.csv."""
        return self.tables_by_name["measurements"]

    def layers(self) -> pd.DataFrame:
        """Return the quantities of each layer (retained, forgotten, ...), by readout and feature.

        They are over all tasks and for each task position, see
        `probe.analysis.quantities`.
        """
        return self.tables_by_name["layers"]

    def causes(self) -> pd.DataFrame:
        """Return what the change of each layer accounts for, by task position, as in causes.csv."""
        return self.tables_by_name["causes"]

    def statements(self) -> pd.DataFrame:
        """Return the statements on each layer, with the interval that decides each."""
        return self.tables_by_name["statements"]

    def first_layers(self) -> pd.DataFrame:
        """Return for each statement the range that holds the first layer of which it is true."""
        return self.tables_by_name["first_layer"]

    def tables(self) -> Tables:
        """Return all tables, by their names in a run directory."""
        return self.tables_by_name

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Warnings on the meaning of the numbers."""
        return tuple(note_sentences(self.tables_by_name["notes"]))

    @property
    def learners(self) -> tuple[str, ...]:
        """The learners, without the controls, in the order of the rows."""
        return self._matrices.learners or self._matrices.levels

    @property
    def orders(self) -> tuple[str, ...]:
        """The orders of tasks, by name."""
        return self._matrices.orders

    @property
    def features(self) -> tuple[str, ...]:
        """The features, by depth."""
        return self._matrices.features

    @property
    def readouts(self) -> tuple[str, ...]:
        """The readouts trained downstream of the features, by name."""
        return self._matrices.readouts

    @property
    def seeds(self) -> int:
        """The number of seeds: of trainings, or of retrainings of networks in memory."""
        return len(self._matrices.seeds)

    @checked
    def latex(self, learner: str | None = None) -> str:
        r"""Return a LaTeX table of the answers: a line for each layer, with 95 % intervals.

        It needs `\usepackage{booktabs}`.

        Args:
            learner: The name of the learner; all by default.

        Raises:
            InputError: A name is unknown.
        """
        learners = self.learners if learner is None else (self._learner(learner),)
        return as_latex(together(self._sheets(learners)))

    def sheets(self) -> list[Sheet]:
        """Return the answers as tables of text; the PRA of layers where there is no answer."""
        return self._sheets(self.learners)

    def remarks(self) -> tuple[str, ...]:
        """Return the text printed above the tables: what the intervals cover, and the notes."""
        if self._of_one_network:
            return ONE_NETWORK, *self.notes
        return self.notes

    @checked
    def report(self, file: str | Path) -> None:
        """Write one HTML page that says which layer forgot what, with figures and tables.

        Args:
            file: The path of the page. The title is the file's name, or the folder's
                name for `report.html`.

        Raises:
            NotWritten: The page cannot be written.
        """
        # An arrow up, as that of `plot`.
        from figures.report.page import report

        path = Path(file)
        title = path.stem if path.stem != "report" else path.absolute().parent.name
        page = report(
            {title: self.tables()},
            {},
            caveats=(ONE_NETWORK,) if self._of_one_network else (),
        )
        write_text(path, page)

    def saved(self) -> Saved:
        """Return the contents of a folder that saves the analysis."""
        saved = Saved(kind=KIND, tables=self.tables_by_name)
        if self.records is None:
            return saved
        return replace(
            saved,
            record={"plan": self.records.plan.model_dump(mode="json")},
            arrays=self.records.to_arrays(),
        )

    @classmethod
    def of_saved(cls, saved: Saved) -> Self:
        """Restore an analysis from `saved`; raises KeyError, ValueError or TypeError otherwise."""
        records = None
        if saved.arrays:
            records = Records.from_saved(saved.record["plan"], saved.arrays)
        return cls(tables_by_name=saved.tables, records=records)

    @property
    def answers(self) -> list[Answer]:
        """The answer on each method: what it forgot, by whose change, and what is left."""
        return answers(self.tables())

    def to_markdown(self) -> str:
        """Return the answers as Markdown, for a README or a pull request."""
        return as_markdown(self.answers)

    def to_dict(self) -> dict[str, Any]:
        """Return the answers as plain values, which JSON can hold, by method; NaN is None."""
        return {answer.method: plain(asdict(answer)) for answer in self.answers}

    def __str__(self) -> str:
        answered = self.answers
        if not answered:
            return as_text(self.sheets(), self.remarks())
        lines = [answers_as_text(answered), ""]
        if self.notes:
            lines.append(f"notes ({len(self.notes)}): result.notes")
        lines.append("tables: result.to_pandas(NAME); a page: result.report(FILE)")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the first screen of the report, for notebooks."""
        from figures.report.page import first_screen

        return first_screen(self.tables(), as_html(self.sheets(), ()), self.remarks())

    def _sheets(self, learners: Sequence[str]) -> list[Sheet]:
        shown = [answer for answer in self.answers if answer.method in learners]
        if shown:
            return list(map(answer_sheet, shown))
        # Like a study with neither floor nor ceiling.
        return [pra_sheet(where(self.tables_by_name["summary"], learner=learners))]

    @cached_property
    def _matrices(self) -> Matrices:
        return Matrices(self.tables_by_name["measurements"])

    @property
    def _of_one_network(self) -> bool:
        """Whether the seeds are retrainings of the same network."""
        return (
            self.seeds > 1 and self.records is not None and self.records.of_one_training
        )

    def _learner(self, name: str | None) -> str:
        """Return the name of the requested learner; None = the only one."""
        learners = (*self._matrices.learners, *self._matrices.levels)
        if name is not None:
            check_known("method", name, learners, "in this analysis")
        if name is None and len(self.learners) != 1:
            raise InputError(
                "this analysis has the methods "
                f"{', '.join(self.learners) or '(none)'}: say which one, by "
                "learner=NAME"
            )
        return name or self.learners[0]
