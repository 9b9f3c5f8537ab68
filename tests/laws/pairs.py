"""Networks before and after, of which it is known what was done to them, for `probe.diff`.

    python -m tests.laws.pairs --seed 0

The layer that is damaged, and the way, are drawn from the seed. Damage is made stronger
until it costs enough. A pair is `alone` if nothing else has changed, `tuned` if the
damage follows a little training on examples old and new, which changes every tensor and
costs next to nothing.
"""

import argparse
import time
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, cross_entropy, mse_loss

import probe

Examples = tuple[Any, Tensor]

LEAST = {
    "accuracy": 0.08,
    "loss": 0.1,
    "squared_error": 0.1,
}  # what damage must cost
STRENGTHS = (0.25, 0.5, 1, 2, 5, 30)
N_CLASSES = 10
SILENT = -100  # no next token


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A network before and after, and what was done to it."""

    name: str
    network: str
    kind: str  # fault, statistics, attribute, renamed, domain or classes
    before: nn.Module
    after: nn.Module
    old: Examples
    new: Examples | None
    train: tuple[Examples, Examples] | None  # old, new
    score: str
    output: str | None = None
    blocks: str | Mapping[str, Any] = "auto"
    guilty: str  # a module or a parameter; "" if it is all of the training


class Skip(nn.Module):
    """Two convolutions beside their input, with either norm, and a mask that no file has."""

    def __init__(self, width):
        super().__init__()
        self.mask = torch.ones(width, 1, 1)
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.norm2 = nn.GroupNorm(4, width)

    def forward(self, x):
        inside = self.norm1(self.conv1(x)).relu()
        return (x + self.norm2(self.conv2(inside))).relu() * self.mask


class SkipNet(nn.Module):
    """A CNN that is called with `image=`."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()
        )
        self.body = nn.Sequential(Skip(16), Skip(16))
        self.down = nn.Sequential(nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU())
        self.tail = Skip(32)
        self.fc = nn.Linear(128, N_CLASSES)

    def forward(self, image):
        x = self.tail(self.down(self.body(self.stem(image))))
        return self.fc(avg_pool2d(x, 2).flatten(1))


class Layer(nn.Module):
    """Attention, with a plain temperature, and an MLP."""

    def __init__(self):
        super().__init__()
        self.temperature = 8**0.5
        self.ln1 = nn.LayerNorm(32)
        self.qkv = nn.Linear(32, 96)
        self.proj = nn.Linear(32, 32)
        self.ln2 = nn.LayerNorm(32)
        self.mlp = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))

    def forward(self, x):
        heads = self.qkv(self.ln1(x)).unflatten(-1, (3, 4, 8))
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        weights = (query @ key.mT / self.temperature).softmax(-1)
        x = x + self.proj((weights @ value).transpose(1, 2).flatten(2))
        return x + self.mlp(self.ln2(x))


class Vit(nn.Module):
    """A ViT with a parameter that is in no layer."""

    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(1, 32, 2, 2)
        self.position = nn.Parameter(0.1 * torch.randn(1, 16, 32))
        self.layers = nn.Sequential(Layer(), Layer(), Layer())
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(32, N_CLASSES)

    def forward(self, x):
        tokens = self.patch(x).flatten(2).mT + self.position
        return self.head(self.norm(self.layers(tokens)).mean(1))


class Rescale(nn.Module):
    """A plain number and no parameters."""

    def __init__(self):
        super().__init__()
        self.factor = 1.0

    def forward(self, x):
        return x * self.factor


class Listener(nn.Module):
    """The last step of an LSTM of three layers."""

    def __init__(self):
        super().__init__()
        self.scale = Rescale()
        self.lstm = nn.LSTM(3, 32, num_layers=3, batch_first=True)
        self.classifier = nn.Linear(32, N_CLASSES)

    def forward(self, x):
        return self.classifier(self.lstm(self.scale(x))[0][:, -1])


