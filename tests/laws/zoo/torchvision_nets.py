"""One network at least of each of torchvision's families of classifiers, small where it can be."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import nn
from torchvision import models
from torchvision.models.convnext import CNBlockConfig, ConvNeXt
from torchvision.models.maxvit import MaxVit
from torchvision.models.swin_transformer import (
    PatchMergingV2,
    SwinTransformer,
    SwinTransformerBlockV2,
)

from tests.laws.zoo.net import CACHED, SAFE, Net


def _names(pattern: str) -> list[str]:
    """Expand braces as a shell does: "a.{0,1}" is a.0 and a.1, "{0..2}" is 0, 1 and 2."""
    return [name for word in pattern.split() for name in _expanded(word)]


def _expanded(word: str) -> list[str]:
    parts = re.split(r"\{(.*?)\}", word)
    choices = [[part] if i % 2 == 0 else _choices(part) for i, part in enumerate(parts)]
    return ["".join(chosen) for chosen in product(*choices)]


def _choices(text: str) -> list[str]:
    first, dots, last = text.partition("..")
    return [str(n) for n in range(int(first), int(last) + 1)] if dots else text.split(",")


def _net(
    build: Callable[..., nn.Module],
    size: int,
    *features: str,
    refuses: str = "",
    safe: str = "",
    **more: Any,
) -> Net:
    """Cut at the ends of blocks and inside of them.

    refuses: features that run twice or not at all; safe: those that depend on no input.
    """
    ways = dict.fromkeys(_names(" ".join(features)), (CACHED,)) | dict.fromkeys(_names(safe), SAFE)
    return Net(
        build=partial(build, num_classes=5),
        inputs=lambda n: torch.randn(n, 3, size, size),
        features=ways,
        refuses=dict.fromkeys(_names(refuses), r"#\d|does not run"),
        rows=4,
        **more,
    )


def _narrow(build: Callable[..., nn.Module], num_classes: int) -> nn.Module:
    """Make the dense layers, which hold most of the parameters, 64 wide."""
    model = build(num_classes=num_classes)
    linear = [name for name, layer in model.classifier.named_children() if hasattr(layer, "weight")]
    wide = model.classifier.get_submodule(linear[0]).in_features
    for name, sizes in zip(linear, [(wide, 64), (64, 64), (64, num_classes)], strict=True):
        model.classifier[int(name)] = nn.Linear(*sizes)
    return model


def _inside(block: str, downsample: str) -> str:
    return (
        f"conv1 bn1 {block}.conv1 {block}.bn1 {block}.relu#1 {block}.bn2 "
        f"{downsample} {downsample}.0 {downsample}.1"
    )


def _convnext(num_classes: int) -> nn.Module:
    blocks = [CNBlockConfig(16, 32, 2), CNBlockConfig(32, None, 2)]
    return ConvNeXt(blocks, stochastic_depth_prob=0.5, num_classes=num_classes)


_SWIN = partial(
    SwinTransformer, [4, 4], 16, [2, 2], [2, 2], [4, 4], 4.0, 0.1, 0.1, stochastic_depth_prob=0.5
)
_SWIN_BLOCKS = "features.0 features.1.{0,1} features.2 features.{1,3} features.3.{0,1} norm head"
_SWIN_ODD = (
    "features.0.0 features.1.0.norm1 features.1.1.attn features.1.1.stochastic_depth#{1,2} "
    "features.3.0.mlp.1 features.3.0.mlp.2 features.2.norm permute"
)
_SWIN_REFUSES = "features.1.1.stochastic_depth features.1.1.attn.qkv features.3.0.attn.proj"
_DENSE = partial(models.DenseNet, 8, (2, 3, 2), 16, drop_rate=0.3)
_DENSE_ODD = (
    "features.conv0 features.norm0 features.denseblock1.denselayer1 features.transition1.norm "
    "features.denseblock2.denselayer2.conv1 features.denseblock2.denselayer2.conv2 "
    "features.denseblock2.denselayer3.norm1 features.denseblock3.denselayer1.relu2"
)
_GOOGLENET_BLOCKS = (
    "conv1 maxpool{1..4} conv{2,3} inception3{a,b} inception4{a,b,c,d,e} inception5{a,b} avgpool fc"
)
_VIT_BLOCK = "encoder.layers.encoder_layer_1"
_MAXVIT_LAYER = "blocks.1.layers.0.layers"

TORCHVISION: dict[str, Net] = {
    "alexnet": _net(
        partial(_narrow, models.alexnet),
        64,
        "features.{2,5,12} avgpool classifier.{2,5,6} features.{0,1,3,8,9} classifier.{0,1,3}",
    ),
    "googlenet": _net(
        partial(models.googlenet, aux_logits=False, init_weights=False, transform_input=True),
        64,
        _GOOGLENET_BLOCKS,
        "conv1.conv conv1.bn inception3a.branch2.0 inception4b.branch4.0 inception4b.branch3.1.bn "
        "inception5a.branch4.1.conv dropout",
    ),
    "googlenet_auxiliary": _net(
        partial(models.googlenet, aux_logits=True, init_weights=False),
        64,
        "inception3b inception4a inception4d inception5b inception4a.branch1 inception4b.branch2",
        refuses="aux1",
        output="logits",
    ),
    "resnet18": _net(
        models.resnet18,
        64,
        "relu maxpool layer{1..4}.{0,1} layer{1..4} avgpool fc",
        _inside("layer3.1", "layer2.0.downsample"),
        refuses="layer1.0.relu",
    ),
    "densenet": _net(
        _DENSE,
        32,
        "features.pool0 features.denseblock{1..3} features.transition{1,2} features classifier",
        _DENSE_ODD,
    ),
    "squeezenet": _net(
        models.squeezenet1_1,
        64,
        "features.{3..12} classifier.{1,2,3} features.{0,1} features.4.squeeze "
        "features.6.expand1x1 features.9.expand3x3_activation classifier.0",
    ),
    "mobilenet_v3": _net(
        models.mobilenet_v3_small,
        64,
        "features.{0..12} avgpool classifier features.0.1 features.1.block.1 "
        "features.1.block.1.fc1 features.5.block.2.activation features.9.block.2.scale_activation "
        "features.10.block.3.0 classifier.{0,1,2}",
    ),
    "shufflenet": _net(
        models.shufflenet_v2_x0_5,
        64,
        "conv1 maxpool stage2.{0..3} stage3.{0..7} stage4.{0..3} conv5 fc conv1.0 "
        "stage2.0.branch1.1 stage2.0.branch2.3 stage3.4.branch2 stage3.1.branch2.6 "
        "stage4.1.branch2.2",
    ),
    "efficientnet": _net(
        partial(models.efficientnet_b0, stochastic_depth_prob=0.5),
        64,
        "features.{0..8} features.2.{0,1} features.5.{1,2} features.6.{1..3} avgpool classifier "
        "features.2.1.block.1.0 features.2.1.block.2 features.3.0.block.2.fc1 "
        "features.4.1.stochastic_depth features.6.2.block.3.0 features.6.2.block.2.avgpool "
        "classifier.0",
    ),
    "regnet": _net(
        models.regnet_y_400mf,
        32,
        "stem trunk_output.block1.block1-0 trunk_output.block2.block2-{0..2} "
        "trunk_output.block3.block3-{0..5} trunk_output.block{3,4} "
        "trunk_output.block4.block4-{0..5} avgpool fc stem.0 trunk_output.block2.block2-0.proj "
        "trunk_output.block2.block2-0.f.a trunk_output.block2.block2-1.f.se "
        "trunk_output.block3.block3-2.f.se.fc1 trunk_output.block3.block3-2.f.c.0 "
        "trunk_output.block4.block4-0.proj.0",
    ),
    "convnext": _net(
        _convnext,
        32,
        "features.0 features.1.{0,1} features.2 features.3.{0,1} features.{1,3} avgpool "
        "classifier features.0.0 features.1.1.block.0 features.1.1.block.2 "
        "features.1.1.stochastic_depth features.2.0 features.3.0.block.4 features.3.0.block.5 "
        "classifier.0",
    ),
    "vit": _net(
        partial(models.VisionTransformer, 16, 8, 3, 2, 16, 32, 0.1, 0.1),
        16,
        "encoder.layers.encoder_layer_{0..2} encoder.layers encoder.ln encoder heads",
        f"conv_proj encoder.dropout {_VIT_BLOCK}.ln_1 {_VIT_BLOCK}.self_attention "
        f"{_VIT_BLOCK}.dropout {_VIT_BLOCK}.ln_2 {_VIT_BLOCK}.mlp.1 {_VIT_BLOCK}.mlp.2",
        refuses=f"{_VIT_BLOCK}.self_attention.out_proj",
    ),
    "swin_v2": _net(
        partial(_SWIN, block=SwinTransformerBlockV2, downsample_layer=PatchMergingV2),
        32,
        _SWIN_BLOCKS,
        _SWIN_ODD,
        refuses=_SWIN_REFUSES,
        safe="features.3.1.attn.cpb_mlp features.3.1.attn.cpb_mlp.0",
    ),
    "maxvit": _net(
        partial(MaxVit, (32, 32), 8, 2, [16, 16], [1, 2], 8, 0.5),
        32,
        "stem stem.0 blocks.{0,1} blocks.1.layers.{0,1} classifier",
        f"stem.0.0 {_MAXVIT_LAYER}.MBconv {_MAXVIT_LAYER}.MBconv.proj "
        f"{_MAXVIT_LAYER}.MBconv.layers.squeeze_excitation "
        f"{_MAXVIT_LAYER}.MBconv.stochastic_depth {_MAXVIT_LAYER}.window_attention "
        f"{_MAXVIT_LAYER}.window_attention.attn_layer.1 "
        f"{_MAXVIT_LAYER}.grid_attention.stochastic_dropout#1 "
        f"{_MAXVIT_LAYER}.grid_attention.mlp_layer classifier.3",
        refuses=f"{_MAXVIT_LAYER}.grid_attention.stochastic_dropout",
    ),
}
