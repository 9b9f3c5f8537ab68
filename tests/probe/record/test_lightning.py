"""The Lightning callback in real trainers: R, networks, and a training that does not notice it."""

import warnings

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from probe.errors import InputError
from probe.record.recorder import Recorder
from tests.probe.record.tiny import (
    TASKS,
    accuracies,
    assert_unnoticed,
    examples,
    network,
)

lightning = pytest.importorskip(
    "lightning", reason="the extra lightning is not installed"
)

from probe.record.plugins.lightning import ForgettingProbe  # noqa: E402


class Module(lightning.LightningModule):
    def __init__(self, seed=0):
        super().__init__()
        self.net = network(seed)

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return nn.functional.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def fit(module, folder, own, callbacks=(), trainer=None):
    loader = DataLoader(TensorDataset(own.x, own.y), batch_size=10, shuffle=True)
    trainer = trainer or lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        callbacks=list(callbacks),
        default_root_dir=folder,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        logger=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about few workers and few batches
        trainer.fit(module, loader)
    return trainer


def test_matrix_and_the_networks_are_those_of_a_training_that_does_not_notice(tmp_path):
    test = examples(60, 1)
    of = {module.net: module for module in (Module(), Module())}
    plain, recorded = of
    callback = ForgettingProbe(
        Recorder(tmp_path / "rec", recorded, test, TASKS, every=4)
    )

    def trained(net, task, watched):
        fit(
            of[net],
            tmp_path,
            examples().of_classes(task),
            [callback] if watched else [],
        )

    assert_unnoticed(
        plain, callback.recorder, trained, lambda own: accuracies(own, test)
    )


def test_a_fit_that_trains_nothing_is_refused(tmp_path):
    module = Module()
    recorder = Recorder(tmp_path / "rec", module, examples(60, 1), TASKS)
    data = examples().of_classes(TASKS[0])
    trainer = fit(module, tmp_path, data, [ForgettingProbe(recorder)])
    with pytest.raises(InputError, match="trained nothing"):
        fit(module, tmp_path, data, trainer=trainer)
