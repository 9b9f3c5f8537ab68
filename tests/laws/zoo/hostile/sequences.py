"""Networks over time or words: attention, recurrence, embeddings, masks."""

import torch
from torch import nn, tanh
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tests.laws.zoo.net import RIGHT, SAFE
from tests.laws.zoo.written import written


@written(
    "a norm b",
    {
        "a": lambda: nn.MultiheadAttention(
            8,
            2,
            dropout=0.2,
            batch_first=True,
        ),
        "b": lambda: nn.MultiheadAttention(8, 2, batch_first=True),
        "norm": lambda: nn.LayerNorm(8),
        "c": (8, 3),
    },
    shape=(4, 8),
    refuses={"a.out_proj": "not run|does not"},
)
def multihead_attention(m, x):
    h = m.norm(x + m.a(x, x, x)[0])
    attended, weights = m.b(
        h,
        h,
        h,
        need_weights=True,
        average_attn_weights=False,
    )
    h = (attended * weights.mean((1, 2))[..., None]).mean(1)
    return m.c(h)


def _encoder():
    layer = nn.TransformerEncoderLayer(
        8,
        2,
        16,
        dropout=0.3,
        batch_first=True,
        norm_first=True,
    )
    return nn.TransformerEncoder(
        layer,
        2,
        nn.LayerNorm(8),
        enable_nested_tensor=False,
    )


@written(
    "body.layers.0.linear1 body.layers.1.dropout1 body",
    {"body": _encoder, "c": (8, 3)},
    shape=(4, 8),
)
def transformer_encoder(m, x):
    mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
    h = m.body(x, mask=mask, is_causal=True).mean(1)
    return m.c(h)


@written(
    "qkv mark out",
    {
        "qkv": (8, 24),
        "mark": nn.Identity,
        "out": (8, 8),
        "c": (8, 3),
    },
    shape=(4, 8),
)
def scaled_dot_product(m, x):
    q, k, v = m.qkv(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
    h = F.scaled_dot_product_attention(q, k, v)
    h = m.mark(h.transpose(1, 2).flatten(2))
    q = m.out(h)
    dropout = 0.2 if m.training else 0
    h = F.scaled_dot_product_attention(
        q,
        h,
        h,
        dropout_p=dropout,
    )
    return m.c(h.mean(1))


@written(
    "rnn more",
    {
        "rnn": lambda: nn.LSTM(8, 6, 2, dropout=0.4, bidirectional=True),
        "more": lambda: nn.LSTM(12, 5, batch_first=True),
        "c": (22, 3),
    },
    shape=(4, 8),
    ways=RIGHT,
)
def recurrence_time_first_and_batch_first(m, x):
    h, (last, _) = m.rnn(x.transpose(0, 1))
    h, (end, _) = m.more(h.transpose(0, 1))
    h = torch.cat([last[0], last[1], h[:, 0], end[-1]], 1)
    return m.c(h)


def _words(n):
    words = torch.randint(1, 20, (n, 5))
    words[:, 3:] *= torch.randint(0, 2, (n, 2))
    return words


@written(
    {"rnn": SAFE},
    {
        "words": lambda: nn.Embedding(20, 6),
        "rnn": lambda: nn.GRU(6, 6, batch_first=True),
        "b": (6, 6),
        "c": (6, 3),
    },
    shape=(),
    inputs=_words,
)
def packed_sequences(m, x):
    lengths = (x > 0).sum(1)
    packed = pack_padded_sequence(
        m.words(x),
        lengths,
        batch_first=True,
        enforce_sorted=False,
    )
    h, _ = pad_packed_sequence(
        m.rnn(packed)[0],
        batch_first=True,
        total_length=5,
    )
    h = tanh(m.b(h)).mean(1)
    return m.c(h)


@written(
    "words a b",
    also={
        "words": lambda: nn.Embedding(20, 6, padding_idx=0),
        "places": lambda: nn.Embedding(8, 6),
        "bag": lambda: nn.EmbeddingBag(20, 6),
    },
    shape=(),
    inputs=_words,
)
def embedded_words_and_places_with_a_mask(m, x):
    """A frozen value without a row per example is used again by the tail."""
    pad = x == 0
    places = m.places(torch.arange(x.shape[1]))
    h = tanh(m.a(m.words(x) + places)).masked_fill(pad[..., None], 0)
    h = (tanh(m.b(h)) + places).sum(1) / (~pad).sum(1, keepdim=True)
    return m.c(h + m.bag(x))
