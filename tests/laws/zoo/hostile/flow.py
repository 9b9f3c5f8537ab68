"""Networks whose forward pass is awkward: calls twice, branches, mixes rows, draws, remembers."""

import random

import torch
from torch import Tensor, nn, relu, tanh
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from tests.laws.zoo.net import CACHED, RIGHT, SAFE, SLOW
from tests.laws.zoo.written import written


@written(
    "layer#1 layer#2",
    {"layer": (6, 6), "head": (6, 3)},
    refuses={
        "layer": r"layer#\d",
        "layer#3": "layer",
        "layer#0": "layer",
    },
)
def called_twice(m, x):
    h = m.layer(relu(m.layer(x)))
    return m.head(h)


@written(
    "block#1 block.0#2 head",
    {"block": lambda: nn.Sequential(nn.Linear(6, 6), nn.Tanh()), "head": (6, 3)},
    refuses={"block.1": r"block\.1#\d"},
)
def recurrent_block(m, x):
    h = x
    for _ in range(3):
        h = m.block(h) + x
    return m.head(h)


@written(
    "encode decode", {"encode": lambda: nn.Linear(6, 4, bias=False), "decode": (6, 3)}
)
def tied_weights(m, x):
    h = F.linear(tanh(m.encode(x)), m.encode.weight.t())
    return m.decode(h)


@written(
    "a b spare",
    also={"spare": (6, 2), "unused": (6, 6)},
    refuses={"unused": "not run|does not"},
)
def a_feature_off_the_path(m, x):
    h = tanh(m.a(x))
    m.spare(h)
    return m.c(tanh(m.b(h)))


@written({"a": RIGHT, "b": RIGHT, "mark": RIGHT}, refuses={"c": r"c#\d"})
def works_in_chunks(m, x):
    """The number of operations depends on the size of the batch."""
    h = m.b(torch.cat([part.tanh() for part in m.a(x).split(3)]))
    return torch.cat([m.c(part) for part in m.mark(h).split(2)])


@written(also={"d": (6, 6)})
def drops_a_layer_downstream(m, x):
    h = tanh(m.a(x))
    h = tanh(m.b(h))
    if not m.training or torch.rand(()) < 0.5:
        h = h + m.d(h)
    return m.c(h)


@written(
    {"mark": SAFE},
    also={"d": (6, 6)},
    both_sides=True,
    live=False,
)
def drops_a_layer_before(m, x):
    h = tanh(m.a(x))
    if not m.training or torch.rand(()) < 0.5:
        h = h + m.d(h)
    h = m.mark(h)
    h = tanh(m.b(h))
    return m.c(h)


@written(ways=SAFE)
def branches_on_the_data(m, x):
    """The path of the whole batch depends on all of it."""
    h = m.a(x)
    h = tanh(m.b(h if x.mean() > 0 else -h))
    return m.c(h)


@written({"a": (CACHED,), "b": SAFE})
def mixes_rows(m, x):
    h = tanh(m.a(x))
    h = tanh(m.b((h @ h.T).softmax(-1) @ h))
    return m.c(h)


@written("a")
def branches_on_the_mode(m, x):
    """The feature does not run in training mode, unless the code around it stays in eval mode."""
    layer = m.b if m.training else m.a
    h = relu(layer(x))
    return m.c(h)


@written({}, refuses={"b": "stay"})
def chooses_by_a_number_of_the_rest(m, x):
    """The way to the feature depends on the value of a layer that does not feed it."""
    h = m.a(x)
    times = 1 + int(m.c(h).mean(0).argmax())
    return m.b(h * times) + m.c(h).sum(1, keepdim=True)


@written(
    "mark",
    {
        "conv": lambda: nn.Conv2d(1, 2, 3, padding=1),
        "mark": nn.Identity,
        "c": (2, 3),
    },
    shape=(1, 8, 8),
    rows=12,
)
def branches_on_the_batch_size(m, x):
    """Another path for larger batches, and for larger images."""
    b, _, h, w = x.shape
    x = m.mark(relu(m.conv(x))).view(b, 2, h * w)
    x = x * 2 if b > 6 else x
    pool = torch.mean if h > 4 else torch.amax
    return m.c(pool(x, 2))


