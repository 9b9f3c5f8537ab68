"""Built-in networks of named stages: the value after each is a feature, the last the output.

A user-defined network, registered by name (`scenarios.user_code`), works as well: its
features are those that a study names, or a suggested set.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from probe.batch import Value
from probe.cut.model_call import Called, ModelCall
from probe.errors import InputError, check_known
from probe.extensions import NetworkEntry
from probe.model import is_task_aware
from probe.modules import restore
from probe.seeding import global_stream, stream
from probe.training.fresh_weights import Fresh, fresh_state, initialize
from probe.training.recipe import Rule
from scenarios.stages import STAGES
from scenarios.user_code import build_model
from scenarios.user_objects import USER_NETWORKS, unregistered


def network_entry(name: str) -> NetworkEntry:
    """Return a registered or built-in network by name.

    Args:
        name: The name of the network.

    Returns:
        The entry of the network.

    Raises:
        InputError: There is no such network; the message suggests the nearest names.
    """
    entry = ARCHITECTURES.get(name) or USER_NETWORKS.get(name)
    if entry is None:
        raise unregistered("network", name, ARCHITECTURES, USER_NETWORKS)
    return entry


def bare(model: nn.Module) -> tuple[nn.Module, ModelCall]:
    """Return the network inside a `Called` and its call; another model is called as it is."""
    if isinstance(model, Called):
        return model.inner, model.call
    return model, ModelCall()


def draw_weights(
    model: nn.Module, name: str, rule: Rule, generator: torch.Generator
) -> None:
    """Give a network fresh weights, see `fresh_source`.

    Args:
        model: The network, which is changed in place.
        name: The name of the network.
        rule: The rule of initialization.
        generator: The source of randomness.
    """
    source = fresh_source(name, rule)
    if isinstance(source, str):
        initialize(model, rule, generator)
    else:
        with torch.no_grad():
            restore(bare(model)[0], fresh_state(source, generator))


def fresh_source(name: str, rule: Rule) -> Fresh:
    """Return the source of fresh weights.

    Args:
        name: The name of the network.
        rule: The rule of initialization.

    Returns:
        The rule, or for torch's rule the user's factory.
    """
    entry = USER_NETWORKS.get(name)
    return entry.build if entry and entry.draws and rule == "torch" else rule


def network_for(name: str, x: Value, classes: int) -> nn.Module:
    """Build the network of that name, built-in or user-defined.

    Args:
        name: The name of the network.
        x: The inputs, (N, ...).
        classes: The number of classes, K.

    Returns:
        The network.

    Raises:
        InputError: The name is unknown, or the network cannot take such inputs.
    """
    entry = network_entry(name)
    if name in ARCHITECTURES:
        if not isinstance(x, Tensor):
            raise InputError(
                f"{name} takes one tensor, got several: register your own network"
            )
        return build_network(name, x.shape[1:], classes)
    if entry.call and is_task_aware(entry.call):
        raise InputError(
            f"network {name}'s call takes the task, which no study gives: "
            'leave it out; kind = "task-incremental" limits the loss to its classes'
        )
    model = build_model(entry.name, entry.build)
    if isinstance(x, Tensor) and entry.call is None and entry.output is None:
        return model
    return Called(model, ModelCall(call=entry.call, output=entry.output))


def build_network(name: str, shape: Sequence[int], classes: int) -> nn.Sequential:
    """Build a built-in network that maps inputs (B, *shape) to scores (B, K).

    Args:
        name: The name of the network.
        shape: The shape of one input, without the batch.
        classes: The number of classes, K.

    Returns:
        The network.

    Raises:
        InputError: The name is unknown, or the network cannot take such inputs.

    >>> build_network("cnn3", (1, 28, 28), classes=10)(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """
    check_known("network", name, ARCHITECTURES)
    # torch's modules draw their first weights from the global generator.
    with global_stream(stream(0, "build")):
        return cast(nn.Sequential, ARCHITECTURES[name].build(shape, classes))


def mlp(shape: Sequence[int], classes: int, width: int = 256) -> nn.Sequential:
    """Build a multi-layer perceptron with two hidden ReLU layers on flattened inputs.

    Args:
        shape: The shape of one input.
        classes: The number of classes, K.
        width: The number of units of each hidden layer: 256 in Chaudhry 2018, 400 in
            Kemker 2018 (`mlp400`), 2,000 in van de Ven 2022 on CIFAR-100 (`mlp2000`).

    Returns:
        The network.
    """
    inputs = int(torch.Size(shape).numel())
    return _chain(
        hidden1=nn.Sequential(nn.Flatten(), nn.Linear(inputs, width), nn.ReLU()),
        hidden2=nn.Sequential(nn.Linear(width, width), nn.ReLU()),
        output=nn.Linear(width, classes),
    )


def cnn3(shape: Sequence[int], classes: int) -> nn.Sequential:
    """Build Murata 2020's MNIST network: three conv layers with ReLU, then one dense layer.

    The paper gives no widths, kernels or strides; ours are 3 x 3 kernels, stride 2 in
    place of pooling (the paper mentions none), and 32, 64 and 128 channels.

    Args:
        shape: The shape of one image, (C, H, W).
        classes: The number of classes, K.

    Returns:
        The network.
    """
    channels, height, breadth = _image(shape)
    stages: dict[str, nn.Module] = {}
    for depth, width in enumerate((32, 64, 128), 1):
        # Padded by 1 with stride 2: both sides are halved, rounded up (-(-n // 2)).
        convolution = nn.Conv2d(channels, width, kernel_size=3, stride=2, padding=1)
        stages[f"conv{depth}"] = nn.Sequential(convolution, nn.ReLU())
        channels = width
        height = -(-height // 2)
        breadth = -(-breadth // 2)
    dense = nn.Linear(channels * height * breadth, classes)
    return _chain(**stages, output=nn.Sequential(nn.Flatten(), dense))


def narrow(shape: Sequence[int], classes: int) -> nn.Sequential:
    """Build the demo's network, which narrows with depth: a layer loses what it does not need.

    Two 3 x 3 convolutions of 8 channels, the second with stride 2, and dense layers of
    24 and 12.

    Args:
        shape: The shape of one image, (C, H, W).
        classes: The number of classes, K.

    Returns:
        The network.
    """
    channels, height, breadth = _image(shape)
    # The stride of 2 halves both sides, rounded up.
    inputs = 8 * -(-height // 2) * -(-breadth // 2)
    return _chain(
        conv1=nn.Sequential(nn.Conv2d(channels, 8, 3, stride=2, padding=1), nn.Tanh()),
        conv2=nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.Tanh()),
        hidden1=nn.Sequential(nn.Flatten(), nn.Linear(inputs, 24), nn.Tanh()),
        hidden2=nn.Sequential(nn.Linear(24, 12), nn.Tanh()),
        output=nn.Linear(12, classes),
    )


def cnn4(
    shape: Sequence[int], classes: int, hidden: int | None = None
) -> nn.Sequential:
    """Build Chaudhry 2018's CIFAR network: four conv layers, then one dense layer.

    Its layers are those of Zenke et al. 2017, appendix A, to which the paper refers:
    two 3 x 3 convolutions of 32 channels, two of 64, each pair followed by max-pooling
    and dropout of 0.25. The paper does not give widths.

    Args:
        shape: The shape of one image, (C, H, W), of 4 x 4 pixels or more.
        classes: The number of classes, K.
        hidden: The number of ReLU units of a further dense layer, with dropout of 0.5,
            before the last: 512 in `cnn6`, the network of Diaz-Rodriguez 2018 and of
            Zenke et al. 2017. None = no such layer.

    Returns:
        The network.

    Raises:
        InputError: The images are smaller.
    """
    channels, height, breadth = _image(shape, side=4)
    stages: dict[str, nn.Module] = {}
    for depth, width in enumerate((32, 32, 64, 64), 1):
        pool = [nn.MaxPool2d(2), nn.Dropout(0.25)] if depth % 2 == 0 else []
        convolution = nn.Conv2d(channels, width, kernel_size=3, padding=1)
        stages[f"conv{depth}"] = nn.Sequential(convolution, nn.ReLU(), *pool)
        channels = width
    inputs = channels * (height // 4) * (breadth // 4)
    if hidden is None:
        stages["output"] = nn.Sequential(nn.Flatten(), nn.Linear(inputs, classes))
        return _chain(**stages)
    stages["dense"] = nn.Sequential(
        nn.Flatten(), nn.Linear(inputs, hidden), nn.ReLU(), nn.Dropout(0.5)
    )
    return _chain(**stages, output=nn.Linear(hidden, classes))


def reduced_resnet18(
    shape: Sequence[int], classes: int, base: int = 20
) -> nn.Sequential:
    """Build the reduced ResNet18 of the GEM paper: a 3 x 3 stem, 20 base channels, no max-pool.

    It has six stages (Murata 2020): stem, four pairs of residual blocks, average pool
    of 4 x 4 and dense layer (160 features on 32 x 32 images).

    Args:
        shape: The shape of one image, (C, H, W), of 25 x 25 pixels or more.
        classes: The number of classes, K.
        base: The number of channels of the stem.

    Returns:
        The network.

    Raises:
        InputError: The images are smaller.
    """
    channels, height, breadth = _image(shape, side=25)
    stem = nn.Conv2d(channels, base, kernel_size=3, padding=1, bias=False)
    stages: dict[str, nn.Module] = {
        "stem": nn.Sequential(stem, nn.BatchNorm2d(base), nn.ReLU())
    }
    width = base
    for depth, stride in enumerate((1, 2, 2, 2), 1):
        out = base * 2 ** (depth - 1)
        blocks = _Block(width, out, stride), _Block(out, out, stride=1)
        stages[f"layer{depth}"] = nn.Sequential(*blocks)
        width = out
    # Three strides of 2 halve the sides, rounded up.
    height = -(-height // 8) // 4
    breadth = -(-breadth // 8) // 4
    dense = nn.Linear(width * height * breadth, classes)
    return _chain(**stages, output=nn.Sequential(nn.AvgPool2d(4), nn.Flatten(), dense))


class _Block(nn.Module):
    """A residual block of two 3 x 3 convolutions, with a 1 x 1 one on the skip if shapes differ."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.skip = nn.Sequential()
        if stride != 1 or inputs != outputs:
            project = nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)
            self.skip = nn.Sequential(project, nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        """Map images (B, inputs, H, W) to (B, outputs, H, W), smaller by the stride."""
        y = functional.relu(self.bn1(self.conv1(x)))
        return functional.relu(self.bn2(self.conv2(y)) + self.skip(x))


def _chain(**stages: nn.Module) -> nn.Sequential:
    """Return the stages one after another, each under its name."""
    return nn.Sequential(OrderedDict(stages))


def _image(shape: Sequence[int], side: int = 1) -> tuple[int, int, int]:
    """Return channels, height and width of an image's shape; raises InputError if it is smaller."""
    if len(shape) != 3 or min(shape[1:]) < side:
        raise InputError(
            f"the network needs images (C, H, W) of {side} x {side} or more, "
            f"got {tuple(shape)}: choose another network"
        )
    return shape[0], shape[1], shape[2]


_BUILD: dict[str, Callable[..., nn.Module]] = {
    "mlp": mlp,
    "mlp400": partial(mlp, width=400),
    "mlp2000": partial(mlp, width=2000),
    "narrow": narrow,
    "cnn3": cnn3,
    "cnn4": cnn4,
    "cnn6": partial(cnn4, hidden=512),
    "reduced_resnet18": reduced_resnet18,
}

ARCHITECTURES = {
    name: NetworkEntry(name=name, build=_BUILD[name], features=tuple(stages.split()))
    for name, stages in STAGES.items()
}
"""The built-in networks: `build` takes the shape of one input and the number of classes K."""
