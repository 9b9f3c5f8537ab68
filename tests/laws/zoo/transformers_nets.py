"""Networks of transformers from tiny configurations: nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
import transformers
from torch import Tensor, nn

from tests.laws.zoo.net import CLASSES, Inputs, Net

_WORDS, _LENGTH = 60, 10
_END, _FIRST = 2, 5  # the numbers below it are those of padding and other special words


class Last(nn.Module):
    """A classifier of the last word, for families without one; padding is in front."""

    def __init__(self, body: nn.Module, width: int) -> None:
        super().__init__()
        self.body, self.head = body, nn.Linear(width, CLASSES)

    def forward(self, input_ids: Tensor, **more: Tensor) -> Mapping[str, Tensor]:
        return {"logits": self.head(self.body(input_ids, **more)[0][:, -1])}


def _made(family: str, task: str, settings: Mapping[str, Any]) -> nn.Module:
    config = getattr(transformers, f"{family}Config")(**settings)
    made: nn.Module = getattr(transformers, f"{family}{task}")(config)
    return made if task != "Model" else Last(made, config.hidden_size)


def _net(
    family: str, inputs: Callable[[int], Inputs], task: str, hidden: str = "", **settings: Any
) -> Net:
    """A network of a family, made for a task; hidden: see `Net.shows_not`."""
    build = partial(_made, family, task, {"num_labels": CLASSES, **settings})
    shows_not = frozenset(hidden.split())
    return Net(build=build, inputs=inputs, output="logits", shows_not=shows_not)


def _words(n: int, *, mask: bool = True, front: bool = False) -> dict[str, Tensor]:
    """Words of which every third row is shorter, filled up with padding where there is a mask."""
    words = torch.randint(_FIRST, _WORDS, (n, _LENGTH))
    if not mask:
        return {"input_ids": words}
    short = (torch.arange(n) % 3 == 1)[:, None] & (torch.arange(_LENGTH) >= _LENGTH - 3)
    if front:
        short = short.flip(1)
    else:  # every text ends with the word that says so
        words[torch.arange(n), (~short).sum(1) - 1] = _END
    return {"input_ids": words.masked_fill(short, 0), "attention_mask": (~short).long()}


_SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
_SIZES |= {"intermediate_size": 32}
_TEXT = {**_SIZES, "vocab_size": _WORDS, "max_position_embeddings": 40}
_TEXT |= {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def _text(
    family: str,
    *,
    task: str = "ForSequenceClassification",
    mask: bool = True,
    without: str = "",
    **more: Any,
) -> Net:
    """A network that reads; without: a setting that it does not have."""
    settings = {name: value for name, value in _TEXT.items() if name != without}
    inputs = partial(_words, mask=mask, front=task == "Model")
    return _net(family, inputs, task, **{**settings, **more})


# The last layer's local attention: only the first word's value is read, which sees all words.
_LOCAL = " ".join(
    f"longformer.encoder.layer.1.attention.self.{each}.{what}"
    for each in ("query", "key", "value")
    for what in ("weight", "bias")
)
_FUNNEL = " ".join(
    f"funnel.encoder.blocks.1.0.attention.{each}"
    for each in ("r_kernel", "r_r_bias", "r_s_bias", "seg_embed")
)
_C2P = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
_BLOCKS = {"block_sizes": [1, 1], "d_model": 16, "n_head": 2, "d_head": 8, "d_inner": 32}
_GROUPS = {"embedding_size": 16, "q_groups": 2, "k_groups": 2, "v_groups": 2}
_GROUPS |= {"post_attention_groups": 1, "intermediate_groups": 2, "output_groups": 2}
_T5 = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
_BART = {"d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2}
_BART |= {"decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32}
_RWKV = {"attention_hidden_size": 16, "context_length": 40, "use_cache": False}
_NEO = {"num_layers": 2, "num_heads": 2, "attention_types": [[["global", "local"], 1]]}

_READERS = {
    "bert": _text("Bert"),
    "deberta_v2": _text("DebertaV2", **_C2P),
    "convbert": _text("ConvBert", embedding_size=16),
    "squeezebert": _text("SqueezeBert", **_GROUPS),
    "fnet": _text("FNet", mask=False),
    "funnel": _text("Funnel", hidden=_FUNNEL, without="num_hidden_layers", **_BLOCKS),
    "nystromformer": _text("Nystromformer", num_landmarks=10, segment_means_seq_len=10),
    "modernbert": _text("ModernBert", global_attn_every_n_layers=2, local_attention=4),
    "longformer": _text("Longformer", attention_window=4, hidden=_LOCAL),
    "canine": _text("Canine", downsampling_rate=2, local_transformer_stride=4, num_hash_buckets=50),
    "gpt_neo": _text("GPTNeo", window_size=4, **_NEO),
    "gptj": _text("GPTJ", n_embd=16, n_layer=2, n_head=2, n_positions=40, rotary_dim=4),
    "opt": _text("OPT", ffn_dim=32, word_embed_proj_dim=16),
    "bloom": _text("Bloom", n_layer=2, n_head=2),
    "mistral": _text("Mistral", num_key_value_heads=1, sliding_window=4),
    "mixtral": _text("Mixtral", num_key_value_heads=1, num_local_experts=3),
    "t5": _text("T5", decoder_start_token_id=0, without="num_hidden_layers", **_T5),
    "bart": _text("Bart", **_BART),
    "mamba": _text("Mamba", task="Model", state_size=4),
    # With a cache the model itself gives no gradients in eval mode.
    "rwkv": _text("Rwkv", task="Model", mask=False, **_RWKV),
}


def _sound(n: int, length: int = 800) -> dict[str, Tensor]:
    """Waves of which every third one is shorter."""
    short = (torch.arange(n) % 3 == 1)[:, None] & (torch.arange(length) >= length * 3 // 4)
    waves = torch.randn(n, length).masked_fill(short, 0)
    return {"input_values": waves, "attention_mask": (~short).long()}


_SPEECH = {**_SIZES, "conv_dim": (8, 8, 8), "conv_stride": (5, 4, 2), "conv_kernel": (10, 4, 3)}
_SPEECH |= {"num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2}
# A layer left out at random in training mode is one of the hostile networks of the other zoo.
_SPEECH |= {"classifier_proj_size": 8, "layerdrop": 0.0}
_WHISPER = {"num_mel_bins": 8, "max_source_positions": 12, "d_model": 16, "encoder_layers": 2}
_WHISPER |= {"encoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_layers": 1}

_SOUNDS = {
    "wav2vec2": _net("Wav2Vec2", _sound, "ForSequenceClassification", **_SPEECH),
    "wavlm": _net("WavLM", _sound, "ForSequenceClassification", **_SPEECH),
    "whisper": _net(
        "Whisper",
        lambda n: {"input_features": torch.randn(n, 8, 24)},
        "ForAudioClassification",
        **{**_WHISPER, "classifier_proj_size": 8},
    ),
}


def _vision(family: str, size: int = 32, **more: Any) -> Net:
    def images(n: int) -> dict[str, Tensor]:
        return {"pixel_values": torch.randn(n, 3, size, size)}

    return _net(family, images, "ForImageClassification", **{"image_size": size, **more})


_VIT = {**_SIZES, "patch_size": 8}
_SWIN = {"embed_dim": 8, "depths": [1, 1], "num_heads": [1, 2], "window_size": 2}
_FOUR = {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1]}
_LEVIT = {"hidden_sizes": [16, 16, 32], "num_attention_heads": [2, 2, 2], "depths": [1, 1, 1]}

_IMAGES = {
    "beit": _vision("Beit", use_relative_position_bias=True, **_VIT),
    "dinov2": _vision("Dinov2", **_VIT),
    "siglip": _vision("Siglip", vision_config={"image_size": 32, **_VIT}),
    "swin": _vision("Swin", **_SWIN),
    "convnextv2": _vision("ConvNextV2", hidden_sizes=[8, 16], depths=[1, 1], num_stages=2),
    "bit": _vision("Bit", embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], num_groups=2),
    "poolformer": _vision("PoolFormer", 64, **_FOUR),
    "pvt": _vision("Pvt", 64, num_attention_heads=[1, 1, 2, 2], **_FOUR),
    "levit": _vision("Levit", 64, key_dim=[8, 8, 8], **_LEVIT),
}

TRANSFORMERS: dict[str, Net] = {**_READERS, **_SOUNDS, **_IMAGES}