@written("c")
def noise_in_training(m, x):
    """Downstream of the output nothing is trained, so that noise in training does not matter."""
    h = m.a(x)
    if m.training:
        h = h + torch.randn_like(h)
    return m.c(h)


@written(live=True)
def draws_from_pythons_random(m, x):
    h = tanh(m.a(x))
    h = tanh(m.b(h))
    if m.training:
        h = h * (1 + random.random())
    return m.c(h)


@written("a", live=True)
def rolls_by_a_number_drawn_in_training(m, x):
    steps = 0
    scale = 0.1
    if m.training:
        steps = random.randint(1, 5)
        scale = 1.0
    return m.c(torch.roll(m.a(x), steps, 1) * scale)


@written(live=True)
def anneals_by_a_counter_of_its_own(m, x):
    """The counter is a plain attribute: no state dict has it."""
    m.steps = getattr(m, "steps", 0) + m.training
    h = tanh(m.a(x))
    h = tanh(m.b(h))
    return m.c(h / (1 + m.steps))


_FOREIGN = nn.Linear(6, 6)


@written({}, refuses={"c": "register the module"})
def a_layer_that_is_not_its_own(m, x):
    return m.c(relu(_FOREIGN(x)))


def _flat(model):
    vector = nn.utils.parameters_to_vector(model.parameters()).detach().clone()
    nn.utils.vector_to_parameters(vector, model.parameters())
    return model


@written(wrap=_flat)
def parameters_in_one_storage(m, x):
    """As `vector_to_parameters` leaves them: all of them views of one vector."""
    h = relu(m.a(x))
    h = relu(m.b(h))
    return m.c(h)


@written(
    "a norm c",
    {
        "c": (4, 3),
        "norm": lambda: nn.BatchNorm1d(4, affine=False),
        "a": (6, 4),
    },
)
def registered_from_the_end(m, x):
    h = m.norm(m.a(x))
    return m.c(h)


@written({}, refuses={"a": ".", "b": "."})
def noise_before(m, x):
    h = m.a(x + 0.1 * torch.randn_like(x))
    h = tanh(m.b(h))
    return m.c(h)


@written(ways=SAFE)
def noise_downstream(m, x):
    h = tanh(m.a(x))
    h = tanh(m.b(h))
    h = F.dropout(h, 0.5, training=True)
    return m.c(h)


@written("a b", also={"mean": lambda: torch.zeros(6)})
def buffers_written_before(m, x):
    h = tanh(m.a(x - m.mean))
    h = m.c(tanh(m.b(h)))
    if m.training:
        m.mean.lerp_(x.mean(0), 0.1)
    return h


@written(also={"count": lambda: torch.zeros(()), "mean": lambda: torch.zeros(6)})
def buffers_written_downstream(m, x):
    h = m.b(tanh(m.a(x)))
    if m.training:
        m.count += 1
        m.mean.lerp_(h.detach().mean(0), 0.1)
    return m.c(tanh(h - m.mean))


@written(also={"mean": lambda: torch.zeros(6)})
def a_buffer_replaced(m, x):
    h = m.b(tanh(m.a(x)))
    if m.training:
        m.mean = 0.9 * m.mean + 0.1 * h.detach().mean(0)
    return m.c(tanh(h - m.mean))


@written()
def gradients_cut_off(m, x):
    with torch.no_grad():
        h = tanh(m.a(x))
    h = tanh(m.b(h))
    return m.c(h + h.detach())


@written()
def checkpointed(m, x):
    h = checkpoint(
        lambda t: tanh(m.a(t)),
        x,
        use_reentrant=False,
    )
    h = checkpoint(
        lambda t: tanh(m.b(t)),
        h,
        use_reentrant=False,
    )
    return m.c(h)