class Regression(nn.Sequential):
    def __init__(self):
        layers = []
        for size, width in ((6, 64), (64, 48), (48, 32)):
            layers += [
                nn.Linear(size, width),
                nn.BatchNorm1d(width),
                nn.ReLU(),
            ]
        super().__init__(*layers, nn.Linear(32, 2), Rescale())


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {
        "vocab_size": 16,
        "n_positions": 16,
        "n_embd": 32,
        "n_layer": 3,
        "n_head": 4,
    }
    return GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0))


def digits():
    """Return digits, and their transposed negatives."""
    pixels, labels = load_digits(return_X_y=True)
    x = torch.tensor(pixels / 16).float().reshape(-1, 1, 8, 8)
    y = torch.tensor(labels)
    return {"old": (x, y), "domain": (1 - x.mT, y)}


def curves():
    """Return curves in space, run through at various speeds, and backwards."""
    y = torch.randint(N_CLASSES, [2000])
    phase = (0.8 + 0.4 * torch.rand(2000, 1, 1)) * torch.arange(20)[:, None] / 3
    waves = torch.cat([(k * phase).sin() for k in range(1, 5)], 2)
    x = waves @ torch.randn(N_CLASSES, 4, 3)[y] + 0.2 * torch.randn(2000, 20, 3)
    return {"old": (x, y), "domain": (x.flip(1), y)}


def language(tables):
    """Return texts in which a token depends on the last two; some tokens are not asked for."""
    text = torch.randint(16, (1200, 5))
    while text.shape[1] < 17:
        logits = tables[0][text[:, -1]] + 2 * tables[1][text[:, -2]]
        text = torch.cat([text, torch.multinomial(logits.softmax(1), 1)], 1)
    return text[:, :-1], text[:, 1:].where(torch.rand(1200, 16) < 0.8, SILENT)


def texts():
    """Return texts of a language, of the same with rarer words, and of another."""
    tables = 1.5 * torch.randn(2, 2, 16, 16)
    return {
        "old": language(tables[0]),
        "mild": language(0.9 * tables[0]),
        "domain": language(tables[1]),
    }


def measurements():
    """Return two smooth functions of six numbers, also in another range."""
    inner = torch.randn(6, 5) / 2
    outer = torch.randn(5, 2) / 2
    x = torch.randn(2000, 6)
    examples = {"old": x, "domain": x + 2.5}
    return {
        name: (values, (values @ inner).sin() @ outer)
        for name, values in examples.items()
    }


@dataclass(frozen=True, kw_only=True)
class World:
    """A network, what it learns, and what is done to it."""

    build: Callable
    draw: Callable
    kinds: str
    places: Mapping[
        str, str
    ]  # what may be damaged, by kind; any weight if it is a fault
    score: str = "accuracy"
    blocks: Any = "auto"  # of every other pair


WORLDS = {
    "cnn": World(
        build=SkipNet,
        draw=digits,
        kinds="fault fault statistics statistics renamed attribute domain classes",
        places={
            "statistics": "stem.1 body.0.norm1 body.1.norm1 tail.norm1",
            "attribute": "body.0.mask body.1.mask tail.mask",
            "renamed": "fc",
        },
    ),
    "vit": World(
        build=Vit,
        draw=digits,
        kinds="fault fault attribute renamed domain classes",
        places={
            "attribute": (
                "layers.0.temperature layers.1.temperature layers.2.temperature"
            ),
            "renamed": "head",
        },
    ),
    "lstm": World(
        build=Listener,
        draw=curves,
        kinds="fault attribute renamed fault domain classes",
        places={"attribute": "scale.factor", "renamed": "classifier"},
        blocks={
            "lstm 1": "lstm.*_l0",
            "lstm 2": "lstm.*_l1",
            "lstm 3": "lstm.*_l2",
            "classifier": "classifier.*",
        },
    ),
    "gpt2": World(
        build=gpt2,
        draw=texts,
        kinds="fault fault attribute domain",
        places={
            "attribute": "transformer.h.0.attn.scaling transformer.h.1.attn.scaling "
            "transformer.h.2.attn.scaling",
        },
        score="loss",
        blocks={
            "embeddings": ["transformer.wte.*", "transformer.wpe.*"],
            "layer 1": "transformer.h.0.*",
            "layer 2": "transformer.h.1.*",
            "layer 3": "transformer.h.2.*",
            "last norm": "transformer.ln_f.*",
        },
    ),
    "regression": World(
        build=Regression,
        draw=measurements,
        kinds="fault fault statistics statistics attribute domain",
        places={"statistics": "1 4 7", "attribute": "10.factor"},
        score="squared_error",
    ),
}


