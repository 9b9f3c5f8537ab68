"""Symmetric uncertainty and FCBF against their definitions and a plain loop; their table."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import mutual_info_score

from probe.errors import InputError
from probe.redundancy import fcbf
from probe.redundancy.fcbf import non_redundant, relevance, symmetric_uncertainty
from probe.redundancy.table import Redundancy, write_redundancy
from tests.probe.redundancy.test_bins import entropy


def uncertainty(x, y):
    """SU by Kemker 2018's eq. 5 to 8, with H(X|Y) as the mean over the values of Y."""
    given = 0.0
    for value in set(y.tolist()):
        same = y == value
        given += np.mean(same) * entropy(x[same])
    both = entropy(x) + entropy(y)
    if not both:
        return 0.0
    return 2 * (entropy(x) - given) / both


def plain_fcbf(
    codes,
    labels,
    threshold=0.0,
):
    """FCBF as a list from which elements are struck, after Yu & Liu 2003."""
    with_class = {}
    for f, x in enumerate(codes.T):
        with_class[f] = round(uncertainty(x, labels), 12)
    relevant = [f for f in with_class if with_class[f] > threshold]
    listed = sorted(relevant, key=lambda f: (-with_class[f], f))
    for p in list(listed):
        if p in listed:
            for f in listed[listed.index(p) + 1 :]:
                shared = uncertainty(codes[:, p], codes[:, f])
                if round(shared, 12) >= with_class[f]:
                    listed.remove(f)
    return listed


def some_codes(
    bins,
    examples,
    seed=0,
):
    """Features of those numbers of bins, and labels; each feature tells one of their two digits."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 12, examples)
    digits = np.stack([labels // 4, labels % 4], axis=1)
    digits = digits[:, np.arange(len(bins)) % 2]
    tells = rng.random(digits.shape) < rng.random(len(bins))
    noise = rng.integers(0, 1000, digits.shape)
    codes = np.where(tells, digits, noise)
    return codes % np.array(bins), labels


@pytest.mark.parametrize("bins", [[2, 5, 1, 3, 8, 2], [40, 2, 256, 1, 30, 7]])
def test_the_matrix_is_that_of_the_definition(bins):
    codes, labels = some_codes(bins, examples=300)
    plain = np.zeros((len(bins), len(bins)))
    for i, j in np.ndindex(*plain.shape):
        plain[i, j] = uncertainty(codes[:, i], codes[:, j])
    assert symmetric_uncertainty(codes) == pytest.approx(plain, abs=1e-11)
    with_class = np.array([uncertainty(x, labels) for x in codes.T])
    assert relevance(codes, labels) == pytest.approx(with_class, abs=1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_entropies_and_gain_are_those_of_scipy_and_scikit_learn(seed):
    """Kemker 2018's eq. 6 to 8; some bins have no example."""
    codes, labels = some_codes([5], examples=80, seed=seed)
    x = 2 * codes[:, 0]
    counts = np.bincount(x)
    bits = stats.entropy(counts, base=2)
    nats = mutual_info_score(x, labels)
    gain = nats / np.log(2)
    assert 0.01 < gain < bits - 0.01
    assert fcbf.entropy(x) == pytest.approx(bits)
    conditional = fcbf.conditional_entropy(x, labels)
    assert conditional == pytest.approx(bits - gain)
    assert fcbf.information_gain(x, labels) == pytest.approx(gain)


def test_a_gain_is_exactly_zero_of_independent_variables_and_all_of_a_copy():
    x = np.arange(21) // 3
    independent = np.arange(21) % 3
    assert fcbf.information_gain(x, independent) == 0
    assert fcbf.conditional_entropy(x, x) == 0
    gain = fcbf.information_gain(x, x)
    assert gain == pytest.approx(np.log2(7))
    with pytest.raises(InputError, match="21 examples, y has 1"):
        fcbf.information_gain(x, x[:1])


@pytest.mark.parametrize("threshold", [0.0, 0.02])
@pytest.mark.parametrize("seed", range(6))
def test_fcbf_is_the_plain_loop(seed, threshold):
    rng = np.random.default_rng(seed)
    bins = rng.integers(1, 12, 14)
    codes, labels = some_codes(bins, examples=120, seed=seed)
    selected = non_redundant(codes, labels, threshold)
    assert selected == plain_fcbf(codes, labels, threshold)
    assert 1 < len(selected) < 14


def test_of_two_features_that_are_the_class_one_is_redundant():
    labels = np.arange(30) % 3
    codes = np.stack([labels, labels], axis=1)
    assert non_redundant(codes, labels) == [0]


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
        between=np.array(
            [
                [1, 0, 0.25],
                [0, 0, 0],
                [0.25, 0, 1],
            ]
        ),
        selected=[2, 0],
    )
    path = write_redundancy(tmp_path, found)
    assert path.name == "toy.csv"
    assert path.read_text() == TEXT
