"""`probe.diff`: whose change made a network worse on what it could do, and what brings it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from torch import nn

from probe.arguments import checked
from probe.batch import Value, varied
from probe.before_after.answering import Evidence
from probe.before_after.changes import block_changes
from probe.before_after.content import Content, contents
from probe.before_after.data import as_pairs, stored
from probe.before_after.networks import Source, TwoModels
from probe.before_after.ranking import measure
from probe.before_after.remedies import UserRemedy, Workshop
from probe.before_after.result import Diff
from probe.before_after.setting import Setting
from probe.cut.model_call import Call
from probe.errors import InputError
from probe.progress import tracked
from probe.rewinding.causes import margin_of
from probe.rewinding.parts import Parts, Patterns
from probe.rewinding.scoring import Score, Tests, on_device_of
from probe.rewinding.shapley import EXACT
from probe.seeding import one_at_a_time
from probe.validation import PositiveFloat, PositiveInt

if TYPE_CHECKING:
    import pandas as pd

_SAMPLE = 8


@one_at_a_time
@checked
def diff(
    before: Source | None,
    after: Source,
    old: Any,
    new: Any = None,
    *,
    train: Any = None,
    blocks: Literal["auto"] | Sequence[str] | Patterns = "auto",
    score: Score = "accuracy",
    call: Call | None = None,
    remedies: Mapping[str, UserRemedy] | None = None,
    margin: PositiveFloat | None = None,
    hybrids: PositiveInt = EXACT,
    batch_size: PositiveInt | None = None,
    seed: int = 0,
) -> Diff:
    """Compare a network before with one after: which block lost the old, and what brings it back.

    Blocks of the network before are put back into that after, alone and together, and
    tested, as by `probe.causes`. Remedies are carried out on copies, and measured on
    examples that did not choose them. No network is changed.

    >>> import probe, torch
    >>> before = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    >>> after = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    >>> after.load_state_dict(before.state_dict())
    <All keys matched successfully>
    >>> x = torch.linspace(-1, 1, 40).view(10, 4)
    >>> probe.diff(before, after, (x, torch.arange(10) % 2)).answer.kind
    'unchanged'

    Args:
        before: The network before; the file of its weights, with `after=Model(path,
            fresh=build)`; None = that after without its adapters (PEFT).
        after: The network after, or its file as `Model(path, fresh=build)`. A `Model`
            says how to call both; its head may have more outputs.
        old: Test examples of what it could do: a pair (x, y), a mapping of tensors with
            a label, a Dataset, or a DataLoader.
        new: Test examples of what it was trained for, in the same form; None = remedies
            are not ranked, as undoing everything would win.
        train: Stored training examples, none of them in `old` or `new`: remedies that
            train, and what blocks still hold. Old and new ones apart as `{"old": ...,
            "new": ...}`.
        blocks: Dotted module names at which the network is parted; or patterns of names
            of parameters by block, `{"lstm 1": "lstm.*_l0"}`; `auto` = a suggested set.
        score: `accuracy`; `loss`, minus the cross-entropy in nats (of labels (N, L) by
            position); `squared_error`; or `score(model, x, y)`, a number for each
            example, higher is better.
        call: `call(model, x)` runs a network on a batch; None = `model(x)`, `model(*x)`
            or `model(**x)`.
        remedies: Further remedies by name, `remedy(before, after)` returns a network.
        margin: The amount of the score that matters; None = one point of accuracy, and
            every amount of another score.
        hybrids: Up to so many sets of blocks all are tested; beyond, those of random
            orders.
        batch_size: Examples at a time; None = a size that is fast on the device.
        seed: The seed of halves, draws of stored examples, and trainings.

    Returns:
        The answer and its tables.

    Raises:
        InputError: Networks, examples and blocks do not fit each other, or a score is
            not a finite number for each example.
    """
    margin = margin_of(score, margin)
    models = TwoModels.open(before, after, call)
    pairs = as_pairs(old, new, score)
    tests = Tests(model=models.model, score=score, data=pairs, batch_size=batch_size)
    tests.check(models.after)
    for position in range(1, len(pairs) + 1):
        tests.check(models.before, position)
    setting = Setting(models=models, tests=tests, hybrids=hybrids, margin=margin)
    x = on_device_of(models.after, varied(pairs[0][0], _SAMPLE))
    parts = _parts(models, x, blocks)
    examples = None
    by_depth = parts
    if train is not None:
        examples = stored(train, pairs, score)
        # The head is that of the network, whatever the user's blocks are.
        if not isinstance(blocks, str):
            by_depth = _parts(models, x, "auto")
    blame = setting.blame(parts)
    workshop = Workshop(
        setting=setting,
        blame=blame,
        head=_head(models.after, by_depth),
        stored=examples,
        seed=seed,
    )
    return _carry_out(workshop, remedies or {})


def _parts(
    models: TwoModels, x: Value, blocks: str | Sequence[str] | Patterns
) -> Parts:
    """Part the network; raises InputError for a word other than `auto`."""
    call = models.model.model_call
    if not isinstance(blocks, str):
        return Parts.of(models.after, x, call, blocks)
    if blocks != "auto":
        raise InputError(
            f"blocks must be 'auto', a list of modules or patterns, got {blocks!r}"
        )
    return Parts.of(models.after, x, call)


def _carry_out(workshop: Workshop, user: Mapping[str, UserRemedy]) -> Diff:
    """Carry out all remedies, measure them and the blocks, and return the result."""
    setting = workshop.setting
    blame = workshop.blame
    parts = blame.parts
    two = blame.two

    def open_block(block: str) -> pd.DataFrame:
        if two.quantities.withheld:
            raise InputError(f"nothing is said of blocks: {two.quantities.withheld}")
        return setting.opened(parts, block).causes

    remedies = list(tracked(workshop.remedies(user), "remedies"))
    inside = None
    if blame.opened:
        inside = setting.opened(parts, blame.opened)
    evidence = Evidence(
        setting=setting,
        blame=blame,
        changes=block_changes(two),
        measured=measure(
            remedies, setting.is_old, workshop.is_chosen_on, setting.is_accuracy
        ),
        inside=inside,
        readouts=_readouts(workshop),
    )
    return Diff(
        answer=evidence.answer,
        causes=blame.causes,
        block_changes=evidence.changes,
        measured=evidence.measured,
        readouts=evidence.readouts,
        of_examples=[*two.quantities.by_block(np.flatnonzero(setting.is_old))],
        open_block=open_block,
    )


def _head(network: nn.Module, parts: Parts) -> tuple[str, ...]:
    """Return the parameters of the last block that has any, empty without a matrix."""
    parameters = dict(network.named_parameters())
    head: list[str] = []
    for names in parts.blocks.values():
        head = [name for name in names if name in parameters] or head
    if any(parameters[name].ndim > 1 for name in head):
        return tuple(head)
    return ()


def _readouts(workshop: Workshop) -> Sequence[Content]:
    """Read out the features of both networks, if there are stored examples with classes."""
    setting = workshop.setting
    examples = workshop.stored
    blocks = workshop.blame.parts.facts.items()
    features = [name for name, facts in blocks if facts.value]
    if examples is None or not examples.has_classes:
        return []
    if not (features and setting.has_classes):
        return []
    tests = dict(zip(("old", "new"), setting.tests.data, strict=False))
    models = setting.models
    return list(contents(models, features, examples, tests, workshop.seed))
