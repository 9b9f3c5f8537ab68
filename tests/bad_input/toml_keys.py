"""Studies with a key that cannot have its value: the key, the value and what is said of it."""

from __future__ import annotations

from tests.bad_input.making import study

NEEDED = "this key is needed"
WHOLE = {
    value: f"expected a whole number, got {value}" for value in ("'two'", "true", "1.5", "nan")
}
NO_TABLE = {"5": "expected a table, got 5", "[{}]": "expected a table, got a list of 1"}
NO_LIST = {"'multi'": "expected a list, got 'multi'", "{}": "expected a list, got a table of 0"}
NO_TEXT = {
    "5": "expected text in quotes, got 5",
    "['a', 'b']": "expected text in quotes, got a list",
}
NO_NUMBER = {
    "'1e-3'": "expected a number, got '1e-3'",
    "[0.1]": "expected a number, got a list of 1",
    "true": "expected a number, got true",
}
ORDERS = "expected rotate, none, shuffle:N or a table of orders, got"
LONG = "99999999999999999999"
TOO_LONG = {LONG: f"expected a number of 64 bits, got {LONG}"}
WEIGHTS = "0, 0, 0, 0, 0, 0]"

OF_KEY: dict[str, dict[str | None, str]] = {
    "seeds": {
        **WHOLE,
        **TOO_LONG,
        "0": "expected 1 or more, got 0",
        "{a = 1}": "expected a whole number, got a table of 1",
        "1979-05-27T07:32:00Z": "expected a whole number, got 1979-05-27 07:32:00+00:00",
    },
    "name": {
        "'../up'": "expected letters, digits and ._- after a letter or digit, got '../up'",
        "''": "expected letters, digits and ._- after a letter or digit, got ''",
        "5": "expected text in quotes, got 5",
        f"'{'c' * 250}'": "expected no more than 80 characters, got 'ccc",
    },
    "storage": {"'fp16'": "expected 'fp32' or 'bf16', got 'fp16'"},
    "training": NO_TABLE,
    "training.epochs": {
        "'five'": "expected a whole number, got 'five'",
        "0": "expected 1 or more, got 0",
    },
    "training.batch_size": {
        "9223372036854775808": "expected a number of 64 bits, got",
        "-1": "expected 1 or more, got -1",
    },
    "training.learning_rate": {
        **NO_NUMBER,
        "nan": "expected a finite number, got nan",
        "inf": "expected a finite number, got inf",
        "0.0": "expected more than 0, got 0.0",
    },
    "training.optimiser": {"'adam'": "optimiser is called optimizer now"},
    "training.optimizer": {
        "'adm'": "expected 'adam', 'adamw', 'nadam' or 'sgd', got 'adm'",
        "['adam']": "expected 'adam', 'adamw', 'nadam' or 'sgd', got a list of 1",
    },
    "training.weight_decay": {**NO_NUMBER, "-0.1": "expected 0 or more, got -0.1"},
    "training.momentum": {
        "1.0": "expected less than 1, got 1.0",
        "0.9": "is for the optimizer 'sgd' alone, got 'adam': set momentum to 0 or choose 'sgd'",
    },
    "training.schedule": {"'cosin'": "expected 'constant' or 'cosine', got 'cosin'"},
    "training.warmup": {
        "100": "expected less than 1, got 100",
        "-1": "expected 0 or more, got -1",
        "nan": "expected ",
    },
    "training.clip_norm": {**NO_NUMBER, "0": "expected more than 0, got 0"},
    "training.precision": {"'fp8'": "expected 'fp32', 'tf32' or 'bf16', got 'fp8'"},
    "retraining": {"'same'": "expected a table, got 'same'"},
    "network": {None: NEEDED, "'mlp'": "expected a table, got 'mlp'", **NO_TABLE},
    "network.name": {
        None: NEEDED,
        "5": "expected text in quotes, got 5",
        "'mpl'": "unknown network 'mpl': did you mean 'mlp'?",
    },
    "network.features": {
        "['hiden1']": "unknown feature of this study's...did you mean 'hidden1' or 'hidden2'?",
        "[]": "expected 1 or more entries, got a list of 0",
        "'hidden1'": "expected a list, got 'hidden1'",
        f"['{'e' * 300}']": "unknown feature of this study's networks",
    },
    "scenario": {None: NEEDED, **NO_TABLE},
    "scenario.data": {
        **NO_TEXT,
        None: NEEDED,
        "'digit'": "unknown data set 'digit'...did you mean 'digits' or 'spoken_digits'?",
    },
    "scenario.train_limit": {
        "true": "expected a whole number, got true",
        "-9223372036854775808": "expected a number of 64 bits, got -9223372036854775808",
    },
    "orders": {
        "3": f"{ORDERS} 3",
        "[[1, 2, 3, 4, 5]]": f"{ORDERS} a list of 1",
        "2020-01-01": f"{ORDERS} 2020-01-01",
        "{}": "expected 1 or more entries, got a table of 0",
    },
    "orders.mine": {"{a = 1}": "expected a list, got a table of 1"},
    "learners": {
        None: NEEDED,
        "{}": "name at least one of finetune, offline, untrained, cumulative,",
        "['finetune']": "expected a table, got a list of 1",
        "'finetune'": "expected a table, got 'finetune'",
    },
    "learners.finetune": NO_TABLE,
    "learners.finetune.memory": {"5": "unknown key: correct or remove it (known: competing,"},
    "learners.a": {
        "{kind = 'fintune'}": "unknown learner 'fintune': did you mean 'finetune' or 'offline'?",
        "{kind = 1}": "unknown learner '1':",
        "{kind = ['er']}": "unknown learner \"['er']\": did you mean 'er'?",
    },
    "learners.er.memory_per_class": {"2.5": "expected a whole number, got 2.5", **TOO_LONG},
    "learners.ewc.strength": {
        **NO_NUMBER,
        "nan": "expected a finite number, got nan",
        "inf": "expected a finite number, got inf",
        "-1.0": "expected 0 or more, got -1.0",
    },
    "learners.finetune.exemplars": {
        "5": "expected a table, got 5",
        "{per_class = 5, total = 5}": "give either per_class or total, the number of exemplars to",
    },
    "learners.finetune.exemplars.sampling": {
        "1": "expected 'uniform', 'fifo', 'plane_distance', 'entropy' or"
    },
    "learners.finetune.exemplars.balanced": {"'yes'": "expected true or false, got 'yes'"},
    "learners.finetune.training": {"10": "expected a table, got 10"},
    "learners.finetune.training.epochs": {"0": "expected 1 or more, got 0"},
    "report": NO_TABLE,
    "report.heads": {
        **NO_LIST,
        "[]": "expected 1 or more entries, got a list of 0",
        "[1]": "report.heads.0: expected 'single', 'multi' or 'all', got 1",
    },
    "report.mean": {"'median'": "expected 'examples' or 'classes', got 'median'"},
    "report.weights": {
        "[1, 0, 0, 0, 0, 0, 0]": "expected a table, got a list of 7",
        "{mine = [1, 0]}": "got 2 weights, expected 7: A, MS, SSS, CE, REM, BWT+, FWT",
        f"{{mine = [inf, {WEIGHTS}}}": "weight of criterion A is inf, expected a number in [0, 1]",
    },
    "report.weights.mine": {
        "'1'": "expected a list, got '1'",
        f"['1', {WEIGHTS}": "report.weights.mine.0: expected a number, got '1'",
        f"[true, {WEIGHTS}": "report.weights.mine.0: expected a number, got true",
        f"[{10**400}, {WEIGHTS}": "report.weights.mine.0: expected a number of 64 bits, got",
    },
}
# What a single key does not show, and numbers beyond anything sensible.
OTHER: dict[str, tuple[dict[str, str | None], str]] = {
    "init": ({"training.init": "'xavier'"}, "expected 'torch' or 'murata', got 'xavier'"),
    "many": (
        {"seeds": "0", "sedes": "1", "retraining.epochs": "'five'"},
        "retraining.epochs: expected a whole number, got 'five';...sedes: unknown key: did you",
    ),
    "escape": (
        {r'"\u001b[31m\u202e"': "1"},
        r"\x1b[31m\u202e: unknown key: correct or remove it",
    ),
    "learner-name": (
        {'learners."../er"': "{kind = 'er'}"},
        "learners.../er: '../er' is to be part of a folder's name: use letters, digits, _ and -,",
    ),
    "learner-offline": (
        {"learners.joint": "{kind = 'offline'}"},
        "learners: 'joint' has kind 'offline', but `offline` is for that kind alone",
    ),
    "huge-learner": (
        {f"learners.{'a' * 260}": "{kind = 'er'}"},
        f"'{'a' * 20}'...has 260 characters and is to be part of a folder's name: use 80 or less",
    ),
    "huge-order": (
        {f"orders.{'b' * 250}": "[1, 2, 3, 4, 5]"},
        f"'{'b' * 20}'...has 250 characters and is to be part of a folder's name: use 80 or less",
    ),
    "huge-weighting": (
        {f"report.weights.{'d' * 200}": "[1, 0, 0, 0, 0, 0, 0]"},
        "is no name for a weighting: use letters, digits and .+-_, 80 at most",
    ),
    "huge-layer": (
        {"learners.pathnet": "{modules = 1000, width = 10000}"},
        "learners.pathnet: a layer has modules x width, 1000 x 10000 = 10000000 units",
    ),
    **{
        f"huge-{learner}-{name}": (
            {f"learners.{learner}.{name}": str(value)},
            f"learners.{learner}.{name}: expected {most} or less, got {value}",
        )
        for learner, name, value, most in (
            ("fel", "units", 2_000_000_000, "100000"),
            ("geppnet", "rows", 2**63 - 1, "1000"),
            ("geppnet", "iterations", 10**18, "1e+08"),
            ("geppnet_stm", "memory", 10**12, "100000"),
            ("pathnet", "width", 10**9, "10000"),
            ("pathnet", "generations", 10**12, "1e+06"),
        )
    },
}

