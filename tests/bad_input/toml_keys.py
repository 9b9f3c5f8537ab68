"""Studies in files that are no TOML, or in which keys cannot have their values."""

from __future__ import annotations

from tests.bad_input.making import TINY, TRAP, study

# A study tells all that is wrong with its keys: each of these tables is one.
KEYS: dict[str, dict[str, tuple[str, str]]] = {
    "types": {
        "seeds": ("'two'", "a whole number, got 'two'"),
        "name": ("5", "text in quotes, got 5"),
        "training.learning_rate": ("'1e-3'", "a number, got '1e-3'"),
        "training.weight_decay": ("true", "a number, got true"),
        "training.clip_norm": ("[0.1]", "a number, got a list of 1"),
        "retraining.epochs": ("{a = 1}", "a whole number, got a table of 1"),
        "network.name": ("1979-05-27T07:32:00Z", "text in quotes, got 1979-05-27 07:32"),
        "network.features": ("'hidden1'", "a list, got 'hidden1'"),
        "orders": ("3", "rotate, none, shuffle:N or a table of orders, got 3"),
        "learners.finetune.exemplars.balanced": ("'yes'", "true or false, got 'yes'"),
        "report.heads": ("[1]", ""),
        "report.heads.0": ("", "'single', 'multi' or 'all', got 1"),
        "probing.budget": ("[1, 1.5, 99999]", ""),
        "probing.budget.1": ("", "a whole number, got 1.5"),
        "probing.budget.2": ("", "10000 or less, got 99999"),
        "probing.readouts.knn.k": ("2.5", "a whole number, got 2.5"),
        "probing.readouts.linear": ("3", "a table, got 3"),
    },
    "bounds": {
        "seeds": ("0", "1 or more, got 0"),
        "name": ("'../up'", "letters, digits and ._- after a letter or digit, got '../up'"),
        "storage": ("'fp16'", "'fp32' or 'bf16', got 'fp16'"),
        "training.learning_rate": ("nan", "a finite number, got nan"),
        "training.weight_decay": ("-0.1", "0 or more, got -0.1"),
        "training.momentum": ("1.0", "less than 1, got 1.0"),
        "training.clip_norm": ("0", "more than 0, got 0"),
        "network.features": ("[]", "1 or more entries, got a list of 0"),
        "orders": ("{}", "1 or more entries, got a table of 0"),
        "learners.geppnet.rows": ("9223372036854775807", "1000 or less"),
        "probing.budget": ("[1, 2, 3, 4, 5, 6, 7, 8, 9]", "no more than 8 entries, got a list of"),
    },
    "tables": {
        "name": (f"'{'c' * 250}'", "no more than 80 characters, got 'ccc"),
        "training": ("5", "a table, got 5"),
        "network": ("[{}]", "a table, got a list of 1"),
        "learners.er.exemplars": ("{}", "leave this key out"),
        "report.weights": ("[1, 0]", "a table, got a list of 2"),
        "probing.readouts": ("['linear']", "a table, got a list of 1"),
    },
    "unknown": {
        "sedes": ("2", "did you mean 'seeds'?"),
        "xyz": ("2", "correct or remove it"),
        "retrainings": ("{}", "did you mean 'retraining' or 'training'?"),
        r'"\u001b[31m\u202e"': ("1", "correct or remove it"),
        "training.optimiser": ("'adam'", "optimizer now"),
        "network.featurs": ("['a']", "did you mean 'features'? (known: features, name)"),
        "scenario.clases_per_task": ("2", "did you mean 'classes_per_task'? (known: classes_"),
        "learners.er.training.learning_rat": ("0.1", "did you mean 'learning_rate'?"),
        "learners.slow": ("{kind = 'ewc', strenght = 1.0}", ""),
        "learners.slow.strenght": ("", "did you mean 'strength'?"),
        "probing.readouts.liner": ("{}", "did you mean 'linear' or"),
        "probing.readouts.linear.c": ("1.0", "did you mean 'C'? (known: C, channels, "),
        "probing.readouts.ncm.C": ("1.0", "correct or remove it (known: steps)"),
    },
    "values": {
        "training.momentum": ("0.9", ""),
        "training": ("", "'sgd' alone, got 'adam'"),
        "network.name": ("'mpl'", "unknown network 'mpl': did you mean 'mlp'?"),
        "scenario.data": ("'digit'", "unknown data set 'digit'"),
        "learners.pathnet.active": ("0", "expected 1 or more, got 0"),
        "learners.finetune.exemplars": ("{per_class = 5, total = 5}", "either per_class or total"),
        f"learners.{'a' * 260}": ("{kind = 'er'}", f"'{'a' * 20}...part of a folder's name"),
        "orders": ("'rotat'", "unknown orders 'rotat'"),
        "report.heads": ("['all', 'all']", "each head once, got all, all"),
        "probing.readouts.knn.steps": ("'end'", "unknown rule for steps 'end': did you mean 'end"),
        "probing.readouts.linear.steps": ("[3, 1]", "ascending, as [0, 2, 5], got [3, 1]"),
    },
}
LONG = "99999999999999999999"
PERMUTED = {"scenario.kind": "'permutation'"}

