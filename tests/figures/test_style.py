import matplotlib

import figures
from figures import style
from figures.tables import StudyTables
from tests.figures import invented

TABLES = StudyTables(metrics=invented.metrics(["er"], tasks=2))


def test_drawing_and_saving_leave_matplotlibs_settings_alone_and_do_not_depend_on_them(
    tmp_path,
):
    first = style.save(figures.tradeoff(TABLES), tmp_path / "a", "one")
    with matplotlib.rc_context(
        {"font.size": 23.0, "savefig.dpi": 50, "axes.facecolor": "red"}
    ):
        before = dict(matplotlib.rcParams)
        second = style.save(figures.tradeoff(TABLES), tmp_path / "b", "one")
        assert dict(matplotlib.rcParams) == before
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]
