"""Flags that cannot have their values, and studies in files that are none."""

from tests.bad_input.making import TINY, TRAP, study

LINES = {
    "runn digits": ("'runn'", "'run'"),
    "run": ("PRESET|FILE.toml",),
    "run digits --sedes 1": ("--sedes", "--seeds"),
    "run digits --learners ../er": ("'../er'", "'er'"),
    "run digits --weights mine=1,0": ("got 2", "7"),
    "run digits --cache-budget 1G": ("'1G'",),
    "run digits --device cuda:99": ("'cuda:99'",),
    "run digits --out file": ("file", "--out"),
    "run digits --out full": ("full", "--out"),
    "run digits --executor dask": ("'dask'", "pool"),
    "init --data digit": ("'digit'", "'digits'"),
    "init nowhere/study.toml": ("nowhere/study.toml",),
    "figures full --label er": ("'er'",),
}
# One study with several mistakes says all of them: keys, their values, and what is
# named.
KEYS = {
    "types": {
        "seeds": ("'two'", "'two'"),
        "training.learning_rate": ("'1e-3'", "'1e-3'"),
        "network.name": ("1979-05-27T07:32:00Z", "1979-05-27"),
        "report.heads": ("[1]", "report.heads.0"),
        "probing.budget": ("[1, 1.5, 99999]", "1.5"),
        "learners.finetune.exemplars.balanced": ("'yes'", "'yes'"),
    },
    "unknown": {
        "sedes": ("2", "'seeds'"),
        r'"\u001b[31m\u202e"': ("1", r"\x1b[31m\u202e"),
        "learners.slow": ("{kind = 'ewc', strenght = 1.0}", "'strength'"),
        "probing.readouts.linear.c": ("1.0", "'C'"),
    },
    "values": {
        "training.momentum": ("0.9", "'sgd'"),
        "network.name": ("'mpl'", "'mlp'"),
        "learners.finetune.exemplars": ("{per_class = 5, total = 5}", "per_class"),
        f"learners.{'a' * 260}": ("{kind = 'er'}", "aaa"),
        "probing.readouts.linear.steps": ("[3, 1]", "[3, 1]"),
    },
}
# Mistakes that show once the keys are right: changes, and what is named.
ONCE = {
    "none": (dict.fromkeys(("scenario.data", "network.name")), "network"),
    "number": ({"seeds": "99999999999999999999"}, "99999999999999999999"),
    "feature": ({"network.features": "['hiden1']"}, "hiden1"),
    "kind": ({"scenario.kind": "'splits'"}, "'splits'"),
    "budget-warmup": (
        {"probing.budget": "[1, 2]", "retraining.warmup": "0.1"},
        "budget",
    ),
    "data-file": (
        {"scenario.data": r'"~root\u0000\u001b[2J.npz"'},
        r"~root\x00\x1b[2J.npz",
    ),
    "grid": (
        {
            "orders": "'shuffle:10000'",
            "seeds": "10000",
            "learners": "{er = {}, offline = {}}",
        },
        "100020000",
    ),
    "steps": ({"probing.readouts": "{ncm = [0, 6]}"}, "got 6"),
    "knn": ({"probing.readouts": "{knn = {k = 51}}"}, "got 51"),
    "freeze": ({"learners.finetune.freeze": "['hiden1']"}, "'hidden1'"),
    "freeze-flat": ({"learners.finetune.freeze": "['hidden1.0']"}, "'hidden1.0'"),
    "freeze-all": (
        {"learners.finetune.freeze": "['hidden1', 'hidden2', 'output']"},
        "output",
    ),
    "freeze-from": (
        {
            "learners.finetune.freeze": "['hidden1']",
            "learners.finetune.freeze_from": "6",
        },
        "got 6",
    ),
    # A place for each of ten classes in each of six tasks.
    "quota": (
        {
            "scenario.kind": "'domain-incremental'",
            "scenario.shift": "'permute'",
            "scenario.sessions": "6",
            "learners.finetune.exemplars": "{total = 59}",
        },
        "60",
    ),
    "freeze-none": ({"learners.finetune.freeze_from": "3"}, "freeze_from = 3"),
    "freeze-kind": (
        {"learners": "{cumulative = {freeze = ['hidden1']}}"},
        "'cumulative'",
    ),
}
NO_TOML = {
    "broken": "seeds = [",
    "pickle": TRAP,
    "deep": f"seeds = {'[' * 20000}{']' * 20000}\n{TINY}",
}
FILES = {
    "file": "",
    "full/thesis.txt": "",
    "folder.toml/x": "",
    "wrong.json": "{}",
    **{f"{name}.toml": study(changes) for name, (changes, _) in ONCE.items()},
    **{f"{name}.toml": content for name, content in NO_TOML.items()},
}
MISTAKES = {
    **LINES,
    **{f"run {name}.toml": (said,) for name, (_, said) in ONCE.items()},
    **{f"run {name}.toml": (f"{name}.toml",) for name in (*NO_TOML, "folder")},
    "run wrong.json": ("wrong.json",),
}
for name, keys in KEYS.items():
    values = {key: value for key, (value, _) in keys.items()}
    FILES[f"{name}.toml"] = study(values)
    MISTAKES[f"run {name}.toml"] = (name, *(named for _, named in keys.values()))
