"""What a recipe does to a training, against torch's optimizers in a plain loop; its batches."""

from itertools import chain

import pytest
import torch
from torch import nn
from torch.optim.lr_scheduler import (
    CosineAnnealingLR,
    LambdaLR,
    LinearLR,
    SequentialLR,
)

from probe.errors import InputError
from probe.examples import Examples
from probe.seeding import stream
from probe.training.early_stopping import EarlyStopping
from probe.training.loop import Objective, fit
from probe.training.optimizers import optimizer_ops, updates
from probe.training.recipe import Recipe, RecipeChanges

EPOCHS, SIZE, N = 4, 5, 21  # batches of 5, 5, 5 and 6
STEPS = EPOCHS * 4


def data():
    draw = stream(0, "data")
    x = torch.randn(N, 4, generator=draw, dtype=torch.float64)
    return Examples(x, torch.randint(3, (N,), generator=draw))


def network():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)).double()


def recipe(**given):
    return Recipe(
        **{
            "epochs": EPOCHS,
            "batch_size": SIZE,
            "learning_rate": 0.05,
            **given,
        }
    )


def weights(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def fitted(of, objective=None):
    model = network()
    fit(
        model,
        data(),
        of,
        stream(0),
        objective,
    )
    return weights(model)


def scheduler(of, optimizer, steps):
    """The same schedule by torch's own classes."""
    warm = round(of.warmup * steps)
    after = LambdaLR(optimizer, lambda step: 1.0)
    if of.schedule == "cosine":
        after = CosineAnnealingLR(optimizer, T_max=max(1, steps - warm))
    if not warm:
        return after
    first = LinearLR(optimizer, start_factor=1 / (warm + 1), total_iters=warm)
    return SequentialLR(optimizer, [first, after], milestones=[warm])


def plainly(of, made, **settings):
    """The same training as written by hand, with torch's unfused optimizer."""
    model = network()
    examples = data()
    generator = stream(0)
    optimizer = made(
        model.parameters(),
        lr=of.learning_rate,
        foreach=False,
        **settings,
    )
    schedule = scheduler(of, optimizer, STEPS)
    torch.randint(2**62, (), generator=generator)  # what seeds dropout
    for _ in range(EPOCHS):
        order = torch.randperm(N, generator=generator)
        for batch in (order[:5], order[5:10], order[10:15], order[15:]):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(
                model(examples.x[batch]), examples.y[batch]
            )
            loss.backward()
            if of.clip_norm is not None:
                nn.utils.clip_grad_norm_(model.parameters(), of.clip_norm)
            optimizer.step()
            schedule.step()
    return weights(model)


OPTIMIZERS = {
    "adam": (torch.optim.Adam, {}),
    "adamw": (torch.optim.AdamW, {"weight_decay": 0.0}),
    "nadam": (torch.optim.NAdam, {}),
    "sgd": (torch.optim.SGD, {}),
}
ALL = {
    "weight_decay": 0.1,
    "schedule": "cosine",
    "warmup": 0.25,
    "clip_norm": 0.05,
}
CASES = [
    *((name, given) for name in OPTIMIZERS for given in ({}, ALL)),
    *(("sgd", {name: value}) for name, value in {**ALL, "momentum": 0.9}.items()),
    ("sgd", {"momentum": 0.9, **ALL}),
]


@pytest.mark.parametrize(("name", "given"), CASES)
def test_a_training_is_that_of_torchs_own_optimizer_and_scheduler(name, given):
    """Fused kernels round otherwise, in float64 by a few units of 1e-16."""
    of = recipe(optimizer=name, **given)
    made, settings = OPTIMIZERS[name]
    settings = {
        **settings,
        **{n: given[n] for n in ("weight_decay", "momentum") if n in given},
    }
    got = fitted(of)
    torch.testing.assert_close(
        got,
        plainly(of, made, **settings),
        rtol=1e-9,
        atol=1e-11,
    )
    if given:
        assert (got - fitted(recipe(optimizer=name))).abs().max() > 1e-4


@pytest.mark.parametrize("optimizer", ["adam", "nadam", "sgd"])
@pytest.mark.parametrize("kind", [torch.bfloat16, torch.half])
def test_small_steps_of_weights_in_half_precision_add_up(kind, optimizer):
    """And begin again where an objective has changed the weights."""
    of = recipe(optimizer=optimizer, learning_rate=1e-4, clip_norm=1.0)
    trained = [nn.Parameter(torch.ones(3, dtype=d)) for d in (torch.float, kind)]
    steps = [updates([p], of, 400) for p in trained]
    for k in range(400):
        for p, step in zip(trained, steps, strict=True):
            p.grad = torch.tensor([1.0, -1.0, 0.0]).to(p)
            step()
            if k == 200:
                p.data.fill_(1)
    precise, half = trained
    assert half.equal(precise.to(kind))
    assert half[0] < 0.99


def test_what_the_settings_cost_by_hand():
    """The decay's and momentum's product, the norm's square and clipping's factor."""
    ops = {name: optimizer_ops(Recipe(optimizer=name)) for name in OPTIMIZERS}  # type: ignore[arg-type]
    assert ops == {
        "adam": 8,
        "adamw": 8,
        "nadam": 10,
        "sgd": 1,
    }
    for name, alone in ops.items():
        all_of_them = recipe(optimizer=name, **ALL)
        assert optimizer_ops(all_of_them) == alone + 1 + 2
    assert (
        optimizer_ops(recipe(momentum=0.9, optimizer="sgd", weight_decay=0.1))
        == 1 + 1 + 1
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("weight_decay", -0.1),
        ("weight_decay", float("inf")),
        ("momentum", 1.0),
        ("warmup", 1.0),
        ("clip_norm", 0.0),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(name, value):
    with pytest.raises(InputError, match=f"^{name}: "):
        Recipe(optimizer="sgd", **{name: value})
    with pytest.raises(InputError, match="'adamw'"):
        Recipe(momentum=0.9, optimizer="adamw")


class Visits(Objective):
    """Notes which examples each batch holds (their first input is their number)."""

    def __init__(self):
        self.batches = []

    def batch(self, x, y):
        self.batches.append(x[:, 0].int().tolist())
        return x, y


@pytest.mark.parametrize(
    ("n", "size", "expected"),
    [
        (10, 4, [4, 4, 2]),
        (9, 4, [4, 5]),
        (8, 4, [4, 4]),
        (3, 4, [3]),
        (1, 4, [1]),
        (3, 1, [1] * 3),
    ],
)
def test_every_epoch_visits_each_example_once(n, size, expected):
    """In a new order each time; a last batch of one joins the one before it."""
    x = torch.arange(n).float()[:, None].repeat(1, 4)
    spy = Visits()
    recipe = Recipe(epochs=2, batch_size=size)
    fit(
        nn.Linear(4, 3),
        Examples(x, torch.zeros(n).long()),
        recipe,
        stream(0),
        spy,
    )
    half = len(expected)
    assert [len(batch) for batch in spy.batches] == expected * 2
    first, second = (
        list(chain(*part)) for part in (spy.batches[:half], spy.batches[half:])
    )
    assert sorted(first) == sorted(second) == list(range(n))
    assert n < 8 or first != second


def test_a_learner_can_change_a_setting_to_zero():
    zero = {"weight_decay": 0.0, "warmup": 0.0}
    own = RecipeChanges(**zero).applied_to(Recipe(weight_decay=0.1, warmup=0.2))
    assert own == Recipe(**zero)


def stopped_plainly(patience, share, most):
    """Early stopping as written by hand: the best weights, and the number of epochs."""
    model = network()
    examples = data()
    generator = stream(0)
    order = torch.randperm(N, generator=generator)
    held_out = order[: round(share * N)]
    training = order[round(share * N) :].sort().values
    torch.randint(2**62, (), generator=generator)  # what seeds dropout
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05, foreach=False)
    best = weights(model)
    lowest = torch.inf
    waited = 0
    epochs = 0
    while epochs < most and waited < patience:
        for batch in training[torch.randperm(len(training), generator=generator)].split(
            SIZE
        ):
            optimizer.zero_grad()
            nn.functional.cross_entropy(
                model(examples.x[batch]), examples.y[batch]
            ).backward()
            optimizer.step()
        with torch.no_grad():
            loss = nn.functional.cross_entropy(
                model(examples.x[held_out]), examples.y[held_out]
            )
        epochs, waited = epochs + 1, waited + 1
        if loss < lowest:
            best = weights(model)
            lowest = loss
            waited = 0
    return best, epochs


@pytest.mark.parametrize(
    ("patience", "most"),
    [
        (1, 40),
        (3, 40),
        (40, 12),
    ],
)
def test_early_stopping_is_the_plain_loop(patience, most):
    """The same epoch and the same weights, of the epoch with the lowest loss held out."""
    model = network()
    steps = Objective()
    given = {
        "learning_rate": 0.05,
        "batch_size": SIZE,
        "patience": patience,
        "validation": 0.3,
    }
    fit(
        model,
        data(),
        Recipe(epochs=most, **given),
        stream(0),
        steps,
    )
    expected, epochs = stopped_plainly(patience, 0.3, most)
    torch.testing.assert_close(weights(model), expected, rtol=1e-9, atol=1e-11)
    assert len(steps.losses) - 1 == epochs
    assert (epochs < most) == (patience < 40)


def test_the_loss_held_out_is_a_mean_over_examples(monkeypatch):
    monkeypatch.setattr("probe.training.early_stopping._BATCH", 7)
    early = Recipe(epochs=2, patience=1, validation=0.3)
    stopping = EarlyStopping(data(), early, stream(0), Objective())
    model = network().requires_grad_(False)
    held_out = data().take(stopping._held_out)
    expected = nn.functional.cross_entropy(model(held_out.x), held_out.y)
    assert stopping._mean_loss(model) == pytest.approx(expected.item())


@pytest.mark.parametrize("iterations", [3, 4, 10])
def test_iterations_are_steps(iterations):
    """Of four an epoch; the last epoch may be a part."""
    spy = Visits()
    plain = Visits()
    fit(
        network(),
        data(),
        recipe(iterations=iterations),
        stream(0),
        spy,
    )
    fit(
        network(),
        data(),
        recipe(),
        stream(0),
        plain,
    )
    assert spy.batches == plain.batches[:iterations]
    assert len(spy.losses) == 1 + -(-iterations // 4)
    assert RecipeChanges(epochs=2).applied_to(recipe(iterations=3)) == recipe(epochs=2)


def test_a_single_example_is_not_held_out_and_of_three_at_most_two():
    early = Recipe(epochs=2, patience=1, validation=0.5)
    few = data().take(torch.zeros(1).long())
    fit(
        network(),
        few,
        early,
        stream(0),
        steps := Objective(),
    )
    assert len(steps.losses) == 3
    assert early.held_out(3) == 2


def test_early_stopping_takes_patience_and_a_share():
    for given in {"patience": 2}, {"validation": 0.2}:
        with pytest.raises(InputError, match="patience"):
            Recipe(**given)
