"""`probe redundancy`: the counts it prints, and the files it writes."""

import numpy as np
import pandas as pd

from probe.redundancy.bins import minimum_description
from probe.redundancy.fcbf import non_redundant, relevance, symmetric_uncertainty
from scenarios.data.datasets import load


def test_it_counts_writes_and_draws(probe, tmp_path):
    """40 examples of two bits that are the class, one of them twice, and a constant."""
    y = np.random.default_rng(0).permutation(np.arange(40) % 4)
    x = np.stack([y // 2, y % 2, 1 - y // 2, 0 * y], axis=1).astype(np.float32)
    np.savez(tmp_path / "toy.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    code, out, err = probe("redundancy digits toy.npz --out seen")
    assert (code, err) == (0, "")
    train = load("digits").train
    y = train.y.numpy()
    codes = minimum_description(train.x.flatten(1).numpy(), y)
    selected = non_redundant(codes, y)
    relevant = (relevance(codes, y) > 0).sum()
    rows = [line.split() for line in out.splitlines()]
    share = f"{100 * len(selected) / 64:.1f}"
    assert ["digits", "64", str(relevant), str(len(selected)), share] in rows
    assert ["toy", "4", "3", "2", "50.0"] in rows
    digits = pd.read_csv(tmp_path / "seen" / "digits.csv")
    assert digits["selected"].dropna().sort_values().index.tolist() == selected
    lower = digits.iloc[:, 5:].fillna(0).to_numpy()
    assert (lower == np.tril(symmetric_uncertainty(codes).round(4))).all()
    assert pd.read_csv(tmp_path / "seen" / "toy.csv")["selected"][:2].tolist() == [1, 2]
    names = ["digits.csv", "redundancy.png", "redundancy.svg", "toy.csv"]
    assert sorted(path.name for path in (tmp_path / "seen").iterdir()) == names
    assert set(out.split()) >= {f"seen/{name}" for name in names}
    code, out, _ = probe("redundancy toy.npz --bins 5")
    assert code == 0
    assert "5 bins of equal width" in out
    assert pd.read_csv(tmp_path / "runs/redundancy/toy.csv")["bins"].tolist() == [
        5,
        5,
        5,
        1,
    ]
