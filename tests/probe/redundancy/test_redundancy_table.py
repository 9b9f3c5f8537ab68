"""Tables of redundancy: they read back as they were, but for decimals."""

import numpy as np
import pytest

from probe.errors import InputError
from probe.redundancy.table import Redundancy, read_redundancy, write_redundancy

TEXT = """\
discretization,feature,bins,selected,class,0,1,2
"2 bins, or so",0,2,2,0.1235,1,,
"2 bins, or so",1,1,,0,0,0,
"2 bins, or so",2,3,1,1,0.25,0,1
"""


def test_it_reads_back_up_to_4_decimals(tmp_path):
    D = 30
    values = np.random.default_rng(0).random((D, D))
    found = Redundancy(
        data="toy",
        discretization="MDL cuts",
        bins=np.arange(D) + 1,
        with_class=values[0],
        between=np.maximum(values, values.T),
        selected=[7, 29, 0],
    )
    again = read_redundancy(write_redundancy(tmp_path, found))
    assert (again.data, again.discretization) == ("toy", "MDL cuts")
    assert list(again.selected) == [7, 29, 0]
    assert (again.bins == found.bins).all()
    assert (again.with_class == found.with_class.round(4)).all()
    assert (again.between == found.between.round(4)).all()


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "toy.csv"
    with pytest.raises(InputError, match="run `probe redundancy` first"):
        read_redundancy(path)
    number, column = TEXT.replace("0.25", "much"), TEXT.replace("selected", "chosen")
    for text in ("", number, column, TEXT.removesuffix(",1\n") + "\n", TEXT.partition("\n")[0]):
        path.write_text(text)
        with pytest.raises(InputError, match=r"toy\.csv is not a table that `probe redundancy` w"):
            read_redundancy(path)