def take(examples, rows):
    x, y = examples
    return x[rows], y[rows]


def drawn(world):
    """Return training and test examples by the kind of new examples, or `old`."""
    examples = world.draw()
    x, y = examples["old"]
    examples.setdefault("mild", (x + 0.1 * torch.randn(x.shape), y))
    if "renamed" in world.places:
        is_old = torch.isin(y, torch.randperm(N_CLASSES)[:-2])
        classes = take((x, y), ~is_old)
        examples = {name: take(part, is_old) for name, part in examples.items()}
        examples["classes"] = classes
    train = {name: (x[::2], y[::2]) for name, (x, y) in examples.items()}
    test = {name: (x[1::2], y[1::2]) for name, (x, y) in examples.items()}
    return train, test


def loss(network, x, y):
    values = network(x)
    values = getattr(values, "logits", values)
    if y.is_floating_point():
        return mse_loss(values, y)
    return cross_entropy(values.flatten(0, -2), y.flatten(), ignore_index=SILENT)


@torch.no_grad()
def score(network, examples, name):
    """Return what a network scores; more is better."""
    x, y = examples
    if name == "accuracy":
        return network(x).argmax(1).eq(y).double().mean().item()
    return -loss(network, x, y).item()


def learn(network, examples, epochs, rate=0.003):
    """Return a copy that has learned the examples; the rate falls to 0."""
    network = deepcopy(network).train()
    optimizer = torch.optim.Adam(network.parameters())
    for epoch in range(epochs):
        optimizer.param_groups[0]["lr"] = rate * (1 - epoch / epochs)
        for rows in torch.randperm(len(examples[1])).split(64):
            optimizer.zero_grad()
            loss(network, *take(examples, rows)).backward()
            optimizer.step()
    return network.eval()


def noise(network, name, strength):
    weight = network.get_parameter(name)
    weight += strength * weight.std() * torch.randn(weight.shape)


def scale(network, name, strength):
    weight = network.get_parameter(name)
    weight *= 1 + strength


def zero(network, name, strength):
    weight = network.get_parameter(name)
    weight[torch.rand(len(weight)) > 2**-strength] = 0


def replace_statistics(network, name, strength):
    norm = network.get_submodule(name)
    norm.running_mean += (
        strength * norm.running_var.sqrt() * torch.randn(len(norm.running_var))
    )
    norm.running_var *= 1 + strength


def change_number(network, path, strength):
    """Raise a number, or mask some channels."""
    name, _, key = path.rpartition(".")
    module = network.get_submodule(name)
    value = getattr(module, key)
    change = 1 + strength
    if isinstance(value, Tensor):
        change = torch.rand(value.shape) < 2**-strength
    setattr(module, key, value * change)


def rename(network, name, strength):
    """Permute at least two of the outputs."""
    head = network.get_submodule(name)
    n_moved = torch.randint(2, N_CLASSES, [])
    moved = torch.randperm(N_CLASSES)[:n_moved]
    for tensor in (head.weight, head.bias):
        tensor[moved] = tensor[moved.roll(1)]


