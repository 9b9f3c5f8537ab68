"""Constants at which work is cut into blocks or rounded: on both sides as without blocks."""

import numpy as np
import pytest
import torch
from sklearn.preprocessing import StandardScaler
from torch import nn

from probe.analysis.similarity import Compared
from probe.analysis.units import effective_rank
from probe.examples import Examples
from probe.readouts.linear import fit_linear
from probe.readouts.standardization import standardization
from probe.redundancy.fcbf import _by_counting, _by_products
from probe.seeding import stream
from probe.training.batch_norm import reestimate
from probe.training.loop import fit
from probe.training.optimizers import rate_at
from probe.training.recipe import Recipe
from tests.laws.reference import train


def numbers(*shape, seed=0, dtype=torch.float32):
    return torch.randn(
        *shape,
        generator=stream(seed, "numbers"),
        dtype=dtype,
    )


@pytest.mark.parametrize(
    ("warmup", "steps", "warm"),
    [
        (0.1, 4, 0),
        (0.1, 6, 1),
        (0.3, 5, 2),
        (0.5, 7, 4),
        (0.25, 8, 2),
        (0.9, 11, 10),
    ],
)
def test_the_warm_up_has_the_nearest_number_of_steps(warmup, steps, warm):
    recipe = Recipe(learning_rate=2.0, warmup=warmup)
    rates = [rate_at(recipe, step, steps) for step in range(steps)]
    rising = [2.0 * (step + 1) / (warm + 1) for step in range(warm)]
    assert rates == pytest.approx([*rising, *[2.0] * (steps - warm)])


def debiased(x, y):
    """The unbiased HSIC by whole Gram matrices (Song et al. 2012, equation 5)."""
    n = len(x)
    K, L = ((z.double() @ z.double().T).fill_diagonal_(0) for z in (x, y))
    total = (K * L).sum() + K.sum() * L.sum() / ((n - 1) * (n - 2))
    return float(total - 2 / (n - 2) * (K.sum(0) @ L.sum(0)))


@pytest.mark.parametrize(
    ("n", "width"), [(1024, 6), (1025, 6), (2500, 6), (1025, 2200)]
)
def test_similarity_in_blocks_is_that_of_whole_gram_matrices(n, width):
    x = numbers(n, width) + 3
    y = torch.cat([x[:, : width // 2].square(), numbers(n, width // 2, seed=1)], 1)
    expected = debiased(x, y) / np.sqrt(debiased(x, x) * debiased(y, y))
    assert Compared(x).cka(y) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("shape", [(40, 9), (9, 40), (2, 3), (30, 30)])
def test_the_effective_rank_of_equal_singular_values_is_their_number(shape):
    n, D = shape
    for k in range(1, min(n - 1, D) + 1, 3):
        centred = torch.eye(n, dtype=torch.float64) - 1 / n
        left = torch.linalg.eigh(centred).eigenvectors[:, n - k :]
        right = torch.linalg.qr(numbers(D, D, dtype=torch.float64)).Q[:k]
        assert effective_rank(7 * left @ right + 5) == pytest.approx(k, rel=1e-9)


@pytest.mark.parametrize("n", [1091, 1093, 3000])
def test_columns_are_standardized_as_scikit_learn_does(n):
    """Of 30 columns 1,092 rows are one piece."""
    x = numbers(n, 30) * torch.arange(1, 31) + 1000
    expected = StandardScaler().fit_transform(x.double().numpy())
    np.testing.assert_allclose(standardization(x)(x).numpy(), expected, atol=2e-3)


def test_a_linear_probe_of_all_data_twice_at_half_the_weight_is_the_same():
    """Twice the data are cut into chunks; more than 8,192 are predicted."""
    x = numbers(9000, 70)
    y = torch.arange(9000) % 3
    x[:, :3] += torch.eye(3)[y]
    once = fit_linear(x, y, 3, C=0.02, tolerance=1e-9)
    twice = fit_linear(
        x.repeat(2, 1),
        y.repeat(2),
        3,
        C=0.01,
        tolerance=1e-9,
    )
    torch.testing.assert_close(
        twice.weight,
        once.weight,
        rtol=1e-3,
        atol=1e-5,
    )
    logits = once.standard(x).double() @ once.weight.T + once.bias
    assert (once.predict(x) == logits.argmax(1)).float().mean() > 0.999


@pytest.mark.parametrize(("n", "batches"), [(255, 1), (511, 1), (512, 2), (1000, 3)])
def test_statistics_of_batch_norm_are_means_over_nearly_equal_batches(n, batches):
    x = numbers(n, 3) * torch.linspace(1, 9, n)[:, None]
    norm = nn.BatchNorm1d(3)
    reestimate(norm, x)
    order = torch.randperm(n, generator=stream(0, "batch norm"))
    parts = [x[part] for part in np.array_split(order.numpy(), batches)]
    for name, each in (
        ("mean", [p.mean(0) for p in parts]),
        ("var", [p.var(0) for p in parts]),
    ):
        expected = torch.stack(each).mean(0)
        torch.testing.assert_close(
            getattr(norm, f"running_{name}"),
            expected,
            rtol=1e-5,
            atol=1e-5,
        )


@pytest.mark.parametrize("n", [1024, 1025, 2500])
def test_joint_entropies_by_products_are_those_of_counts(n):
    codes = np.random.default_rng(n).integers(0, (2, 300, 7, 400, 3), size=(n, 5))
    bins = codes.max(axis=0) + 1
    got, expected = (f(codes, bins, 3) for f in (_by_products, _by_counting))
    upper = np.triu(np.ones((3, 5), dtype=bool))
    np.testing.assert_allclose(got[upper], expected[upper], rtol=1e-12)


def test_batches_that_are_gathered_together_are_those_of_a_plain_loop():
    """An example has 24,000 bytes, so that six batches of seven are gathered at once."""
    x = numbers(100, 6000)
    y = torch.arange(100) % 2
    recipe = Recipe(
        epochs=2,
        batch_size=7,
        optimizer="sgd",
        learning_rate=0.01,
    )
    model = nn.Linear(6000, 2)
    plain = nn.Linear(6000, 2)
    plain.load_state_dict(model.state_dict())
    fit(model, Examples(x, y), recipe, stream(0))
    train(plain, x, y, recipe, stream(0))
    torch.testing.assert_close(
        model.weight,
        plain.weight,
        rtol=1e-4,
        atol=1e-5,
    )
