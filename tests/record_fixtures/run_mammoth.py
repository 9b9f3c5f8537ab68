"""Run Mammoth's own `main` on tiny pictures: see README.md."""

# Without postponed annotations: Mammoth reads the types of a backbone.
import socket
import sys
from typing import Any
from unittest.mock import MagicMock

import torch
from torch import Tensor, nn

from tests.record_fixtures.pictures import WIDTH, Body, pictures

CLASSES, TASKS = 6, 3


class Pictures:
    """In place of torchvision's MNIST and of Mammoth's own."""

    def __init__(self, root: str, train: bool = True, **other: Any) -> None:
        self.data, self.targets = map(torch.from_numpy, pictures(CLASSES, train))
        self.train, self.transform, self.target_transform = train, other["transform"], None

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, at: int) -> tuple[Any, ...]:
        x = self.transform(self.data[at].numpy()[..., None])
        return (x, self.targets[at], x) if self.train else (x, self.targets[at])


def _register(base: type, register: Any) -> None:
    class Tiny(base):  # type: ignore[misc, valid-type]
        """A backbone as Mammoth wants one."""

        def __init__(self, num_classes: int) -> None:
            super().__init__()
            body = Body()
            self.conv, self.bn, self.fc1 = body.conv, body.bn, body.fc1
            self.classifier = nn.Linear(WIDTH, num_classes)

        def forward(self, x: Tensor, returnt: str = "out") -> Any:
            """Return the logits, or the features."""
            h = Body.forward(self, x)  # type: ignore[arg-type]
            return h if returnt == "features" else self.classifier(h)

    register("tiny")(Tiny)


def main(source: str) -> None:
    """source: the folder of Mammoth; its own arguments are left in `sys.argv`."""
    del sys.argv[1]
    sys.path.insert(0, source)
    # Asked for by data sets that are not used here.
    sys.modules["open_clip"] = MagicMock(create_model_and_transforms=lambda *_, **__: (0, 1, 2))
    socket.gethostname = lambda: "host"
    import main as mammoth
    from backbone import MammothBackbone, register_backbone
    from datasets import seq_mnist

    seq_mnist.MyMNIST = seq_mnist.MNIST = Pictures
    seq_mnist.SequentialMNIST.N_TASKS = TASKS
    seq_mnist.SequentialMNIST.N_CLASSES = CLASSES
    _register(MammothBackbone, register_backbone)
    torch.set_num_threads(1)
    mammoth.main()


if __name__ == "__main__":
    main(sys.argv[1])