DAMAGE = {
    "fault": [noise, scale, zero],
    "statistics": [replace_statistics],
    "attribute": [change_number],
    "renamed": [rename],
}


def shuffled(values):
    return [values[i] for i in torch.randperm(len(values))]


@torch.no_grad()
def damaged(kind, world, network, test, avoid):
    """Return a network that is worse by enough, and what was damaged."""
    enough = score(network, test, world.score) - LEAST[world.score]
    weights = [name for name, tensor in network.named_parameters() if tensor.dim() > 1]
    places = world.places.get(kind, "").split() or weights
    for place in shuffled([place for place in places if place not in avoid]):
        for way in shuffled(DAMAGE[kind]):
            for strength in STRENGTHS:
                result = deepcopy(network)
                way(result, place, strength)
                if score(result, test, world.score) < enough:
                    return result, place
    raise AssertionError(f"no {kind} is bad enough")


def pairs_of(name):
    world = WORLDS[name]
    train, test = drawn(world)
    before = learn(world.build(), train["old"], 20)
    both = zip(train["old"], train["mild"], strict=True)
    tuned = learn(
        before,
        [torch.cat(halves) for halves in both],
        1,
        rate=0.0005,
    )
    avoid = []
    for index, kind in enumerate(world.kinds.split()):
        is_alone = index % 2 == 1 and kind != "fault"
        how = "alone" if is_alone else "tuned"
        new = "mild"
        if kind in DAMAGE:
            start = before if is_alone else tuned
            after, place = damaged(kind, world, start, test["old"], avoid)
        else:
            how = "trained"
            new = kind
            place = ""
            after = learn(before, train[kind], 12)
        avoid.append(place)
        parts = [train["old"], train[new], test["old"], test[new]]
        if name == "cnn":
            parts = [({"image": x}, y) for x, y in parts]
        yield Pair(
            name=f"{name} {index} {kind} {how}",
            network=name,
            kind=kind,
            before=before,
            after=after,
            train=tuple(parts[:2]),
            old=parts[2],
            new=parts[3],
            score=world.score,
            output="logits" if name == "gpt2" else None,
            blocks="auto" if index % 2 else world.blocks,
            guilty=place.removesuffix(".weight"),
        )


def pairs(seed):
    """Return the pairs of a seed, network by network."""
    for name in WORLDS:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            pairs_of_network = list(pairs_of(name))
        yield from pairs_of_network


def compared(pair, train=None):
    """Compare the networks of a pair, with stored examples or without."""
    return probe.diff(
        pair.before,
        probe.Model(pair.after, output=pair.output),
        pair.old,
        pair.new,
        train=train,
        blocks=pair.blocks,
        score=pair.score,
    )


def guilty_block(diff, pair):
    """Return the block of which the name, or that of something in it, says most of the place."""
    guilty = f"{pair.guilty}."
    lengths = {}
    for block in diff.causes["feature"]:
        lengths[block] = 0
        module = block.removeprefix("attributes of ")
        names = [module] if module != block else [block, *diff.inside(block)["feature"]]
        for name in names:
            path = f"{name}."
            if path.startswith(guilty) or guilty.startswith(path):
                lengths[block] = max(lengths[block], len(name))
    return max(lengths, key=lengths.__getitem__)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    torch.set_num_threads(1)
    for pair in pairs(parser.parse_args().seed):
        started = time.perf_counter()
        diff = compared(pair, pair.train)
        seconds = time.perf_counter() - started
        first = [line.block.partition(" (")[0] for line in diff.answer.blocks[:3]]
        is_named = pair.guilty and guilty_block(diff, pair) in first
        print(f"{pair.name}: {diff.answer.kind}; {pair.guilty} in {first}: {is_named}")
        print(*str(diff).splitlines()[:3], f"{seconds:.1f} s", sep="\n    ")


if __name__ == "__main__":
    main()
