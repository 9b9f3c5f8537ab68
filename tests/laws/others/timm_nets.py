"""Networks of timm, of as many families as can be: the smallest variants, with small images."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import timm
import torch
from timm.layers import GatedMlp, GluMlp
from timm.models import metaformer, mlp_mixer
from timm.models.convmixer import ConvMixer
from timm.models.focalnet import FocalNet
from timm.models.mvitv2 import MultiScaleVit, MultiScaleVitCfg
from timm.models.nasnet import NASNetALarge
from timm.models.nest import Nest
from timm.models.nextvit import NextViT
from timm.models.pit import PoolingVisionTransformer
from timm.models.twins import Twins
from timm.models.vgg import VGG
from timm.models.volo import VOLO
from torch import nn

from tests.laws.others.laws import CLASSES
from tests.laws.zoo.net import Net


def _net(build: Callable[..., nn.Module], size: int, hidden: str = "", **smaller: Any) -> Net:
    """A network of images of `size` pixels a side; hidden: see `Net.shows_not`."""
    return Net(
        build=partial(build, num_classes=CLASSES, **smaller),
        inputs=lambda n: torch.randn(n, 3, size, size),
        features={},
        shows_not=frozenset(hidden.split()),
    )


def _create(name: str, **smaller: Any) -> Callable[..., nn.Module]:
    return partial(timm.create_model, name, pretrained=False, **smaller)


def _plain(size: int, names: str) -> dict[str, Net]:
    """Networks as they are, which take images of any size."""
    return {name: _net(_create(name), size) for name in names.split()}


def _sized(size: int, names: str, **smaller: Any) -> dict[str, Net]:
    """Networks that must be told the size of the images."""
    return {name: _net(_create(name, **smaller), size, img_size=size) for name in names.split()}


def _smaller(size: int, **each: dict[str, Any]) -> dict[str, Net]:
    """Networks of any size of images, with fewer and narrower blocks than they come with."""
    return {name: _net(_create(name), size, **smaller) for name, smaller in each.items()}


_FOUR = (1, 1, 1, 1)
_THREE = (1, 1, 2, 1)
_WIDTHS = (16, 32, 48, 64)
_HEADS = (1, 2, 4, 8)
_WINDOWS: dict[str, Any] = {"embed_dim": 16, "depths": _THREE, "num_heads": _HEADS}
_MIXER: dict[str, Any] = {"img_size": 32, "embed_dim": 32, "num_blocks": 3}
_PATCHES = (
    "beit_base_patch16_224 beitv2_base_patch16_224 deit_tiny_patch16_224 "
    "deit_tiny_distilled_patch16_224 deit3_small_patch16_224 vit_tiny_patch16_dinov3_qkvb "
    "vit_pe_core_tiny_patch16_384 vit_srelpos_small_patch16_224 vit_base_patch16_siglip_224 "
    "flexivit_small"
)

_CONVOLUTIONS = {
    **_plain(
        32,
        "mobileone_s1 gernet_s repvgg_a0 regnetz_b16 convnext_zepto_rms convnextv2_atto "
        "mobilenetv2_035 mnasnet_small tinynet_e mixnet_s fbnetv3_b ghostnet_050 "
        "hardcorenas_a hrnet_w18_small lcnetv2_small lcnet_035 mobilenetv3_small_050 "
        "mobilenetv4_conv_small_035 nf_regnet_b0 regnetx_002 regnety_002 repghostnet_050 "
        "repvit_m1 resnest14d resnet10t seresnext26ts rexnet_100 "
        "ese_vovnet19b_slim_dw",
    ),
    **_plain(
        64,
        "test_byobnet test_convnext2 cpubone_nano cs3darknet_focus_s "
        "cspnext_tiny dla46x_c edgenext_xx_small test_efficientnet test_efficientnet_gn "
        "test_efficientnet_ln test_efficientnet_evos efficientvit_b0 fasternet_t0 fastvit_t8 "
        "inception_next_atto test_mambaout mobilevit_xxs mobilevitv2_050 test_nfnet test_resnet "
        "starnet_s050 ",
    ),
    **_plain(96, "ghostnetv2_100 "),
    **_smaller(
        32,
        densenet121={"block_config": (2, 2, 2, 2), "growth_rate": 8},
        densenetblur121d={"block_config": (2, 2, 2, 2), "growth_rate": 8},
        dla60_res2net={"channels": (8, 16, 32, 48, 64, 96), "levels": (1, 1, 1, 2, 2, 1)},
        res2next50={"layers": _FOUR},
        resnetrs50={"layers": _FOUR},
        resnetaa50d={"layers": _FOUR},
        resnetv2_50={"layers": _FOUR},
        skresnext50_32x4d={"layers": _FOUR},
        resnetblur18={"layers": _FOUR},
        legacy_seresnet18={"layers": _FOUR},
        skresnet18={"layers": _FOUR},
        resnetv2_18={"layers": _FOUR},
        dpn48b={"k_sec": _FOUR, "k_r": 32, "groups": 8},
    ),
    **_smaller(64, tresnet_m={"layers": _FOUR, "width_factor": 0.5}),
    "convmixer": _net(ConvMixer, 32, dim=32, depth=4, patch_size=4),
    "nasnet": _net(NASNetALarge, 96, stem_size=16, num_features=384),
    "vgg": _net(VGG, 64, cfg=[8, "M", 16, "M", 16, "M", 32, "M", 32, "M"]),
}

_MIXERS = {
    **_plain(64, "efficientvim_m1 iformer_t shvit_s1"),
    **_smaller(64, mobilenetv5_base={"channel_multiplier": 0.125}),
    "focalnet": _net(FocalNet, 64, depths=_FOUR, embed_dim=16),
    "poolformer": _net(metaformer.MetaFormer, 64, depths=_FOUR, dims=_WIDTHS),
    "convformer": _net(
        metaformer.MetaFormer, 64, depths=_FOUR, dims=_WIDTHS, token_mixers=metaformer.SepConv
    ),
    "caformer": _net(
        metaformer.MetaFormer,
        64,
        depths=_FOUR,
        dims=(32, 32, 64, 64),
        token_mixers=[metaformer.SepConv] * 2 + [metaformer.Attention] * 2,
        norm_layers=[metaformer.LayerNorm2dNoBias] * 2 + [metaformer.LayerNormNoBias] * 2,
    ),
    "mixer": _net(mlp_mixer.MlpMixer, 32, **_MIXER),
    "gmlp": _net(
        mlp_mixer.MlpMixer,
        32,
        block_layer=mlp_mixer.SpatialGatingBlock,
        mlp_layer=GatedMlp,
        mlp_ratio=4,
        **_MIXER,
    ),
    "gmixer": _net(
        mlp_mixer.MlpMixer,
        32,
        mlp_ratio=(1.0, 4.0),
        mlp_layer=GluMlp,
        act_layer=nn.SiLU,
        **_MIXER,
    ),
    "resmlp": _net(
        mlp_mixer.MlpMixer,
        32,
        mlp_ratio=4,
        block_layer=partial(mlp_mixer.ResBlock, init_values=1e-4),
        norm_layer=mlp_mixer.Affine,
        **_MIXER,
    ),
    **_sized(
        56,
        "sequencer2d_s",
        layers=_FOUR,
        embed_dims=(16, 32, 32, 32),
        hidden_sizes=(8, 8, 8, 8),
    ),
}

_TRANSFORMERS = {
    **_sized(32, _PATCHES, embed_dim=48, depth=3, num_heads=3),
    **_sized(32, "test_vit test_vit2 test_vit3 test_vit4 test_vit_relpos"),
    **_sized(28, "eva02_tiny_patch14_224", embed_dim=48, depth=3, num_heads=3),
    **_sized(56, "deepseek_vit_412m", embed_dim=48, depth=2, num_heads=3),
    **_sized(32, "cait_xxs24_224", embed_dim=48, depth=3, num_heads=4),
    **_sized(32, "convit_tiny", embed_dim=48, depth=4, num_heads=4),
    **_sized(32, "tnt_s_patch16_224", embed_dim=48, depth=2, num_heads_outer=3),
    **_sized(32, "xcit_nano_12_p16_224", embed_dim=48, depth=2),
    **_sized(64, "swin_tiny_patch4_window7_224", window_size=2, **_WINDOWS),
    **_sized(64, "swin_s3_tiny_224", window_size=(4, 4, 4, 2), **_WINDOWS),
    **_sized(64, "swinv2_tiny_window8_256", window_size=2, **_WINDOWS),
    **_sized(64, "swinv2_cr_tiny_224", window_size=2, **_WINDOWS),
    **_sized(64, "coat_lite_tiny efficientformerv2_s0 levit_128s levit_conv_128s"),
    **_sized(64, "test_coatnet test_maxvit"),
    **_sized(64, "samvit_base_patch16_224", embed_dim=48, depth=2, num_heads=3),
    **_sized(64, "vit_tiny_r_s16_p8_224", embed_dim=48, depth=2, num_heads=3),
    **_sized(64, "hiera_tiny_224", embed_dim=16, num_heads=1, stages=_THREE),
    **_sized(64, "twins_svt_small", embed_dims=_WIDTHS, depths=_THREE),
    **_sized(64, "visformer_tiny", embed_dim=96, depth=(2, 1, 1)),
    **_sized(64, "vitamin_small_224", depth=2),
    **_sized(96, "efficientvit_m0"),
    **_sized(120, "crossvit_tiny_240"),
    **_smaller(
        48,
        gemma4_vit_167m={"embed_dim": 48, "depth": 2, "num_heads": 3},
        naflexvit_base_patch16_gap={"embed_dim": 48, "depth": 2, "num_heads": 3},
    ),
    **_smaller(
        64,
        davit_tiny={"depths": _FOUR, "embed_dims": _WIDTHS, "num_heads": (2, 2, 2, 2)},
        fastvit_sa12={"layers": _FOUR, "embed_dims": (32, 64, 64, 64)},
        hieradet_small={
            "embed_dim": 16,
            "num_heads": 1,
            "stages": _THREE,
            "global_att_blocks": (3,),
        },
        pvt_v2_b0={"depths": _FOUR},
        qwen3_vit_88m={"embed_dim": 48, "depth": 2, "num_heads": 3},
        swiftformer_xs={"layers": _THREE},
        tiny_vit_5m_224={
            "embed_dims": (16, 32, 32, 64),
            "depths": _THREE,
            "num_heads": (1, 2, 2, 4),
            "window_sizes": (4, 4, 4, 2),
        },
    ),
    "mvitv2": _net(
        partial(MultiScaleVit, MultiScaleVitCfg(depths=_FOUR, embed_dim=16)), 64, img_size=64
    ),
    "nest": _net(
        Nest,
        32,
        img_size=32,
        patch_size=2,
        embed_dims=(16, 16, 32),
        depths=(1, 1, 2),
        num_heads=(2, 2, 4),
    ),
    "nextvit": _net(NextViT, 64, in_chans=3, stem_chs=(16, 16, 16), depths=(1, 1, 5, 1)),
    "pit": _net(
        PoolingVisionTransformer,
        64,
        img_size=64,
        base_dims=(16, 16, 16),
        depth=(1, 2, 1),
        heads=(1, 2, 4),
    ),
    "twins_pcpvt": _net(
        Twins,
        64,
        img_size=64,
        patch_size=4,
        embed_dims=_WIDTHS,
        num_heads=(1, 2, 3, 4),
        depths=_THREE,
        sr_ratios=(8, 4, 2, 1),
    ),
    "volo": _net(
        VOLO,
        64,
        hidden="cls_token post_network.",  # what the auxiliary head reads is only beside them
        img_size=64,
        layers=list(_FOUR),
        embed_dims=[24, 48, 48, 48],
        num_heads=[2, 4, 4, 4],
        stem_hidden_dim=8,
    ),
}

TIMM: dict[str, Net] = {**_CONVOLUTIONS, **_MIXERS, **_TRANSFORMERS}
