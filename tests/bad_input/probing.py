"""Studies whose table `probing` cannot be: what is changed, and what is said of it."""

from __future__ import annotations

from tests.bad_input.making import study

ASCENDING = "steps: steps are numbers of tasks learned, from 0 and ascending, as [0, 2, 5], got "
MULTIPLES = "budget: the budget must be multiples of the recipe's epochs, from 1, ascending, as 1,"
ONE_TRAINING = "budget: a budget of several multiples is read off one training, which a schedule"
NO_KEY = "unknown key: "

READOUTS: dict[str, str] = {
    "{retrain = [0, -1]}": f"retrain.{ASCENDING}[0, -1]",
    "{retrain = [-1, 0]}": f"retrain.{ASCENDING}[-1, 0]",
    "{linear = [3, 1]}": f"linear.{ASCENDING}[3, 1]",
    "{linear = {steps = [1, 1]}}": f"linear.{ASCENDING}[1, 1]",
    "{ncm = []}": "ncm.steps: expected 1 or more entries, got a list of 0",
    "{ncm = [0, 1.5]}": "ncm.steps.1: expected a whole number, got 1.5",
    "{ncm = ['1']}": "ncm.steps.0: expected a whole number, got '1'",
    "{knn = 3}": "knn: expected a table, got 3",
    "{knn = 'end'}": "knn.steps: unknown rule for steps 'end': did you mean 'ends'?",
    "{linear = {steps = 'none'}}": "linear.steps: unknown rule for steps 'none': (known: all,",
    "{linaer = {}}": f"linaer: {NO_KEY}",
    "['linear']": "expected a table, got a list of 1",
    "{linear = {C = 0.0}}": "linear.C: expected more than 0, got 0.0",
    "{linear = {C = -1.0}}": "linear.C: expected more than 0, got -1.0",
    "{linear = {C = '1'}}": "linear.C: expected a number, got '1'",
    "{linear = {C = nan}}": "linear.C: expected ",
    "{linear = {c = 1.0}}": f"linear.c: {NO_KEY}",
    "{retrain = {epochs = 5}}": f"retrain.epochs: {NO_KEY}",
    "{knn = {k = 0}}": "knn.k: expected 1 or more, got 0",
    "{knn = {k = 2.5}}": "knn.k: expected a whole number, got 2.5",
}
OTHER: dict[str, tuple[dict[str, str | None], str]] = {
    "probing-text": ({"probing": "'all'"}, "probing: expected a table, got 'all'"),
    "probing-key": ({"probing.readout": "{}"}, f"probing.readout: {NO_KEY}"),
    "budget-0": ({"probing.budget": "[0]"}, f"{MULTIPLES}...got 0"),
    "budget-none": ({"probing.budget": "[]"}, f"{MULTIPLES}...got none"),
    "budget-falling": ({"probing.budget": "[2, 1]"}, f"{MULTIPLES}...got 2, 1"),
    "budget-number": ({"probing.budget": "2"}, "probing.budget: expected a list, got 2"),
    "budget-half": ({"probing.budget": "[1.5]"}, "budget.0: expected a whole number, got 1.5"),
    "budget-huge": ({"probing.budget": "[1, 99999]"}, "budget.1: expected 10000 or less, got 999"),
    "budget-long": (
        {"probing.budget": str(list(range(1, 10)))},
        "probing.budget: expected no more than 8 entries, got a list of 9",
    ),
    "budget-cosine": (
        {"probing.budget": "[1, 2]", "training.schedule": "'cosine'"},
        ONE_TRAINING,
    ),
    "budget-warmup": ({"probing.budget": "[1, 2]", "retraining.warmup": "0.1"}, ONE_TRAINING),
    "statistics": (
        {"probing.batch_norm": "'reestimate'"},
        "probing.batch_norm: expected 'kept' or 'reestimated', got 'reestimate'",
    ),
    "checkpoints": (
        {"probing.checkpoints": "'none'"},
        "probing.checkpoints: expected 'needed' or 'all', got 'none'",
    ),
    "diagnostics": (
        {"probing.diagnostics": "'yes'"},
        "probing.diagnostics: expected true or false, got 'yes'",
    ),
    "untrained-er": (
        {"learners.untrained": "{kind = 'er'}"},
        "learners: 'untrained' has kind 'er', but `untrained` is for that kind alone",
    ),
    "floor-untrained": (
        {"learners.floor": "{kind = 'untrained'}"},
        "learners: 'floor' has kind 'untrained', but `untrained` is for that kind alone",
    ),
}
# What only shows once the data are there is told of the data, and not of the file.
ONCE: dict[str, tuple[dict[str, str | None], str]] = {
    "steps-beyond": (
        {"probing.readouts": "{ncm = [0, 6]}"},
        "probing.readouts.ncm.steps: there are 5 tasks, so steps are from 0 to 5, got 6",
    ),
    "neighbours": (
        {"probing.readouts": "{knn = {k = 51}}"},
        "knn.k: neighbours has 50 training examples, expected no more neighbours than that, got 51",
    ),
    "no-batch-norm": (
        {"probing.batch_norm": "'reestimated'"},
        "probing.batch_norm: no network of no-batch-norm has batch norm, so that nothing can be",
    ),
}
FILES = {
    f"readouts-{n}.toml": study({"probing.readouts": value}) for n, value in enumerate(READOUTS)
} | {f"{name}.toml": study(changes) for name, (changes, _) in (OTHER | ONCE).items()}
MISTAKES = {
    f"run readouts-{n}.toml": f"readouts-{n}.toml: probing.readouts...{sentence}"
    for n, sentence in enumerate(READOUTS.values())
}
MISTAKES |= {f"run {name}.toml": f"{name}.toml: ...{said}" for name, (_, said) in OTHER.items()}
MISTAKES |= {f"run {name}.toml": said for name, (_, said) in ONCE.items()}
MISTAKES |= {
    f"run digits --budget {budget}": said
    for budget, said in {
        **{
            text: f"--budget expects whole numbers as 1,2,4, got '{text.strip(chr(39))}'"
            for text in ("1,x", "''", "1,,2", "1.5")
        },
        **{
            text: f"the flags given: probing.{MULTIPLES}...got {text.replace(',', ', ')}"
            for text in ("0", "2,1", "1,1", "-1")
        },
    }.items()
}