# Mistakes that hide others, or that show once the keys are right: the changes, and what is said.
ALONE: dict[str, tuple[dict[str, str | None], str]] = {
    "none": (dict.fromkeys(("scenario.data", "network.name")), "network: this key is needed"),
    "no-learners": ({"learners": "{}"}, "name at least one of finetune, er,"),
    "learner": ({"learners.a": "{kind = 'fintune'}"}, "unknown learner 'fintune': did you mean"),
    "learner-up": ({'learners."../er"': "{kind = 'er'}"}, "'../er'...letters, digits, _ and -"),
    "learner-own": (
        {"learners.floor": "{kind = 'untrained'}"},
        "'floor' has kind 'untrained'...`untrained`",
    ),
    "number": ({"seeds": LONG}, f"seeds: expected a number of 64 bits, got {LONG}"),
    "feature": ({"network.features": "['hiden1']"}, "unknown feature of this study's networks"),
    "kind": (
        {"scenario.kind": "'domain'"},
        "unknown kind of scenario 'domain'...domain-incremental",
    ),
    "multimodal": ({"scenario.kind": "'multimodal'"}, "scenario.data: expected a list, got 'dig"),
    "permutation": (
        {**PERMUTED, "scenario.sessions": "1", "scenario.permutation_seed": "-1"},
        "scenario.sessions: expected 2...scenario.permutation_seed: expected 0 or more, got -1",
    ),
    "budget-warmup": (
        {"probing.budget": "[1, 2]", "retraining.warmup": "0.1"},
        "budget: several budgets...warm-up",
    ),
}
# Told of the data, and not of the file.
ONCE: dict[str, tuple[dict[str, str | None], str]] = {
    "order": ({"orders.mine": "[1, 2, 3, 4, 4]"}, "order 'mine'...once: (1, 2, 3, 4, 4)"),
    "data-file": (
        {"scenario.data": r'"~root\u0000\u001b[2J\u202e.npz"'},
        r"no feature file...~root\x00\x1b[2J\u202e.npz",
    ),
    "thirds": ({"scenario.classes_per_task": "3"}, "cannot be cut into tasks of 3...divisor of 10"),
    "base": ({"scenario.kind": "'incremental'", "scenario.base": "10"}, "choose from 1 to 9"),
    "images": ({"network.name": "'reduced_resnet18'"}, "25 x 25 or more, got 8 x 8"),
    "grid": (
        {"orders": "'shuffle:10000'", "seeds": "10000", "learners": "{er = {}, offline = {}}"},
        "has 100020000 jobs...no more than 100000",
    ),
    "steps": ({"probing.readouts": "{ncm = [0, 6]}"}, "there are 5 tasks...from 0 to 5, got 6"),
    "knn": ({"probing.readouts": "{knn = {k = 51}}"}, "knn.k...has 50 training examples...got 51"),
    "batch-norm": ({"probing.batch_norm": "'reestimated'"}, "batch_norm: no network of batch-norm"),
}
NO_TOML: dict[str, tuple[str | bytes, str]] = {
    "broken": ("seeds = [", "is not valid TOML (...correct the file"),
    "pickle": (TRAP, "is not valid TOML (it is not UTF-8 text): correct the file"),
    "deep": (f"seeds = {'[' * 20000}{']' * 20000}\n{TINY}", "(it is nested too deeply)"),
    "deep-key": (f"{'.'.join('a' * 1000)} = 1\n{TINY}", "a: unknown key: correct or remove it"),
}

SAID = {
    name: "...".join(
        f"{key}: ...{said}".replace('"', "").replace(r"\u001b", r"\x1b")
        for key, (_, said) in keys.items()
        if said
    )
    for name, keys in KEYS.items()
} | {name: said for name, (_, said) in ALONE.items()}
FILES: dict[str, str | bytes] = {
    **{f"{n}.toml": study({k: v for k, (v, _) in keys.items() if v}) for n, keys in KEYS.items()},
    **{f"{name}.toml": study(changes) for name, (changes, _) in (ALONE | ONCE).items()},
    **{f"{name}.toml": content for name, (content, _) in NO_TOML.items()},
    "folder.toml/x": "",
    "wrong.json": "{}",
}
MISTAKES = {
    **{f"run {name}.toml": f"{name}.toml: ...{said}" for name, said in SAID.items()},
    **{f"run {name}.toml": said for name, (_, said) in ONCE.items()},
    **{f"run {name}.toml": f"{name}.toml...{said}" for name, (_, said) in NO_TOML.items()},
    "run folder.toml": "folder.toml (Is a directory)...name a preset",
    "run wrong.json": "wrong.json is no preset of `probe list`",
}
