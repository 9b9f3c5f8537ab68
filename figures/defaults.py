"""The figures that are drawn for a study unless others are requested.

Eight kinds in all; `probe figures --only NAME` and `figures.NAME` draw the others.
There are two lists:

- if layers were measured: which change accounts for what was forgotten, which layers
  lack accuracy on which task, what retraining reaches, which tasks each layer favors,
  when accuracy was lost, the output;
- if only outputs were measured: the output and, but for Kemker's studies, forgetting
  against intransigence.

The output has one figure: `matrix` for few learners and tasks, `sessions` for many of
either, and for Kemker's studies.
"""

from figures.tables import StudyTables

_OF_LAYERS = ("causes", "layers", "depth", "bias", "time", "")
_OF_OUTPUTS = ("", "tradeoff")

_FEW_LEARNERS, _FEW_TASKS = 4, 10  # of which a matrix shows every number


def defaults(tables: StudyTables) -> list[str]:
    """Return the names of the figures for a study, the most telling first.

    A named figure may have nothing to draw.
    """
    deep = any(
        table["feature"].nunique() > 1 for table in (tables.summary, tables.layers)
    )
    shared = not deep and len(tables.metric("kemker", "omega_all")) > 0
    of_output = "matrix"
    if len(tables.matrices) > 1 and not tables.crowded:
        long = max(R.tasks for R in tables.matrices.values()) > _FEW_TASKS
        many = shared or long or len(tables.matrices) > _FEW_LEARNERS
        if many and len(tables.metric("kemker", "alpha_all[2]")):
            of_output = "sessions"
    names = _OF_LAYERS if deep else ("",) if shared else _OF_OUTPUTS
    return [name or of_output for name in names]
