"""Measurements on a device that is not the CPU: the same numbers, of data on the device or not."""

from copy import deepcopy

import pandas as pd
import pytest
import torch
from torch import nn

import probe
from probe import Examples, Recipe
from probe.examples import join
from probe.memory import FileRows
from probe.readouts.lbfgs import LogisticLoss, minimize
from probe.training.loop import fit
from tests.laws.other_device import OtherDevice

TASKS = [[0, 1], [2, 3], [4, 5]]


def network():
    stem = nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU()
    return nn.Sequential(
        *stem,
        nn.Conv2d(8, 8, 3, 2, 1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32, 6),
    )


def data(examples):
    draw = torch.Generator().manual_seed(examples)
    return torch.randn(
        examples,
        3,
        8,
        8,
        generator=draw,
    ), torch.arange(examples) % 6


@pytest.fixture(scope="module")
def networks():
    torch.manual_seed(0)
    return {tasks_seen: network() for tasks_seen in (0, 2, 3)}


def tables(networks, device):
    networks = {t: deepcopy(network).to(device) for t, network in networks.items()}
    result = probe.analyze(
        networks, data(120), data(60), TASKS, ["2"], offline=deepcopy(networks[2]),
        readouts=["retrain", "linear", "linear-task", "ncm", "knn"],
        recipe=Recipe(epochs=2, batch_size=32),
    )  # fmt: skip
    tables = result.tables()
    # A small chain on a CPU is trained by passes written out, whose loss has other last
    # digits.
    return {
        n: t.drop(columns=["loss"], errors="ignore")
        for n, t in tables.items()
        if n != "times"
    }


@pytest.fixture(scope="module")
def expected(networks):
    return tables(networks, torch.device("cpu"))


@pytest.mark.parametrize("fits", [pytest.param(True, marks=pytest.mark.soak), False])
def test_an_analysis_on_another_device_gives_the_same_tables(
    networks,
    expected,
    fits,
    monkeypatch,
):
    copied = []
    monkeypatch.setattr("probe.examples._LARGE", 2**25 if fits else 0)
    for module in ("examples", "values.allocation"):
        monkeypatch.setattr(f"probe.{module}.free_memory", lambda _: 10**5)
    on = FileRows.on
    monkeypatch.setattr(
        FileRows, "on", lambda *rows: copied.append(on(*rows)) or copied[-1]
    )
    with OtherDevice() as there:
        elsewhere = tables(networks, there.device)
    assert bool(copied) != fits
    for name, table in expected.items():
        pd.testing.assert_frame_equal(table, elsewhere[name], rtol=1e-12)


def test_so_do_causes_by_example(networks):
    x, y = data(30)
    models = {1: networks[2], 2: networks[3]}

    def causes(device):
        at = {t: deepcopy(network) for t, network in models.items()}
        at[2].to(device)
        test = [(x[:15], y[:15].to(device)), (x[15:].to(device), y[15:])]
        return probe.causes(
            at,
            test,
            "loss",
            ["2", "4"],
        )

    expected = causes(torch.device("cpu"))
    with OtherDevice() as there:
        pd.testing.assert_frame_equal(causes(there.device), expected)


@pytest.mark.parametrize("has_data_there", [False, True])
def test_so_does_a_comparison_with_its_remedies(has_data_there):
    torch.manual_seed(1)
    before = network().eval()
    after = deepcopy(before)
    for parameter in after[6].parameters():
        parameter.data.neg_()
    after[0].bias.data += 0.1
    x, y = data(120)

    def compared(device):
        where = device if has_data_there else "cpu"
        sets = [
            (x[rows].to(where), y[rows].to(where))
            for rows in (slice(30), slice(30, 60), slice(60, 90), slice(90, 120))
        ]
        old, new, stored_old, stored_new = sets
        # Read from a file, the network before is on the CPU.
        return probe.diff(
            deepcopy(before),
            deepcopy(after).to(device),
            old,
            (new[0].cpu(), new[1].cpu()),
            train={"old": stored_old, "new": stored_new},
            blocks=["2", "4"],
        )

    here = compared(torch.device("cpu"))
    with OtherDevice() as there:
        elsewhere = compared(there.device)
    for name in ("causes", "changes", "remedies", "content", "examples"):
        table = getattr(here, name)
        assert len(table)
        pd.testing.assert_frame_equal(table, getattr(elsewhere, name), rtol=1e-12)


def waits(batch_size):
    """Train on rows that stay in the CPU's memory."""
    x, y = data(60)
    with OtherDevice() as there:
        rows = Examples(FileRows.of(x).on(there.device), y.to(there.device))
        model = network().to(there.device)
        there.waits.clear()
        fit(
            model,
            rows,
            Recipe(epochs=1, batch_size=batch_size),
            torch.Generator(),
        )
        return there.waits.total()


def test_no_step_waits_for_rows_outside_of_the_device():
    assert waits(12) == waits(60) > 0


def test_stored_samples_join_rows_outside_of_the_device():
    x, y = data(60)
    with OtherDevice() as there:
        rows = Examples(FileRows.of(x).on(there.device), y.to(there.device))
        # By the numbers of a draw, which is the CPU's.
        stored = rows.take(torch.arange(6))
        joined = join([stored, rows])
        assert type(joined.x) is FileRows
        assert joined.x[:9].cpu().equal(torch.cat([x[:6], x[:3]]))


def test_a_step_of_a_linear_fit_waits_once():
    x, y = data(120)
    with OtherDevice() as there:
        loss = LogisticLoss(
            x.flatten(1).to(there.device),
            y.to(there.device),
            6,
            1.0,
        )
        counts = []
        for steps in (1, 6):
            there.waits.clear()
            minimize(loss, 0.0, steps)
            counts.append(there.waits.total())
    assert counts[1] - counts[0] == 5
