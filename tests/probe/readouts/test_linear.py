"""The linear probe against scikit-learn: objective, predictions, what must make a difference."""

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from probe.readouts import linear
from probe.readouts.linear import fit_linear
from probe.readouts.pooling import Pooling
from probe.readouts.readout import Linear


def digits(n=None):
    x, y = load_digits(return_X_y=True)
    return torch.from_numpy(x[:n]).float(), torch.from_numpy(y[:n])


def drawn(n, width, classes, seed=0):
    """Return correlated features on scales from 1e-4 to 1e4, one constant, with noisy labels."""
    draw = torch.Generator().manual_seed(seed)
    hidden = torch.randn(n, width, generator=draw)
    mixed = (
        hidden
        @ torch.randn(width, width, generator=draw)
        * torch.logspace(-4, 4, width)
    )
    mixed = mixed + 10 * mixed.std(0)
    mixed[:, 1] = 7.1
    noise = torch.randn(n, classes, generator=draw)
    y = (hidden[:, :classes] + noise).argmax(1)
    return mixed, y


def objective(x, y, weight, bias, C):
    """Return the objective in float64, from its definition."""
    logits = x @ weight.T + bias
    chosen = logits[np.arange(len(y)), y.numpy()]
    return float(C * (logsumexp(logits, axis=1) - chosen).sum() + (weight**2).sum() / 2)


def of_sklearn(x, y, C=1.0):
    """Return scikit-learn's objective, its standardised data, and its model."""
    scaled = StandardScaler().fit_transform(x.double().numpy())
    model = LogisticRegression(
        C=C,
        tol=1e-10,
        max_iter=100_000,
    ).fit(scaled, y.numpy())
    return (
        objective(
            scaled,
            y,
            model.coef_,
            model.intercept_,
            C,
        ),
        scaled,
        model,
    )


CASES = {
    "digits": digits(500),
    "badly scaled": drawn(500, 40, 5),
    "fewer examples than features": drawn(60, 150, 4),
    "as many": drawn(100, 100, 3),
}


@pytest.mark.parametrize("C", [0.01, 100.0])
@pytest.mark.parametrize("case", CASES)
def test_the_objective_is_scikit_learns(case, C):
    x, y = CASES[case]
    classes = int(y.max()) + 1
    expected, scaled, _ = of_sklearn(x, y, C)
    model = fit_linear(
        x,
        y,
        classes,
        C,
        tolerance=1e-9,
    )
    assert model.converged
    assert model.notes == ()
    own = objective(
        scaled,
        y,
        model.weight.numpy(),
        model.bias.numpy(),
        C,
    )
    assert own == pytest.approx(expected, rel=1e-6)
    assert model.value == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("C", "more"),
    [
        (0.01, 2e-3),
        (1.0, 2e-3),
        (100.0, 5e-3),
    ],
)
def test_at_the_default_tolerance_predictions_have_settled(C, more):
    """The objective is near its minimum, from above, and the classes are scikit-learn's."""
    x, y = digits()
    train, test = torch.randperm(
        len(x), generator=torch.Generator().manual_seed(0)
    ).split(1200)
    least, _, theirs = of_sklearn(x[train], y[train], C)
    scaler = StandardScaler().fit(x[train].double().numpy())
    expected = torch.from_numpy(
        theirs.predict(scaler.transform(x[test].double().numpy()))
    )
    model = fit_linear(
        x[train],
        y[train],
        10,
        C,
    )
    assert model.converged
    assert model.remaining <= linear.TOLERANCE
    assert least * (1 - 1e-6) <= model.value <= least * (1 + more)
    assert (model.predict(x[test]) == expected).double().mean() >= 0.99


def test_classes_without_examples_are_left_out():
    x, y = CASES["badly scaled"]
    spread = torch.tensor([1, 3, 4, 7, 8])[y]
    few = fit_linear(x, y, 5)
    many = fit_linear(x, spread, 10)
    assert many.value == few.value
    assert torch.equal(many.weight[[1, 3, 4, 7, 8]], few.weight)
    assert many.bias[[0, 2, 5, 6, 9]].tolist() == [-torch.inf] * 5
    assert set(many.predict(x).tolist()) <= {1, 3, 4, 7, 8}


def test_a_single_class_is_predicted_and_said():
    x, _ = CASES["as many"]
    model = fit_linear(x, torch.full((100,), 2), 4)
    assert set(model.predict(x).tolist()) == {2}
    assert "all training examples are of class 2" in model.notes[0]


def test_two_classes_are_scikit_learns_with_twice_c():
    x, y = CASES["as many"]
    y = (y > 0).long()
    scaled = StandardScaler().fit_transform(x.double().numpy())
    theirs = LogisticRegression(
        C=2.0,
        tol=1e-10,
        max_iter=100_000,
    ).fit(scaled, y.numpy())
    ours = fit_linear(
        x,
        y,
        2,
        tolerance=1e-9,
    )
    both = (ours.weight[1] - ours.weight[0]).numpy()
    np.testing.assert_allclose(both, theirs.coef_[0], atol=2e-3 * np.abs(both).max())


def test_dead_and_repeated_units_change_nothing():
    """Their eigenvalues are all the same, and LAPACK's eigenvectors in float32 were NaN."""
    x, y = digits()
    spread = torch.relu(
        x @ torch.randn(64, 256, generator=torch.Generator().manual_seed(0)) / 8
    )
    dead = torch.cat(
        [
            spread,
            torch.zeros(len(x), 400),
        ],
        1,
    )
    alive = fit_linear(spread, y, 10)
    with_dead = fit_linear(dead, y, 10)
    assert with_dead.converged
    assert with_dead.weight[:, 256:].abs().max() < 1e-5
    assert with_dead.value == pytest.approx(alive.value, rel=1e-3)
    twice = fit_linear(
        torch.cat(
            [
                x,
                x,
            ],
            1,
        ),
        y,
        10,
        0.5,
        tolerance=1e-9,
    )
    # Half the weight on each of two copies costs half the penalty.
    once = fit_linear(
        x,
        y,
        10,
        1.0,
        tolerance=1e-9,
    )
    assert twice.value == pytest.approx(once.value / 2, rel=1e-6)


def test_a_weak_penalty_converges_to_scikit_learns_predictions():
    """Parameters are float64: float32 would stall long before."""
    x, y = CASES["fewer examples than features"]
    _, scaled, theirs = of_sklearn(x, y, 1e4)
    ours = fit_linear(x, y, 4, 1e4)
    assert ours.converged
    assert (ours.predict(x).numpy() == theirs.predict(scaled)).mean() >= 0.99


def test_what_has_not_converged_is_said(monkeypatch):
    monkeypatch.setattr(linear, "_MOST", 3)
    x, y = digits()
    model = fit_linear(x, y, 10)
    assert (model.converged, model.iterations) == (False, 3)
    assert "had not converged after 3 iterations" in model.notes[0]


def test_its_settings_of_wide_features_are_those_of_the_pooling():
    settings = {
        "pool": "mean",
        "width": 7,
        "channels": "last",
    }
    assert Linear(**settings).pooling == Pooling(**settings)
