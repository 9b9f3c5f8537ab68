"""Networks of timm, of many families: the smallest variants, with small images."""

from __future__ import annotations

from functools import partial

import timm
from timm.models import metaformer, mlp_mixer
from timm.models.nest import Nest

from tests.laws.zoo.net import of_pictures


def _named(size, names, **smaller):
    """Networks by name, with fewer and narrower blocks than they come with."""
    builds = {
        name: partial(timm.create_model, name, **smaller) for name in names.split()
    }
    return {name: of_pictures(build, size) for name, build in builds.items()}


def _sized(size, names, **smaller):
    """Networks that must be told the size of the images."""
    return _named(size, names, img_size=size, **smaller)


_FOUR, _THREE = (1, 1, 1, 1), (1, 1, 2, 1)
_WINDOWS = {
    "embed_dim": 16,
    "depths": _THREE,
    "num_heads": (1, 2, 4, 8),
}
_SMALL = {"embed_dim": 48, "depth": 3, "num_heads": 3}
_MIXER = partial(
    mlp_mixer.MlpMixer, img_size=32, embed_dim=32, num_blocks=3, mlp_ratio=4
)
_RES = partial(mlp_mixer.ResBlock, init_values=1e-4)
_FORMER = partial(metaformer.MetaFormer, depths=_FOUR, dims=(16, 32, 48, 64))
_NEST = partial(Nest, embed_dims=(16, 16, 32), depths=(1, 1, 2), num_heads=(2, 2, 4))

TIMM = {
    **_named(
        32,
        "mobileone_s1 repvgg_a0 mixnet_s fbnetv3_b ghostnet_050 hrnet_w18_small "
        "lcnet_035 mobilenetv4_conv_small_035 regnety_002 repvit_m1 resnest14d "
        "seresnext26ts ese_vovnet19b_slim_dw",
    ),
    **_named(
        64,
        "test_byobnet cs3darknet_focus_s dla46x_c edgenext_xx_small test_efficientnet "
        "test_efficientnet_evos efficientvit_b0 fastvit_t8 test_mambaout "
        "mobilevitv2_050 test_nfnet starnet_s050 efficientvim_m1",
    ),
    **_named(32, "densenet121", block_config=(2, 2, 2, 2), growth_rate=8),
    **_named(32, "res2next50 skresnext50_32x4d resnetv2_50", layers=_FOUR),
    **_named(32, "dpn48b", k_sec=_FOUR, k_r=32, groups=8),
    **_named(64, "pvt_v2_b0", depths=_FOUR),
    **_sized(
        32,
        "beit_base_patch16_224 vit_srelpos_small_patch16_224 flexivit_small",
        **_SMALL,
    ),
    **_sized(
        32, "deit_tiny_distilled_patch16_224 vit_pe_core_tiny_patch16_384", **_SMALL
    ),
    **_sized(32, "test_vit3 test_vit_relpos"),
    **_sized(28, "eva02_tiny_patch14_224", **_SMALL),
    **_sized(32, "cait_xxs24_224", embed_dim=48, depth=3, num_heads=4),
    **_sized(32, "convit_tiny", embed_dim=48, depth=4, num_heads=4),
    **_sized(32, "tnt_s_patch16_224", embed_dim=48, depth=2, num_heads_outer=3),
    **_sized(32, "xcit_nano_12_p16_224", embed_dim=48, depth=2),
    **_sized(
        64, "swinv2_tiny_window8_256 swinv2_cr_tiny_224", window_size=2, **_WINDOWS
    ),
    **_sized(64, "coat_lite_tiny levit_128s test_coatnet test_maxvit"),
    **_sized(64, "hiera_tiny_224", embed_dim=16, num_heads=1, stages=_THREE),
    **_sized(120, "crossvit_tiny_240"),
    "convformer": of_pictures(partial(_FORMER, token_mixers=metaformer.SepConv), 64),
    "resmlp": of_pictures(
        partial(_MIXER, block_layer=_RES, norm_layer=mlp_mixer.Affine), 32
    ),
    "nest": of_pictures(partial(_NEST, img_size=32, patch_size=2), 32),
}
