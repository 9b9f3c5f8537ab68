"""`probe.diff`: whose change made a network worse on what it could do, and what brings it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from probe.analysis.statements import MARGIN
from probe.batch import varied
from probe.before_after.data import as_pair, stored
from probe.before_after.measuring import compare
from probe.before_after.networks import Source, TwoModels
from probe.before_after.remedies import UserRemedy
from probe.before_after.result import Diff
from probe.before_after.setting import Setting
from probe.cut.model_call import Call
from probe.errors import InputError
from probe.reading.item_format import same_form
from probe.rewinding.causes import check_rules
from probe.rewinding.parts import Parts, Patterns
from probe.rewinding.scoring import Score, Tests, on_device_of
from probe.rewinding.shapley import EXACT
from probe.seeding import one_at_a_time

_SAMPLE = 8


@one_at_a_time
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
    margin: float | None = None,
    hybrids: int = EXACT,
    batch_size: int | None = None,
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
    check_rules(score, hybrids, margin)
    models = TwoModels.open(before, after, call)
    pairs = [as_pair(old, "old")]
    if new is not None:
        x, y = as_pair(new, "new")
        pairs.append((same_form(x, pairs[0][0]), y))
    setting = Setting(
        models=models,
        tests=Tests(model=models.model, score=score, data=pairs, batch_size=batch_size),
        hybrids=hybrids,
        margin=(MARGIN if score == "accuracy" else 0.0) if margin is None else margin,
    )
    x = on_device_of(models.after, varied(pairs[0][0], _SAMPLE))
    if isinstance(blocks, str) and blocks != "auto":
        raise InputError(
            f"blocks must be 'auto', a list of modules or patterns, got {blocks!r}"
        )
    choice = None if isinstance(blocks, str) else blocks
    call_of_both = models.model.model_call
    parts = Parts.of(models.after, x, call_of_both, choice)
    examples = None if train is None else stored(train, pairs)
    # The head is that of the network, whatever the user's blocks are.
    is_auto = choice is None or examples is None
    by_depth = parts if is_auto else Parts.of(models.after, x, call_of_both)
    return compare(setting, parts, by_depth, examples, remedies or {}, seed)
