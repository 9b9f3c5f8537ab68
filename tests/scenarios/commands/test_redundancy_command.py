"""`probe redundancy`: what it prints and writes, and its mistakes."""

import numpy as np
import pytest

from probe.redundancy.bins import minimum_description
from probe.redundancy.fcbf import non_redundant, relevance, symmetric_uncertainty
from probe.redundancy.table import read_redundancy
from scenarios.data.datasets import load


def feature_file(path, seed=0):
    """Write 40 examples: two bits that are the class, one of them twice, and a constant."""
    y = np.random.default_rng(seed).permutation(np.arange(40) % 4)
    x = np.stack([y // 2, y % 2, 1 - y // 2, 0 * y], axis=1).astype(np.float32)
    path.parent.mkdir(exist_ok=True)
    np.savez(path, x_train=x, y_train=y, x_test=x, y_test=y)


def rows(out):
    return [line.split() for line in out.splitlines()]


def test_it_counts_writes_and_draws(probe, tmp_path):
    feature_file(tmp_path / "toy.npz")
    code, out, err = probe("redundancy digits toy.npz --out seen")
    assert (code, err) == (0, "")
    train = load("digits").train
    y = train.y.numpy()
    codes = minimum_description(train.x.flatten(1).numpy(), y)
    selected = non_redundant(codes, y)
    relevant = (relevance(codes, y) > 0).sum()
    share = f"{100 * len(selected) / 64:.1f}"
    assert ["digits", "64", str(relevant), str(len(selected)), share] in rows(out)
    assert ["toy", "4", "3", "2", "50.0"] in rows(out)

    digits = read_redundancy(tmp_path / "seen" / "digits.csv")
    assert digits.discretization == "MDL cuts"
    assert list(digits.selected) == selected
    assert (digits.between == symmetric_uncertainty(codes).round(4)).all()
    assert list(read_redundancy(tmp_path / "seen" / "toy.csv").selected) == [0, 1]

    written = sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "seen").iterdir())
    names = ("digits.csv", "redundancy.png", "redundancy.svg", "toy.csv")
    assert written == [f"seen/{name}" for name in names]
    assert set(out.split()) >= set(written)


def test_bins_of_equal_width_may_be_asked_for(probe, tmp_path):
    feature_file(tmp_path / "toy.npz")
    code, out, _ = probe("redundancy toy.npz --bins 5")
    assert code == 0
    assert "5 bins of equal width" in out
    assert read_redundancy(tmp_path / "runs/redundancy/toy.csv").bins.tolist() == [5, 5, 5, 1]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("redundancy digts", ["unknown data set 'digts'", "'digits'"]),
        ("redundancy mnist", ["mnist needs a data folder", "--data DIR"]),
        ("redundancy absent.npz", ["there is no feature file", "absent.npz"]),
        ("redundancy digits --bins 1", ["2 to 256 bins, not 1"]),
        ("redundancy a/toy.npz b/toy.npz", ["called alike (toy, toy)", "name each once"]),
    ],
)
def test_a_mistake_is_one_sentence_and_nothing_is_written(probe, tmp_path, line, words):
    feature_file(tmp_path / "a" / "toy.npz")
    feature_file(tmp_path / "b" / "toy.npz", seed=1)
    code, out, err = probe(line)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    for word in words:
        assert word in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
