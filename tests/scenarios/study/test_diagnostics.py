"""Diagnostics of a study against its checkpoints in plain numpy; batch norm's statistics."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from probe.seeding import stream
from probe.training.fresh_weights import initialize
from scenarios.data.datasets import limited, load
from scenarios.networks import mlp
from tests.scenarios.probed import FINETUNE, OFFLINE, UNTRAINED, counts, names, rows, value
from tests.scenarios.tiny_run import PROBED, Tiny, probed

Matrix = NDArray[np.float64]


def hidden(kept_study: Tiny, job: str, step: int) -> Matrix:
    """Return hidden1 of the test digits, (50, 256), of a network as its checkpoint has it."""
    model = mlp((1, 8, 8), 10)
    if job == UNTRAINED:
        initialize(model, "torch", stream(0, "init"))
    else:
        [path] = kept_study.root.glob(f"jobs/{job}/*/step-{step}.pt")
        model.load_state_dict(torch.load(path, weights_only=True))
    with torch.no_grad():
        return model[0](limited(load("digits"), 4, 5).test.x).double().numpy()


def plain_cka(x: Matrix, y: Matrix) -> float:
    """Debiased linear CKA by Song et al. 2007, eq. 5, with whole Gram matrices."""

    def hsic(a: Matrix, b: Matrix) -> float:
        K, L = a @ a.T, b @ b.T
        np.fill_diagonal(K, 0)
        np.fill_diagonal(L, 0)
        n, one = len(K), np.ones(len(K))
        both = np.trace(K @ L) + one @ K @ one * (one @ L @ one) / ((n - 1) * (n - 2))
        return float(both - 2 / (n - 2) * (one @ K @ L @ one)) / (n * (n - 3))

    return hsic(x, y) / (hsic(x, x) * hsic(y, y)) ** 0.5


def measured(kept_study: Tiny, job: str, measure: str, feature: str = "hidden1") -> float:
    learner = job.partition(".")[0]
    return value(kept_study, "diagnostics", learner=learner, feature=feature, measure=measure)


@pytest.mark.parametrize(
    ("job", "step", "peer", "of"),
    [
        (FINETUNE, 2, "step-1", (FINETUNE, 1)),
        (FINETUNE, 2, "untrained", (UNTRAINED, 0)),
        (FINETUNE, 2, "offline", (OFFLINE, 2)),
        (OFFLINE, 2, "untrained", (UNTRAINED, 0)),
    ],
)
def test_similarity_is_that_of_the_networks_in_the_checkpoints(
    kept_study: Tiny, job: str, step: int, peer: str, of: tuple[str, int]
) -> None:
    own, other = hidden(kept_study, job, step), hidden(kept_study, *of)
    assert plain_cka(own, own) == pytest.approx(1)
    found = measured(kept_study, job, f"cka.{peer}")
    assert found == pytest.approx(plain_cka(own, other), abs=1e-5)


@pytest.mark.parametrize(("job", "step"), [(FINETUNE, 2), (OFFLINE, 2), (UNTRAINED, 0)])
def test_dead_units_and_rank_are_those_of_the_last_network(
    kept_study: Tiny, job: str, step: int
) -> None:
    own = hidden(kept_study, job, step)
    assert measured(kept_study, job, "units") == own.shape[1] == 256
    assert measured(kept_study, job, "dead") == np.mean(np.ptp(own, axis=0) == 0)
    s = np.linalg.svd(own - own.mean(axis=0), compute_uv=False)
    p = s[s > 1e-12 * s[0]] / s.sum()
    assert measured(kept_study, job, "rank") == pytest.approx(
        np.exp(-(p * np.log(p)).sum()), rel=1e-4
    )


def test_every_network_is_compared_once_and_no_other_numbers_are_there(kept_study: Tiny) -> None:
    found = {
        (row["learner"], row["measure"], row["step"]) for row in rows(kept_study, "diagnostics")
    }
    own = {"units", "dead", "rank"}
    assert found == {
        *(("finetune", name, "2") for name in own | {f"cka.{p}" for p in ("step-1", *CONTROLS)}),
        *(("offline", name, "2") for name in own | {"cka.untrained"}),
        *(("untrained", name, "0") for name in own),
    }
    assert len(found) == len(rows(kept_study, "diagnostics"))


CONTROLS = ("untrained", "offline")


class Half(nn.Module):
    """The first half of a feature's units, the others dead."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x[:, :16], 0 * x[:, 16:]], 1)


def network(*behind: nn.Module) -> nn.Module:
    """Return a network of 32 units whose hidden1 ends in other modules."""
    first = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), *behind)
    second = nn.Sequential(nn.Linear(32, 32), nn.ReLU())
    return nn.Sequential(OrderedDict(hidden1=first, hidden2=second, output=nn.Linear(32, 10)))


def test_a_layer_half_of_which_is_dead_is_seen(
    fresh: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scenarios.study.learned.network_for", lambda *_: network(Half()))
    fresh.run(PROBED)
    for job in (FINETUNE, OFFLINE, UNTRAINED):
        assert measured(fresh, job, "dead") == 0.5
    monkeypatch.setattr("scenarios.study.learned.network_for", lambda *_: network(nn.Identity()))
    whole = Tiny(fresh.folder / "whole")
    whole.run(PROBED)
    assert measured(whole, FINETUNE, "dead") == 0


# Batch norm


@pytest.fixture(scope="module")
def normed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tiny, Tiny]:
    """The study of a network with batch norm, its statistics kept and also reestimated."""

    def build(name: str, x: Tensor, classes: int) -> nn.Module:
        return network(nn.BatchNorm1d(32), nn.ReLU())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scenarios.study.learned.network_for", build)
        folder = tmp_path_factory.mktemp("normed")
        kept, both = Tiny(folder / "kept"), Tiny(folder / "both")
        for tiny, how in ((kept, "kept"), (both, "reestimated")):
            tiny.run(probed(f'batch_norm = "{how}"\nbudget = [1, 2]'))
    return kept, both


def test_rows_of_reestimated_statistics_say_so_and_differ(normed: tuple[Tiny, Tiny]) -> None:
    kept, both = normed
    readouts = {"retrain", "retrain@2", "linear"}
    for tiny, found in ((kept, readouts), (both, readouts | {f"{r}+bn" for r in readouts})):
        assert {r["readout"] for r in rows(tiny, "rows") if r["readout"]} == found
        assert {r["readout"] for r in rows(tiny, "layers")} == found
    # The kept ones are there beside them, bit for bit.
    for job, own in names(kept).items():
        for part in own:
            if "diagnostics" not in part:
                assert (counts(kept, job, part) == counts(both, job, part)).all()
    tables = {
        name: counts(both, FINETUNE, f"row-2.hidden1.{name}") for name in ("linear", "linear+bn")
    }
    # Of its last task, those of the digits 0 to 4 are not what the statistics are of.
    assert (tables["linear"] != tables["linear+bn"]).any()
    # The untrained network's are of all training inputs already.
    own = [counts(both, UNTRAINED, f"row-0.hidden1.{name}") for name in ("linear", "linear+bn")]
    assert (own[0] == own[1]).all()
    # They are from the training inputs; not so in the first row of a learner, which is R's.
    floor, fresh = (counts(kept, job, "step-0") for job in (UNTRAINED, FINETUNE))
    assert (floor != fresh).any()
