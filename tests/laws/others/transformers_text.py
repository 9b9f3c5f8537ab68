"""Networks of transformers that read: encoders, decoders, state-space models."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor

from tests.laws.others.laws import CLASSES
from tests.laws.others.tiny import tiny
from tests.laws.zoo.net import Net

_WORDS, _LENGTH = 60, 10
_END, _FIRST = 2, 5  # the numbers below it are those of padding and other special words


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


_TEXT: dict[str, Any] = {
    "vocab_size": _WORDS,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 40,
    "num_labels": CLASSES,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_CLASSIFIER = "ForSequenceClassification"


def _text(
    family: str,
    *,
    task: str = _CLASSIFIER,
    mask: bool = True,
    without: str = "",
    hidden: str = "",
    **more: Any,
) -> Net:
    """A network that reads.

    without: a setting that it has not; hidden: names with a space in between of what its features
    depend on without ever showing it, as attention of words that are not read.
    """
    settings = {name: value for name, value in _TEXT.items() if name != without}
    inputs = partial(_words, mask=mask, front=task == "Model")
    return tiny(family, inputs, task, {**settings, **more}, frozenset(hidden.split()))


# The last layer's attention between neighbors, and by distance: only the first word's value is
# read, which sees all words, at no distance.
_LOCAL = " ".join(
    f"longformer.encoder.layer.1.attention.self.{each}.{what}"
    for each in ("query", "key", "value")
    for what in ("weight", "bias")
)

_FUNNEL = " ".join(
    f"funnel.encoder.blocks.1.0.attention.{each}"
    for each in ("r_kernel", "r_r_bias", "r_s_bias", "seg_embed")
)

_ENCODERS = {
    "bert": _text("Bert"),
    "roberta": _text("Roberta"),
    "albert": _text("Albert", embedding_size=8),
    "electra": _text("Electra", embedding_size=8),
    "distilbert": _text("DistilBert", dim=16, hidden_dim=32, n_layers=2, n_heads=2),
    "deberta": _text("Deberta", relative_attention=True, pos_att_type=["c2p", "p2c"]),
    "deberta_v2": _text("DebertaV2", relative_attention=True, pos_att_type=["c2p", "p2c"]),
    "mpnet": _text("MPNet"),
    "convbert": _text("ConvBert", embedding_size=16),
    "squeezebert": _text(
        "SqueezeBert",
        embedding_size=16,
        q_groups=2,
        k_groups=2,
        v_groups=2,
        post_attention_groups=1,
        intermediate_groups=2,
        output_groups=2,
    ),
    "mobilebert": _text(
        "MobileBert", embedding_size=16, intra_bottleneck_size=8, num_feedforward_networks=2
    ),
    "fnet": _text("FNet", mask=False),
    "funnel": _text(
        "Funnel",
        hidden=_FUNNEL,
        without="num_hidden_layers",
        block_sizes=[1, 1],
        d_model=16,
        n_head=2,
        d_head=8,
        d_inner=32,
    ),
    "roformer": _text("RoFormer", embedding_size=16),
    "nystromformer": _text("Nystromformer", num_landmarks=10, segment_means_seq_len=10),
    "modernbert": _text("ModernBert", global_attn_every_n_layers=2, local_attention=4),
    "longformer": _text("Longformer", attention_window=4, hidden=_LOCAL),
    "canine": _text("Canine", downsampling_rate=2, local_transformer_stride=4, num_hash_buckets=50),
    "esm": _text("Esm", mask_token_id=3),
    "xlnet": _text(
        "XLNet", without="max_position_embeddings", d_model=16, n_layer=2, n_head=2, d_inner=32
    ),
}

_DECODERS = {
    "gpt2": _text("GPT2", n_embd=16, n_layer=2, n_head=2, n_positions=40),
    "gpt_neo": _text(
        "GPTNeo",
        num_layers=2,
        num_heads=2,
        attention_types=[[["global", "local"], 1]],
        window_size=4,
    ),
    "gpt_neox": _text("GPTNeoX"),
    "gptj": _text("GPTJ", n_embd=16, n_layer=2, n_head=2, n_positions=40, rotary_dim=4),
    "opt": _text("OPT", ffn_dim=32, word_embed_proj_dim=16),
    "bloom": _text("Bloom", n_layer=2, n_head=2),
    "falcon": _text("Falcon", alibi=False),
    "mpt": _text("Mpt", d_model=16, n_layers=2, n_heads=2, max_seq_len=40),
    "llama": _text("Llama", num_key_value_heads=1),
    "mistral": _text("Mistral", num_key_value_heads=1, sliding_window=4),
    "mixtral": _text("Mixtral", num_key_value_heads=1, num_local_experts=3),
    "qwen2": _text("Qwen2", num_key_value_heads=1),
    "qwen3": _text("Qwen3", num_key_value_heads=1, head_dim=8),
    "gemma": _text("Gemma", num_key_value_heads=1, head_dim=8),
    "gemma2": _text("Gemma2", num_key_value_heads=1, head_dim=8, sliding_window=4),
    "phi": _text("Phi"),
    "stablelm": _text("StableLm", num_key_value_heads=1),
    "t5": _text(
        "T5",
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=2,
        num_heads=2,
        decoder_start_token_id=0,
        without="num_hidden_layers",
    ),
    "bart": _text(
        "Bart",
        d_model=16,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
    ),
}

_STATES = {
    "mamba": _text("Mamba", task="Model", state_size=4),
    "mamba2": _text(
        "Mamba2", task="Model", state_size=4, num_heads=4, head_dim=8, n_groups=1, chunk_size=4
    ),
    "falcon_mamba": _text("FalconMamba", task="Model", state_size=4),
    "rwkv": _text(
        "Rwkv",
        task="Model",
        mask=False,
        attention_hidden_size=16,
        context_length=40,
        use_cache=False,  # with it the model itself gives no gradients in eval mode
    ),
    "recurrent_gemma": _text(
        "RecurrentGemma",
        task="Model",
        lru_width=16,
        num_key_value_heads=1,
        head_dim=8,
        num_hidden_layers=3,
        attention_window_size=4,
    ),
}

READERS: dict[str, Net] = {**_ENCODERS, **_DECODERS, **_STATES}
