"""Remedies: networks that may do better on old examples, made on copies and tested on all."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from probe.batch import gather
from probe.before_after import changes
from probe.before_after.data import PER_TARGET, Pair, Stored, has_classes, joined
from probe.before_after.fitting import (
    averaged,
    best_bias,
    best_renaming,
    fine_tuned,
    outputs_on,
    with_fresh_values,
    with_new_statistics,
)
from probe.cut.model_call import ModelCall
from probe.errors import InputError
from probe.immutable import immutable
from probe.model import Model
from probe.modules import check_values, copied, named_state
from probe.rewinding.blocks import Changed, rewound
from probe.rewinding.hybrids import Names
from probe.rewinding.scoring import ScoreName, Tests
from probe.rewinding.shapley import Floats
from probe.rewinding.two_networks import TwoNetworks
from probe.training.batch_norm import running_norms
from probe.training.fresh_weights import without_rule

AS_IT_IS = "as it is"
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

DRAWS = 3
"""Draws of stored examples, whose scores are averaged."""

STEPS = 50
RATE = 1e-3
HEAD_RATE = 1e-2
"""The steps and the learning rate of fine-tuning, and the rate of a new head."""

UserRemedy = Callable[[nn.Module, nn.Module], nn.Module]
"""`remedy(before, after)` returns a network; both are copies."""


@immutable(eq=False)
class Remedy:
    """A remedy that was carried out.

    Attributes:
        name: The remedy in words.
        kind: Its kind.
        size: The blocks that are put back, or stored examples of each class: fewer are
            simpler.
        scores: The score of each test example, old ones first, (N,).
    """

    name: str
    kind: str
    scores: Floats
    size: int = 1


@immutable(eq=False)
class Workshop:
    """The networks and examples with which remedies are carried out.

    Attributes:
        before: The network before.
        after: The network after.
        tests: The old test examples, and the new ones if there are any.
        compared: The scores with blocks put back.
        is_fitted: Whether a test example belongs to the half that may be fitted to,
            (N,).
        guilty: The block with the largest share, empty if there is none.
        head: The parameters of the last block.
        stored: Stored examples, None if there are none.
        seed: The seed of draws.
    """

    before: nn.Module
    after: nn.Module
    tests: Tests
    compared: TwoNetworks
    is_fitted: NDArray[np.bool_]
    guilty: str
    head: tuple[str, ...]
    stored: Stored | None
    seed: int

    def remedies(self, user: Mapping[str, UserRemedy]) -> Iterator[Remedy]:
        """Carry out all remedies.

        Args:
            user: The user's own, by name.
        """
        yield from self.put_back()
        yield from self.kinds_put_back()
        yield from self.averages()
        yield from self.statistics()
        score = self.tests.score
        if score in ("accuracy", "loss") and all(
            has_classes(y) for _, y in self.tests.data
        ):
            yield from self.outputs()
        if self.stored is not None and not callable(score):
            yield from self.trained(self.stored, score)
        for name, remedy in user.items():
            network = remedy(copied(self.before), copied(self.after))
            if not isinstance(network, nn.Module):
                raise InputError(
                    f"remedy {name!r} returned {type(network).__name__}, expected a "
                    "network"
                )
            yield self._tested(name, USER, network)

    def put_back(self) -> Iterator[Remedy]:
        """Yield the network as it is, every tested set of blocks put back, and that before."""
        changed = tuple(self.compared.changed)
        yield Remedy(name=AS_IT_IS, kind=AS_IT_IS, scores=self.compared.put_back())
        for blocks, scores in self.compared.rewinding.scores.items():
            # All of several blocks are the network before.
            if blocks and (blocks != changed or len(changed) == 1):
                yield Remedy(
                    name=put_back_name(blocks),
                    kind=PUT_BACK,
                    scores=scores,
                    size=len(blocks),
                )
        yield Remedy(name=EVERYTHING_UNDONE, kind=BEFORE, scores=self.compared.saved)

    def kinds_put_back(self) -> Iterator[Remedy]:
        """Yield the network with norm statistics put back, and with attributes put back."""
        kind_of = changes.tensor_kinds(self.after)
        state = named_state(self.after)
        before = self.compared.before.state
        names = [
            name
            for name, kind in kind_of.items()
            if kind == changes.STATISTICS
            and name in before
            and not torch.equal(before[name], state[name])
        ]
        of_kind = {
            STATISTICS_BACK: Changed(tensors=tuple(names)),
            ATTRIBUTES_BACK: Changed(attributes=tuple(self.compared.before.attributes)),
        }
        for name, content in of_kind.items():
            if content.tensors or content.attributes:
                with rewound(self.after, [content], self.compared.before):
                    yield self._tested(name, PUT_BACK, self.after)

    def averages(self) -> Iterator[Remedy]:
        """Yield averages of both networks, and of their guilty block."""
        for share, weight in SHARES.items():
            network = averaged(self.before, self.after, weight)
            yield self._tested(f"{share} of before, averaged", AVERAGE, network)
        if self.guilty in self.compared.changed and len(self.compared.changed) > 1:
            names = self.compared.changed[self.guilty].tensors
            for share, weight in SHARES.items():
                network = averaged(self.before, self.after, weight, names)
                name = f"{share} of before in {self.guilty}, averaged"
                yield self._tested(name, AVERAGE, network)

    def statistics(self) -> Iterator[Remedy]:
        """Yield the network with norm statistics of the old and new test inputs that are fitted."""
        if running_norms(self.after):
            x, _ = self._fitted
            network = with_new_statistics(self.after, x, self.tests.model.model_call)
            yield self._tested("norm statistics estimated again", STATISTICS, network)

    def outputs(self) -> Iterator[Remedy]:
        """Yield the network with its outputs renamed, and with a bias for each class."""
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
        """Yield networks that are trained on few stored examples, the mean over draws.

        Args:
            stored: The stored examples.
            score: The score that is trained for.
        """
        everything = tuple(name for name, _ in self.after.named_parameters())
        n_before = 0
        for k in PER_CLASS:
            stock = (
                f"{k} stored a class"
                if stored.has_classes
                else f"{PER_TARGET * k} stored"
            )
            examples = [stored.draw(k, self.seed + draw) for draw in range(DRAWS)]
            if len(examples[0][1]) == n_before:
                continue  # no class has more than the first k
            n_before = len(examples[0][1])
            trainings = {f"all fine-tuned on {stock}": (EVERYTHING, everything)}
            if self.head:
                trainings[f"the head fine-tuned on {stock}"] = (HEAD, self.head)
            if self.head and not set(without_rule(self.after, "torch")) & set(
                self.head
            ):
                trainings[f"a new head on {stock}"] = (NEW_HEAD, self.head)
            for name, (kind, names) in trainings.items():
                scores = self._trained(kind, names, examples, score)
                if scores is not None:
                    yield Remedy(name=name, kind=kind, scores=scores, size=k)

    @property
    def class_call(self) -> ModelCall:
        """The call that gives the logits of the classes."""
        return self.tests.model.class_call

    def _trained(
        self,
        kind: str,
        names: tuple[str, ...],
        draws: Sequence[Pair],
        score: ScoreName,
    ) -> Floats | None:
        """Return the mean score of trainings on each draw, (N,); None if one of them diverged."""
        is_new = kind == NEW_HEAD
        scores = []
        for draw, examples in enumerate(draws):
            seed = self.seed + draw
            network = fine_tuned(
                with_fresh_values(self.after, names, seed) if is_new else self.after,
                names,
                examples,
                self.class_call,
                score,
                seed,
                steps=STEPS,
                rate=HEAD_RATE if is_new else RATE,
            )
            if not all(
                parameter.isfinite().all() for parameter in network.parameters()
            ):
                return None
            scores.append(self.tests.scores(network, 1, everywhere=True))
        return np.asarray(np.mean(scores, axis=0))

    def _tested(self, name: str, kind: str, network: nn.Module) -> Remedy:
        check_values(network)
        return Remedy(
            name=name,
            kind=kind,
            scores=self.tests.scores(network, 1, everywhere=True),
        )

    def _with_outputs(
        self, name: str, kind: str, change: Callable[[Tensor], Tensor]
    ) -> Remedy:
        """Return the network with its outputs changed."""
        call = self.class_call
        model = Model(self.after, call=lambda network, x: change(call(network, x)))
        tests = replace(self.tests, model=model)
        return Remedy(
            name=name,
            kind=kind,
            scores=tests.scores(self.after, 1, everywhere=True),
        )

    @cached_property
    def _fitted(self) -> Pair:
        """The old and new test examples that may be fitted to."""
        parts = []
        for k, (x, y) in enumerate(self.tests.data):
            is_fitted = self.is_fitted[self.tests.task_of == k]
            rows = torch.as_tensor(np.flatnonzero(is_fitted))
            parts.append((gather(x, rows), cast(Tensor, gather(y, rows))))
        return joined(parts)

    @property
    def _weights(self) -> Tensor:
        """The weights of these examples: old and new ones weigh the same together."""
        tasks = self.tests.task_of[self.is_fitted]
        sizes = np.bincount(tasks)
        return torch.as_tensor(1 / (len(sizes) * sizes[tasks]))


def put_back_name(blocks: Names) -> str:
    """Return the name of the network with blocks put back."""
    return f"{', '.join(blocks)} put back"
