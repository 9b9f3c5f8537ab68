"""Networks of transformers from tiny configurations: nothing is downloaded."""

from functools import partial

import torch
import transformers

from tests.laws.zoo.net import CLASSES, Net

_WORDS, _LENGTH = 60, 10
_END, _FIRST = 2, 5  # smaller numbers are those of padding and other special words


def _made(family, task, settings):
    config = getattr(transformers, f"{family}Config")(**settings)
    return getattr(transformers, f"{family}{task}")(config)


def _net(family, inputs, task, hidden="", **settings):
    """Describe a network of a family, made for a task; hidden: see `Net.shows_not`."""
    build = partial(_made, family, task, {"num_labels": CLASSES, **settings})
    return Net(
        build=build, inputs=inputs, output="logits", shows_not=frozenset(hidden.split())
    )


def _words(n):
    """Draw words; every third row is shorter, filled up with padding."""
    words = torch.randint(_FIRST, _WORDS, (n, _LENGTH))
    short = (torch.arange(n) % 3 == 1)[:, None] & (torch.arange(_LENGTH) >= _LENGTH - 3)
    words[torch.arange(n), (~short).sum(1) - 1] = (
        _END  # every text ends with the word for it
    )
    return {"input_ids": words.masked_fill(short, 0), "attention_mask": (~short).long()}


_SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}
_TEXT = {
    **_SIZES,
    "vocab_size": _WORDS,
    "max_position_embeddings": 40,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def _text(family, *, without="", **more):
    """Describe a network that reads; without: a setting that it does not have."""
    settings = {name: value for name, value in _TEXT.items() if name != without}
    return _net(family, _words, "ForSequenceClassification", **{**settings, **more})


_FUNNEL = " ".join(
    f"funnel.encoder.blocks.1.0.attention.{each}"
    for each in ("r_kernel", "r_r_bias", "r_s_bias", "seg_embed")
)
_C2P = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
_BLOCKS = {
    "block_sizes": [1, 1],
    "d_model": 16,
    "n_head": 2,
    "d_head": 8,
    "d_inner": 32,
}
_BART = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
}

_READERS = {
    "bert": _text("Bert"),
    "deberta_v2": _text("DebertaV2", **_C2P),
    "convbert": _text("ConvBert", embedding_size=16),
    "funnel": _text("Funnel", hidden=_FUNNEL, without="num_hidden_layers", **_BLOCKS),
    "nystromformer": _text("Nystromformer", num_landmarks=10, segment_means_seq_len=10),
    "modernbert": _text("ModernBert", global_attn_every_n_layers=2, local_attention=4),
    "canine": _text(
        "Canine", downsampling_rate=2, local_transformer_stride=4, num_hash_buckets=50
    ),
    "gptj": _text("GPTJ", n_embd=16, n_layer=2, n_head=2, n_positions=40, rotary_dim=4),
    "opt": _text("OPT", ffn_dim=32, word_embed_proj_dim=16),
    "bloom": _text("Bloom", n_layer=2, n_head=2),
    "mistral": _text("Mistral", num_key_value_heads=1, sliding_window=4),
    "mixtral": _text("Mixtral", num_key_value_heads=1, num_local_experts=3),
    "bart": _text("Bart", **_BART),
}


def _sound(n, length=800):
    """Draw waves of which every third one is shorter."""
    short = (torch.arange(n) % 3 == 1)[:, None] & (
        torch.arange(length) >= length * 3 // 4
    )
    waves = torch.randn(n, length).masked_fill(short, 0)
    return {"input_values": waves, "attention_mask": (~short).long()}


_SPEECH = {
    **_SIZES,
    "conv_dim": (8, 8, 8),
    "conv_stride": (5, 4, 2),
    "conv_kernel": (10, 4, 3),
    "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2,
    # A layer left out at random in training mode is one of the hostile networks.
    "classifier_proj_size": 8,
    "layerdrop": 0.0,
}
_WHISPER = {
    "num_mel_bins": 8,
    "max_source_positions": 12,
    "d_model": 16,
    "encoder_layers": 2,
    "encoder_attention_heads": 2,
    "encoder_ffn_dim": 32,
    "decoder_layers": 1,
    "classifier_proj_size": 8,
}

_SOUNDS = {
    "wav2vec2": _net("Wav2Vec2", _sound, "ForSequenceClassification", **_SPEECH),
    "whisper": _net(
        "Whisper",
        lambda n: {"input_features": torch.randn(n, 8, 24)},
        "ForAudioClassification",
        **_WHISPER,
    ),
}


def _vision(family, size=32, **more):
    def images(n):
        return {"pixel_values": torch.randn(n, 3, size, size)}

    return _net(
        family, images, "ForImageClassification", **{"image_size": size, **more}
    )


_VIT = {**_SIZES, "patch_size": 8}
_SWIN = {"embed_dim": 8, "depths": [1, 1], "num_heads": [1, 2], "window_size": 2}
_FOUR = {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1]}

_IMAGES = {
    "beit": _vision("Beit", use_relative_position_bias=True, **_VIT),
    "dinov2": _vision("Dinov2", **_VIT),
    "swin": _vision("Swin", **_SWIN),
    "convnextv2": _vision(
        "ConvNextV2", hidden_sizes=[8, 16], depths=[1, 1], num_stages=2
    ),
    "poolformer": _vision("PoolFormer", 64, **_FOUR),
}

TRANSFORMERS = {**_READERS, **_SOUNDS, **_IMAGES}