KINDS: dict[str, tuple[dict[str, str | None], str]] = {
    name: ({"scenario.kind": kind, **changes}, said)
    for name, kind, changes, said in (
        ("kind", "'splits'", {}, "unknown kind of scenario 'splits': did you mean 'split'?"),
        ("kind-number", "3", {}, "unknown kind of scenario '3': (known"),
        ("kind-list", "['split']", {}, "unknown kind of scenario \"['split']\": did you mean"),
        ("multimodal", "'multimodal'", {}, "scenario.data: expected a list, got 'digits'"),
        (
            "three-sets",
            "'multimodal'",
            {"scenario.data": "['digits', 'mnist', 'svhn']"},
            "scenario.data: expected no more than 2 entries, got a list of 3",
        ),
        (
            "one-session",
            "'permutation'",
            {"scenario.sessions": "1"},
            "scenario.sessions: expected 2 or more, got 1",
        ),
        (
            "permutations",
            "'permutation'",
            {"scenario.permutations": "-1"},
            "scenario.permutations: expected 0 or more, got -1",
        ),
    )
}

# What only shows once the data are there is told of the data, and not of the file.
ONCE: dict[str, tuple[dict[str, str | None], str]] = {
    "order": (
        {"orders.mine": "[1, 2, 3, 4, 4]"},
        "order 'mine' must name each task from 1 to 5 once: (1, 2, 3, 4, 4)",
    ),
    "order-empty": ({"orders.mine": "[]"}, "must name each task from 1 to 5 once: ()"),
    "data-file": (
        {"scenario.data": "'no.npz'"},
        "there is no feature file...give its path, or point --data at its folder",
    ),
    "data-escape": (
        {"scenario.data": r'"~root\u0000\u001b[2J\u202e.npz"'},
        r"~root\x00\x1b[2J\u202e.npz: give its path, or point --data at its folder",
    ),
    "thirds": (
        {"scenario.classes_per_task": "3"},
        "digits has 10 classes, which cannot be cut into tasks of 3...choose a divisor of 10",
    ),
    "base": (
        {"scenario.kind": "'incremental'", "scenario.base": "10"},
        "a base session of 10 of the 10 classes of digits leaves...choose from 1 to 9, of 2",
    ),
    "small-images": (
        {"network.name": "'reduced_resnet18'"},
        "reduced_resnet18 needs images of 25 x 25 or more, got 8 x 8: use cnn3",
    ),
    "huge-grid": (
        {"orders": "'shuffle:10000'", "seeds": "10000", "learners": "{er = {}, offline = {}}"},
        "has 100020000 jobs, one for each learner, order and seed...expected no more than 100000",
    ),
}
FILES = {
    f"{key}-{n}.toml": study({key: value})
    for key, said in OF_KEY.items()
    for n, value in enumerate(said)
} | {f"{name}.toml": study(changes) for name, (changes, _) in (OTHER | ONCE | KINDS).items()}
MISTAKES = {
    f"run {key}-{n}.toml": f"{key}-{n}.toml: ...{key}...{sentence}"
    for key, said in OF_KEY.items()
    for n, sentence in enumerate(said.values())
}
MISTAKES |= {f"run {name}.toml": f"{name}.toml...{said}" for name, (_, said) in OTHER.items()}
MISTAKES |= {f"run {name}.toml": f"{name}.toml...{said}" for name, (_, said) in KINDS.items()}
MISTAKES |= {f"run {name}.toml": said for name, (_, said) in ONCE.items()}
