"""Remedies: changes of the network after that may help on old examples, each tested on all."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from probe.arrays import Bools, Floats
from probe.batch import Transform, gather, varied
from probe.before_after import changes
from probe.before_after.changes import differing_tensors, tensor_kinds
from probe.before_after.data import PER_TARGET, Stored, halves, joined
from probe.before_after.fitting import (
    averaged,
    best_bias,
    best_renaming,
    fine_tuned,
    outputs_on,
    with_fresh_values,
    with_new_statistics,
)
from probe.before_after.ranking import AS_IT_IS, Remedy
from probe.before_after.setting import Blame, Setting
from probe.cut.model_call import ModelCall
from probe.errors import located
from probe.immutable import immutable
from probe.model import Model
from probe.modules import check_network, copied, named_state
from probe.rewinding.blocks import Blocks, Changed, rewound
from probe.rewinding.hybrids import Names
from probe.rewinding.scoring import Pair, ScoreName, on_device_of, repeatable_eval
from probe.training.batch_norm import running_norms
from probe.training.fresh_weights import without_rule

BEFORE = "before"
PUT_BACK = "put back"
AVERAGE = "average"
STATISTICS = "statistics"
NEW_HEAD = "new head"
HEAD = "head"
EVERYTHING = "everything"
RENAMED = "renamed"
BIAS = "bias"
USER = "user"
"""The kinds of remedies."""

SHARES = {"1/4": 0.25, "1/2": 0.5, "3/4": 0.75}
"""The weights of the network before in averages."""

PER_CLASS = (5, 20)
"""Stored examples of each class."""

STATISTICS_BACK = "norm statistics put back"
ATTRIBUTES_BACK = "attributes put back"
OUTPUTS_RENAMED = "outputs renamed"
EVERYTHING_UNDONE = "the network before"
HALF = "1/2 of before, averaged"
"""The names of some remedies."""

_TRAININGS = {
    EVERYTHING: "all layers fine-tuned",
    HEAD: "the {} fine-tuned",
    NEW_HEAD: "a new {}",
}

DRAWS = 3
"""Draws of stored examples, whose scores are averaged."""

STEPS = 50
RATE = 1e-3
HEAD_RATE = 1e-2
"""The steps and the learning rate of fine-tuning, and the rate of a new head."""

UserRemedy = Callable[[nn.Module, nn.Module], nn.Module]
"""`remedy(before, after)` returns a network; both are copies."""


@immutable(eq=False)
class Workshop:
    """The networks and examples with which remedies are carried out.

    Attributes:
        setting: The networks and test examples.
        blame: What each block accounts for.
        head: The parameters of the last block.
        stored: Stored examples, None if there are none.
        seed: The seed of halves, and of draws.
    """

    setting: Setting
    blame: Blame
    head: tuple[str, ...]
    stored: Stored | None
    seed: int

    @property
    def before(self) -> nn.Module:
        """The network before."""
        return self.setting.models.before

    @property
    def after(self) -> nn.Module:
        """The network after."""
        return self.setting.models.after

    @cached_property
    def is_chosen_on(self) -> Bools:
        """Whether a test example is of the half on which remedies are fitted and chosen, (N,)."""
        return halves([len(y) for y in self.setting.labels], self.seed)

    def remedies(self, user: Mapping[str, UserRemedy]) -> Iterator[Remedy]:
        """Carry out all remedies, and yield each with its scores.

        Args:
            user: The user's remedies, by name.
        """
        yield from self.blocks_put_back()
        yield from self.kinds_put_back()
        yield from self.averages()
        yield from self.statistics()
        score = self.setting.tests.score
        if score in ("accuracy", "loss") and self.setting.has_classes:
            yield from self.outputs()
        if self.stored is not None and not callable(score):
            yield from self.trained(self.stored, score)
        for name, remedy in user.items():
            network = remedy(copied(self.before), copied(self.after))
            with located(f"remedy {name!r}"):
                check_network(network)
                self.setting.tests.check(network)
            yield self._tested(name, USER, network)

    def blocks_put_back(self) -> Iterator[Remedy]:
        """Yield the scores of the network as it is, with sets of blocks put back, and before."""
        two = self.blame.two
        yield Remedy(name=AS_IT_IS, kind=AS_IT_IS, scores=two.put_back())
        for blocks, scores in two.rewinding.scores.items():
            # All of several blocks are the network before.
            if len(blocks) == 1 or 0 < len(blocks) < len(two.changed):
                yield Remedy(
                    name=put_back_name(blocks),
                    kind=PUT_BACK,
                    scores=scores,
                    size=len(blocks),
                )
        yield Remedy(name=EVERYTHING_UNDONE, kind=BEFORE, scores=two.saved)

    def kinds_put_back(self) -> Iterator[Remedy]:
        """Test the network with norm statistics put back, and with attributes put back."""
        before = self.blame.two.before
        statistics = [
            name
            for name, kind in tensor_kinds(self.after).items()
            if kind == changes.STATISTICS and name in before.state
        ]
        state = named_state(self.after)
        names = differing_tensors(statistics, before.state, state)
        of_kind = {
            STATISTICS_BACK: Changed(tensors=tuple(names)),
            ATTRIBUTES_BACK: Changed(attributes=tuple(before.attributes)),
        }
        for name, content in of_kind.items():
            if content != Changed():
                with rewound(self.after, [content], before):
                    yield self._tested(name, PUT_BACK, self.after)

    def averages(self) -> Iterator[Remedy]:
        """Test averages of both networks, and of their guilty block."""
        changed = self.blame.two.changed
        guilty = self.blame.guilty
        averaged_names: dict[str, tuple[str, ...] | None] = {"of before": None}
        if guilty in changed and len(changed) > 1:
            averaged_names[f"of before in {guilty}"] = changed[guilty].tensors
        for part, names in averaged_names.items():
            for share, weight in SHARES.items():
                network = averaged(self.before, self.after, weight, names)
                yield self._tested(f"{share} {part}, averaged", AVERAGE, network)

    def statistics(self) -> Iterator[Remedy]:
        """Test the network with norm statistics estimated on inputs that may be fitted to."""
        if running_norms(self.after):
            x, _ = self._fitted
            call = self.setting.models.model.model_call
            network = with_new_statistics(self.after, x, call)
            yield self._tested("norm statistics estimated again", STATISTICS, network)

    def outputs(self) -> Iterator[Remedy]:
        """Test the network with its outputs renamed, and with a bias for each class."""
        x, y = self._fitted
        logits = outputs_on(self.after, x, self.class_call)
        order = best_renaming(logits, y)
        yield self._with_outputs(
            OUTPUTS_RENAMED, RENAMED, lambda z: z[:, order.to(z.device)]
        )
        bias = best_bias(logits, y, self._weights)
        yield self._with_outputs(
            "a bias for each class", BIAS, lambda z: z + bias.to(z)
        )

    def trained(self, stored: Stored, score: ScoreName) -> Iterator[Remedy]:
        """Train networks on few stored examples and test them; scores are means over draws.

        Args:
            stored: The stored examples.
            score: The score that is trained for.
        """
        n_before = 0
        for k in PER_CLASS:
            stock = f"{PER_TARGET * k} stored"
            if stored.has_classes:
                stock = f"{k} a class"
            draws = [stored.draw(k, self.seed + draw) for draw in range(DRAWS)]
            n_examples = len(draws[0][1])
            if n_examples == n_before:
                continue  # no class has more than the first k
            n_before = n_examples
            for kind, names in self._trainable.items():
                scores = self._trained(kind, names, draws, score)
                if scores is not None:
                    training = _TRAININGS[kind].format(self._last_block)
                    name = f"{training} on {stock}"
                    yield Remedy(name=name, kind=kind, scores=scores, size=k)

    @cached_property
    def _trainable(self) -> Blocks:
        """The parameters that each kind of training trains."""
        names = {EVERYTHING: tuple(name for name, _ in self.after.named_parameters())}
        if self.head:
            names[HEAD] = self.head
        if self.head and not {*without_rule(self.after, "torch")} & {*self.head}:
            names[NEW_HEAD] = self.head
        return names

    @cached_property
    def _last_block(self) -> str:
        """The head, if it is an output layer.

        An output layer whose weights are tied to the first layer's lies in the block of
        that.
        """
        parameters = dict(self.after.named_parameters())
        shapes = [parameters[name].shape for name in self.head]
        matrices = [shape for shape in shapes if len(shape) > 1]
        model = self.setting.models.model
        x = on_device_of(self.after, varied(self.setting.tests.data[0][0], 2))
        with torch.no_grad(), repeatable_eval(self.after):
            outputs = model.model_call(self.after, x)
        count = outputs.shape[-1] if outputs.ndim > 1 else 1
        is_layer = len(matrices) == 1 and count in matrices[0]
        return "head" if is_layer else "last block"

    @property
    def class_call(self) -> ModelCall:
        """The call that gives the logits of the classes."""
        return self.setting.models.model.class_call

    def _trained(
        self,
        kind: str,
        names: tuple[str, ...],
        draws: Sequence[Pair],
        score: ScoreName,
    ) -> Floats | None:
        """Return the mean score of trainings on each draw, (N,); None if one of them diverged."""
        is_new = kind == NEW_HEAD
        rate = HEAD_RATE if is_new else RATE
        scores = []
        for seed, examples in enumerate(draws, self.seed):
            start = self.after
            if is_new:
                start = with_fresh_values(start, names, seed)
            network = fine_tuned(
                start, names, examples, self.class_call, score, seed, STEPS, rate
            )
            if not all(tensor.isfinite().all() for tensor in network.parameters()):
                return None
            scores.append(self.setting.tests.scores(network))
        return np.asarray(np.mean(scores, axis=0))

    def _tested(self, name: str, kind: str, network: nn.Module) -> Remedy:
        return Remedy(name=name, kind=kind, scores=self.setting.tests.scores(network))

    def _with_outputs(self, name: str, kind: str, change: Transform) -> Remedy:
        """Test the network with its outputs changed."""
        call = self.class_call
        model = Model(self.after, call=lambda network, x: change(call(network, x)))
        tests = replace(self.setting.tests, model=model)
        return Remedy(name=name, kind=kind, scores=tests.scores(self.after))

    @cached_property
    def _fitted(self) -> Pair:
        """The old and new test examples that may be fitted to."""
        parts = []
        tests = self.setting.tests
        for k, (x, y) in enumerate(tests.data):
            is_chosen_on = self.is_chosen_on[tests.task_of == k]
            rows = torch.as_tensor(np.flatnonzero(is_chosen_on))
            parts.append((gather(x, rows), cast(Tensor, gather(y, rows))))
        return joined(parts)

    @property
    def _weights(self) -> Tensor:
        """The weights of the examples in `_fitted`: old and new ones weigh the same together."""
        tasks = self.setting.tests.task_of[self.is_chosen_on]
        sizes = np.bincount(tasks)
        return torch.as_tensor(1 / (len(sizes) * sizes[tasks]))


def put_back_name(blocks: Names) -> str:
    """Return the name of the remedy that puts blocks back."""
    return f"{', '.join(blocks)} put back"
