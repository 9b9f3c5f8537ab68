"""Networks of transformers that hear or see."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from tests.laws.others.laws import CLASSES
from tests.laws.others.tiny import tiny
from tests.laws.zoo.net import Net


def _sound(n: int, length: int = 800) -> dict[str, Tensor]:
    """Waves of which every third one is shorter."""
    short = (torch.arange(n) % 3 == 1)[:, None] & (torch.arange(length) >= length * 3 // 4)
    return {
        "input_values": torch.randn(n, length).masked_fill(short, 0),
        "attention_mask": (~short).long(),
    }


def _image(size: int, n: int) -> dict[str, Tensor]:
    return {"pixel_values": torch.randn(n, 3, size, size)}


_VIT: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "patch_size": 8,
}
_SPEECH: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "conv_dim": (8, 8, 8),
    "conv_stride": (5, 4, 2),
    "conv_kernel": (10, 4, 3),
    "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2,
    "classifier_proj_size": 8,
    "num_labels": CLASSES,
    # A layer left out at random in training mode is one of the hostile networks of the other zoo.
    "layerdrop": 0.0,
}


def _speech(family: str, **more: Any) -> Net:
    return tiny(family, _sound, "ForSequenceClassification", {**_SPEECH, **more})


_SOUNDS = {
    "wav2vec2": _speech("Wav2Vec2"),
    "hubert": _speech("Hubert"),
    "wavlm": _speech("WavLM"),
    "unispeech": _speech("UniSpeech"),
    "unispeech_sat": _speech("UniSpeechSat"),
    "data2vec_audio": _speech("Data2VecAudio", conv_pos_kernel_size=3),
    "sew": _speech("SEW", squeeze_factor=2),
    "wav2vec2_conformer": _speech("Wav2Vec2Conformer", conv_depthwise_kernel_size=3),
    "whisper": tiny(
        "Whisper",
        lambda n: {"input_features": torch.randn(n, 8, 24)},
        "ForAudioClassification",
        {
            "num_mel_bins": 8,
            "max_source_positions": 12,
            "d_model": 16,
            "encoder_layers": 2,
            "encoder_attention_heads": 2,
            "encoder_ffn_dim": 32,
            "decoder_layers": 1,
            "classifier_proj_size": 8,
            "num_labels": CLASSES,
        },
    ),
    "audio_spectrogram": tiny(
        "AST",
        lambda n: {"input_values": torch.randn(n, 32, 16)},
        "ForAudioClassification",
        {
            **_VIT,
            "patch_size": 8,
            "frequency_stride": 8,
            "time_stride": 8,
            "num_labels": CLASSES,
            "max_length": 32,
            "num_mel_bins": 16,
        },
    ),
}
_PICTURE = "ForImageClassification"


# What shifts all keys alike, attention does not see; of the last layer one token is read.
_KEYS = "cvt.encoder.stages.2.layers.2.attention.attention.convolution_projection_query "
_KEYS += " ".join(
    f"cvt.encoder.stages.{stage}.layers.{layer}.attention.attention.convolution_projection_key."
    f"convolution_projection.normalization.{each}"
    for stage in range(3)
    for layer in range(3)
    for each in ("running_mean", "bias")
)


def _vision(family: str, size: int = 32, hidden: str = "", **more: Any) -> Net:
    settings = {"image_size": size, "num_labels": CLASSES, **more}
    return tiny(family, partial(_image, size), _PICTURE, settings, frozenset(hidden.split()))


_IMAGES = {
    "vit": _vision("ViT", **_VIT),
    "vit_msn": _vision("ViTMSN", **_VIT),
    "deit": _vision("DeiT", **_VIT),
    "beit": _vision("Beit", use_relative_position_bias=True, **_VIT),
    "data2vec_vision": _vision("Data2VecVision", **_VIT),
    "dinov2": _vision("Dinov2", **_VIT),
    "siglip": tiny(
        "Siglip",
        partial(_image, 32),
        _PICTURE,
        {"vision_config": {"image_size": 32, **_VIT}, "num_labels": CLASSES},
    ),
    "clip": tiny(
        "CLIP",
        partial(_image, 32),
        _PICTURE,
        {"vision_config": {"image_size": 32, **_VIT}, "num_labels": CLASSES},
    ),
    "swin": _vision("Swin", embed_dim=8, depths=[1, 1], num_heads=[1, 2], window_size=2),
    "swinv2": _vision("Swinv2", embed_dim=8, depths=[1, 1], num_heads=[1, 2], window_size=2),
    "focalnet": _vision(
        "FocalNet", embed_dim=8, depths=[1, 1], focal_levels=[2, 2], focal_windows=[3, 3]
    ),
    "convnext": _vision("ConvNext", hidden_sizes=[8, 16], depths=[1, 1], num_stages=2),
    "convnextv2": _vision("ConvNextV2", hidden_sizes=[8, 16], depths=[1, 1], num_stages=2),
    "resnet": _vision("ResNet", embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1]),
    "regnet": _vision(
        "RegNet", embedding_size=16, hidden_sizes=[32, 64], depths=[1, 1], groups_width=4
    ),
    "bit": _vision("Bit", embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], num_groups=2),
    "mobilenet_v1": _vision("MobileNetV1", depth_multiplier=0.25, initializer_range=0.3),
    "mobilenet_v2": _vision("MobileNetV2", depth_multiplier=0.25, initializer_range=0.3),
    "mobilevit": _vision(
        "MobileViT",
        96,
        initializer_range=0.3,
        hidden_sizes=[16, 16, 16],
        neck_hidden_sizes=[8, 8, 8, 16, 16, 16, 32],
        num_attention_heads=2,
    ),
    "efficientnet": _vision(
        "EfficientNet",
        64,
        width_coefficient=0.25,
        depth_coefficient=0.25,
        hidden_dim=320,
        initializer_range=0.3,
    ),
    "poolformer": _vision("PoolFormer", 64, hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1]),
    "segformer": _vision(
        "Segformer",
        64,
        hidden_sizes=[8, 8, 16, 16],
        depths=[1, 1, 1, 1],
        num_attention_heads=[1, 1, 2, 2],
    ),
    "pvt": _vision(
        "Pvt",
        64,
        hidden_sizes=[8, 8, 16, 16],
        depths=[1, 1, 1, 1],
        num_attention_heads=[1, 1, 2, 2],
    ),
    "cvt": _vision(
        "Cvt", 64, hidden=_KEYS, embed_dim=[8, 8, 16], num_heads=[1, 1, 2], depth=[1, 2, 3]
    ),
    "levit": _vision(
        "Levit",
        64,
        hidden_sizes=[16, 16, 32],
        num_attention_heads=[2, 2, 2],
        depths=[1, 1, 1],
        key_dim=[8, 8, 8],
    ),
    "hiera": _vision(
        "Hiera", 64, embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 2, 2], image_size=[64, 64]
    ),
    "imagegpt": tiny(
        "ImageGPT",
        lambda n: {"input_ids": torch.randint(0, 20, (n, 16))},
        _PICTURE,
        {
            "vocab_size": 21,
            "n_positions": 16,
            "n_embd": 16,
            "n_layer": 2,
            "n_head": 2,
            "num_labels": CLASSES,
        },
    ),
}

SENSES: dict[str, Net] = {**_SOUNDS, **_IMAGES}
