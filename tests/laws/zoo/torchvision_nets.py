"""Networks of torchvision's families of classifiers, small where they can be."""

from functools import partial

from torchvision import models
from torchvision.models.convnext import CNBlockConfig, ConvNeXt
from torchvision.models.maxvit import MaxVit
from torchvision.models.swin_transformer import (
    PatchMergingV2,
    SwinTransformer,
    SwinTransformerBlockV2,
)

from tests.laws.zoo.net import CACHED, of_pictures


def _net(build, size, **more):
    return of_pictures(build, size, rows=4, ways=(CACHED,), **more)


_GOOGLENET = partial(
    models.googlenet, aux_logits=True, init_weights=False, transform_input=True
)
_DENSENET = partial(models.DenseNet, 8, (2, 3, 2), 16, drop_rate=0.3)
_CONVNEXT = [CNBlockConfig(16, 32, 2), CNBlockConfig(32, None, 2)]
_SWIN = partial(
    SwinTransformer,
    [4, 4],
    16,
    [2, 2],
    [2, 2],
    [4, 4],
    4.0,
    0.1,
    0.1,
    stochastic_depth_prob=0.5,
    block=SwinTransformerBlockV2,
    downsample_layer=PatchMergingV2,
)

TORCHVISION = {
    "googlenet": _net(_GOOGLENET, 64, output="logits"),
    "resnet18": _net(models.resnet18, 64),
    "densenet": _net(_DENSENET, 32),
    "squeezenet": _net(models.squeezenet1_1, 64),
    "mobilenet_v3": _net(models.mobilenet_v3_small, 64),
    "shufflenet": _net(models.shufflenet_v2_x0_5, 64),
    "efficientnet": _net(
        partial(models.efficientnet_b0, stochastic_depth_prob=0.5), 64
    ),
    "regnet": _net(models.regnet_y_400mf, 32),
    "convnext": _net(partial(ConvNeXt, _CONVNEXT, stochastic_depth_prob=0.5), 32),
    "vit": _net(partial(models.VisionTransformer, 16, 8, 3, 2, 16, 32, 0.1, 0.1), 16),
    "swin_v2": _net(_SWIN, 32),
    "maxvit": _net(partial(MaxVit, (32, 32), 8, 2, [16, 16], [1, 2], 8, 0.5), 32),
}