@written()
def many_outputs(m, x):
    h = torch.repeat_interleave(m.a(x), 2, 1)[:, ::2]
    top, where = h.topk(3, dim=1)
    largest = h.max(dim=1)
    parts = [part[:, None] for part in h.unbind(1)]
    h = torch.cat([*parts[:3], top], 1)
    h = h.gather(1, where.repeat(1, 2))
    h = h + largest.values[:, None]
    value = tanh(m.b(h))
    scale = torch.fft.rfft(h).abs()
    return m.c(value * scale.mean(1, keepdim=True))


@written()
def attributes_and_casts(m, x):
    h = m.a(x)
    n, d = h.shape
    ones = torch.ones_like(h) + torch.zeros(n, d, dtype=h.dtype, device=h.device)
    h = h.T.mT.double().to(h)
    h = h.type(torch.float32) * ones
    h = h.reshape(len(h), -1)[..., None]
    assert isinstance(h, Tensor)
    assert h.is_contiguous()
    h = m.b(h.squeeze(-1)).contiguous().view(n, d)
    return m.c(h)


class Pair(nn.Module):
    """Gives a tuple, and takes its input by keyword."""

    def __init__(self):
        super().__init__()
        self.p = nn.Linear(6, 6)
        self.q = nn.Linear(6, 6)

    def forward(self, *, x, scale):
        return self.p(x) * scale, {"q": self.q(x), "scale": torch.tensor(scale)}


@written("pair pair.p b", also={"pair": Pair})
def a_feature_of_several_tensors(m, x):
    p, more = m.pair(x=x, scale=2.0)
    h = tanh(m.b(p * more["q"]))
    return m.c(h)


@written({"a": (CACHED,), "b": (SLOW,)})
def repeats_by_the_data(m, x):
    """As many columns as the input says, which happen to be six."""
    times = (x[0] * 0 + 1).long()
    h = tanh(torch.repeat_interleave(m.a(x), times, 1))
    return m.c(tanh(m.b(h)))


@written("b", also={"query": lambda: nn.Parameter(torch.randn(1, 6))})
def a_layer_of_a_view_of_a_parameter(m, x):
    h = x * m.a(m.query.expand(len(x), -1))
    return m.c(tanh(m.b(h)))


@written({"a": (CACHED,), "b": (SLOW,)})
def refuses_large_values(m, x):
    """As sparsemax, which takes no NaN."""
    times = (x[0] * 0 + 1).long()
    h = tanh(torch.repeat_interleave(m.a(x), times, 1))
    h = m.c(tanh(m.b(h)))
    if h.abs().max() > 3:
        raise IndexError("index -1 is out of bounds")
    return h


@written({"a": (SLOW,)}, refuses={"b": "differs for the same input"})
def remembers_the_batch_before(m, x):
    h = m.a(x)
    before = getattr(m, "before", None)
    m.before = h.detach().mean(0)
    if before is not None:
        h = h + before
    return m.c(tanh(m.b(h)))


@written(
    "a pool b",
    {
        "a": (6, 6),
        "pool": nn.Identity,
        "b": (6, 6),
        "c": (6, 3),
    },
    shape=(5, 6),
)
def graph_layers(m, x):
    """As many edges as the data have, self-loops left out; their number scales the output."""
    graph, i, j = (x[:, :, :5] > 0.3).nonzero(as_tuple=True)
    edges = torch.stack([5 * graph + i, 5 * graph + j])
    edges = edges[:, edges[0] != edges[1]]
    h = m.a(x).flatten(0, 1)
    messages = h[edges[0]] * torch.ones(edges.size(1), 1)
    h = tanh(torch.zeros_like(h).index_add_(0, edges[1], messages))
    h = m.pool(h.view(-1, 5, 6).sum(1))
    h = tanh(m.b(h))
    return m.c(h) / edges.shape[1]
