"""Studies with a key that there is not: what it is like, and of few keys all."""

from __future__ import annotations

from tests.bad_input.making import study

# The key as it is written, its value, and what is said of it.
LIKE: dict[str, tuple[str, str]] = {
    "sedes": ("2", "did you mean 'seeds'?"),
    "retrainings.epochs": ("2", "did you mean 'retraining' or 'training'?"),
    "Storage": ("'bf16'", "did you mean 'storage'?"),
    "training.epohcs": ("5", "did you mean 'epochs'?"),
    "training.lr": ("0.1", "did you mean 'learning_rate'?"),
    "retraining.batchsize": ("5", "did you mean 'batch_size'?"),
    "network.featurs": ("['hidden1']", "did you mean 'features'? (known: features, name)"),
    "scenario.clases_per_task": ("2", "did you mean 'classes_per_task'? (known: classes_per_task,"),
    "learners.er.memory_per_clas": ("5", "did you mean 'memory_per_class'? (known: competing,"),
    "learners.er.training.learning_rat": ("0.1", "did you mean 'learning_rate'?"),
    "learners.slow.strenght": ("1.0", "did you mean 'strength'?"),
    "learners.finetune.exemplars.perclass": ("5", "did you mean 'per_class'? (known: balanced,"),
    "report.head": ("['multi']", "did you mean 'heads'? (known: heads, mean, weights)"),
    "probing.readout": ("{}", "did you mean 'readouts'? (known: batch_norm, budget,"),
    "probing.readouts.liner": ("{}", "did you mean 'linear'? (known: knn, linear, ncm, retrain)"),
    "probing.readouts.linear.c": ("1.0", "did you mean 'C'? (known: C, steps)"),
    "probing.readouts.retrain.step": ("'all'", "did you mean 'steps'? (known: steps)"),
}
UNLIKE: dict[str, tuple[str, str]] = {
    "xyz": ("2", "correct or remove it"),
    "training.xyz": ("2", "correct or remove it"),
    "network.xyz": ("2", "correct or remove it (known: features, name)"),
    "learners.er.xyz": ("2", "correct or remove it (known: competing, exemplars, kind,"),
    "probing.readouts.ncm.C": ("1.0", "correct or remove it (known: steps)"),
    "report.xyz": ("2", "correct or remove it (known: heads, mean, weights)"),
}
# A table that its kind decides, and one that is none.
KINDS: dict[str, tuple[dict[str, str | None], str]] = {
    "session": (
        {"scenario.kind": "'permutation'", "scenario.session": "3"},
        "scenario.session: unknown key: did you mean 'sessions'? (known: data, kind, permutations,",
    ),
    "sessions-of-split": (
        {"scenario.sessions": "3"},
        "scenario.sessions: unknown key: correct or remove it (known: classes_per_task, data,",
    ),
    "both": (
        {"training.epohcs": "5", "report.haeds": "['multi']"},
        "training.epohcs: unknown key: did you mean 'epochs'?; report.haeds: unknown key: did you "
        "mean 'heads'?",
    ),
}
# What a study needs beside the key: a learner whose name does not say its kind.
ALSO: dict[str, dict[str, str | None]] = {"learners.slow.strenght": {"learners.slow.kind": "'ewc'"}}

FILES = {
    f"no-{key}.toml": study({key: value} | ALSO.get(key, {}))
    for key, (value, _) in (LIKE | UNLIKE).items()
} | {f"no-{name}.toml": study(changes) for name, (changes, _) in KINDS.items()}
_SAID = {key: f"{key}: unknown key: {said}" for key, (_, said) in (LIKE | UNLIKE).items()}
_SAID["retrainings.epochs"] = f"retrainings: unknown key: {LIKE['retrainings.epochs'][1]}"
MISTAKES = {f"run no-{key}.toml": f"no-{key}.toml: {said}" for key, said in _SAID.items()}
MISTAKES |= {f"run no-{name}.toml": f"no-{name}.toml: {said}" for name, (_, said) in KINDS.items()}
