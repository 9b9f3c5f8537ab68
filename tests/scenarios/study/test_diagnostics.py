"""Diagnostics of a study against its checkpoints in plain numpy; batch norm's statistics."""

from collections import OrderedDict

import numpy as np
import pytest
import torch
from torch import nn

from probe.seeding import stream
from probe.training.fresh_weights import initialize
from scenarios.data.datasets import limited, load
from scenarios.networks import mlp
from tests.laws.test_constants import debiased
from tests.scenarios.probed import FINETUNE, OFFLINE, UNTRAINED, names, predicted, rows
from tests.scenarios.tiny_run import Tiny, probed


def hidden(kept_study, job, tasks_seen):
    """Return hidden1 of the test digits, (50, 256), of a network as its checkpoint has it."""
    model = mlp((1, 8, 8), 10)
    if job == UNTRAINED:
        initialize(model, "torch", stream(0, "init"))
    else:
        [path] = kept_study.root.glob(f"jobs/{job}/*/after-{tasks_seen}.pt")
        model.load_state_dict(torch.load(path, weights_only=True)["state_dict"])
    with torch.no_grad():
        return model[0](limited(load("digits"), 4, 5).test.x).double().numpy()


def plain_cka(x, y):
    """Debiased linear CKA, with whole Gram matrices."""
    x, y = map(torch.from_numpy, (x, y))
    return debiased(x, y) / (debiased(x, x) * debiased(y, y)) ** 0.5


def rank(x):
    s = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
    p = s[s > 1e-12 * s[0]] / s.sum()
    return float(np.exp(-(p * np.log(p)).sum()))


# The peers of each job's last network.
PEERS = {
    (FINETUNE, 2): {
        "step-1": (FINETUNE, 1),
        "untrained": (UNTRAINED, 0),
        "offline": (OFFLINE, 2),
    },
    (OFFLINE, 2): {"untrained": (UNTRAINED, 0)},
    (UNTRAINED, 0): {},
}


@pytest.mark.parametrize(("job", "tasks_seen"), PEERS)
def test_diagnostics_are_those_of_the_networks_in_the_checkpoints(
    kept_study, job, tasks_seen
):
    """Once of each network, and there are no others."""
    own = hidden(kept_study, job, tasks_seen)
    expected = {
        "units": 256.0,
        "dead": np.mean(np.ptp(own, axis=0) == 0),
        "rank": rank(own),
    }
    dormant = np.abs(own).mean(axis=0) <= 0.025 * np.abs(own).mean()
    expected |= {"dormant": dormant.mean(), "width": 256.0}
    for peer, of in PEERS[job, tasks_seen].items():
        expected[f"cka.{peer}"] = plain_cka(own, hidden(kept_study, *of))
    found = rows(kept_study, "diagnostics", learner=job.partition(".")[0])
    assert {(row["feature"], row["tasks_seen"]) for row in found} == {
        ("hidden1", str(tasks_seen))
    }
    assert sorted(row["metric"] for row in found) == sorted(expected)
    measured = {row["metric"]: float(row["value"]) for row in found}
    assert measured == pytest.approx(expected, rel=1e-4)


def normed(name, x, classes):
    """Return a network with batch norm."""
    first = nn.Sequential(
        nn.Flatten(), nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU()
    )
    return nn.Sequential(OrderedDict(hidden1=first, output=nn.Linear(32, classes)))


def test_rows_of_reestimated_statistics_say_so_and_differ(tmp_path, monkeypatch):
    monkeypatch.setattr("scenarios.study.training.network_for", normed)
    kept = Tiny(tmp_path / "kept")
    both = Tiny(tmp_path / "both")
    kept.ran(probed('batch_norm = "kept"\nbudget = [1, 2]'))
    both.ran(probed('batch_norm = "reestimated"\nbudget = [1, 2]'))
    readouts = {"retrain", "retrain@2", "linear"}
    with_both = readouts | {f"{readout}+bn" for readout in readouts}
    for tiny, found in ((kept, readouts), (both, with_both)):
        longest = {readout for readout in found if readout.startswith("retrain@2")}
        for table, expected in (
            ("measurements", found | {""}),
            ("layers", found),
            ("retraining", longest),
        ):
            assert {row["readout"] for row in rows(tiny, table)} == expected
    # The kept ones are there beside them, bit for bit.
    for job, own in names(kept).items():
        for name in own:
            if not name.startswith(("diagnostics", "rewound")):
                assert (predicted(kept, job, name) == predicted(both, job, name)).all()
    linear = ("linear", "linear+bn")
    after = [predicted(both, FINETUNE, f"{name} of hidden1 after 2") for name in linear]
    # Of its last task, those of the digits 0 to 4 are not what the statistics are of.
    assert (after[0] != after[1]).any()
    # The untrained network's are of all training inputs already.
    own = [predicted(both, UNTRAINED, f"{name} of hidden1 after 0") for name in linear]
    assert (own[0] == own[1]).all()
    # They are from the training inputs; not so in the first row of a learner, which is
    # R's.
    floor, fresh = (
        predicted(kept, job, "output after 0") for job in (UNTRAINED, FINETUNE)
    )
    assert (floor != fresh).any()
