"""Tables of redundancy: their numbers, but for decimals."""

import numpy as np

from probe.redundancy.table import Redundancy, write_redundancy

TEXT = """\
discretization,feature,bins,selected,class,0,1,2
"2 bins, or so",0,2,2,0.1235,1,,
"2 bins, or so",1,1,,0,0,0,
"2 bins, or so",2,3,1,1,0.25,0,1
"""


def test_a_table_has_a_row_for_each_feature_and_the_lower_half_of_the_matrix(tmp_path):
    found = Redundancy(
        data="toy",
        discretization="2 bins, or so",
        bins=np.array([2, 1, 3]),
        with_class=np.array([0.12346, 0, 1]),
        between=np.array([[1, 0, 0.25], [0, 0, 0], [0.25, 0, 1]]),
        selected=[2, 0],
    )
    path = write_redundancy(tmp_path, found)
    assert (path.name, path.read_text()) == ("toy.csv", TEXT)
