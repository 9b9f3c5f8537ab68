"""Run PyCIL's or LAMDA-PILOT's own `train` on tiny pictures: see README.md."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torchvision import transforms

from tests.record_fixtures.pictures import WIDTH, Body, pictures


class Data:
    """In place of their CIFAR-100."""

    use_path = False
    train_trsf: tuple[()] = ()
    test_trsf: tuple[()] = ()
    common_trsf = (transforms.ToTensor(),)

    def __init__(self, classes: int) -> None:
        self.class_order = list(range(classes))

    def download_data(self) -> None:
        """Make the pictures."""
        self.train_data, self.train_targets = pictures(len(self.class_order), True)
        self.test_data, self.test_targets = pictures(len(self.class_order), False)


class Tiny(Body):
    """A backbone of PILOT."""

    out_dim = WIDTH


class Convnet(Tiny):
    """The same as PyCIL wants it."""

    def forward(self, x: Tensor) -> Any:
        """Return the features by name."""
        return {"fmaps": [], "features": super().forward(x)}


def _keep_checkpoints(learner: Any) -> None:
    """Let a learner save itself after each task as their IL2A, SSRE and PA2S do."""
    after = learner.after_task

    def after_task(self: Any) -> None:
        after(self)
        known = self.args
        self.save_checkpoint(f"{known['model_name']}_{known['init_cls']}_{known['increment']}")

    learner.after_task = after_task


def main(source: str, classes: str, config: str, legacy: str = "") -> None:
    """source: their folder; config: JSON of what is not their default; legacy: numpy 1's print."""
    np.set_printoptions(legacy=legacy or False)  # type: ignore[arg-type]
    sys.path.insert(0, source)
    # A name that timm has since taken away.
    old = ModuleType("timm.models.layers.weight_init")
    old.trunc_normal_ = torch.nn.init.trunc_normal_  # type: ignore[attr-defined]
    sys.modules[old.__name__] = old
    from models import finetune
    from utils import data_manager, inc_net

    data_manager._get_idata = lambda *_: Data(int(classes))
    # Their data set makes a picture for the transforms.
    data_manager.Image.fromarray = lambda x: x[..., None]
    inc_net.get_convnet = lambda *_, **__: Convnet()
    inc_net.get_backbone = lambda *_, **__: Tiny()
    finetune.num_workers, finetune.batch_size = 0, 16
    finetune.init_epoch = finetune.epochs = 4
    finetune.init_lr = finetune.lrate = 0.05
    _keep_checkpoints(getattr(finetune, "Learner", None) or finetune.Finetune)
    torch.set_num_threads(1)
    from trainer import train

    train(json.loads(config))


if __name__ == "__main__":
    main(*sys.argv[1:])
