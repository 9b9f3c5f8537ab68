"""Studies whose name, seeds or recipes cannot be."""

from tests.bad_input.making import TINY, changed

CASES = {
    "seeds-text.toml": ('seeds = "two"' + TINY, "seeds: expected a whole number, got 'two'"),
    "seeds-bool.toml": ("seeds = true" + TINY, "seeds: expected a whole number, got true"),
    "seeds-float.toml": ("seeds = 1.5" + TINY, "seeds: expected a whole number, got 1.5"),
    "seeds-nan.toml": ("seeds = nan" + TINY, "seeds: expected a whole number, got nan"),
    "seeds-inf.toml": ("seeds = inf" + TINY, "seeds: expected a whole number, got inf"),
    "seeds-zero.toml": ("seeds = 0" + TINY, "seeds: expected 1 or more, got 0"),
    "seeds-table.toml": (
        "seeds = {a = 1}" + TINY,
        "seeds: expected a whole number, got a table of 1",
    ),
    "seeds-list.toml": ("seeds = [1, 2]" + TINY, "seeds: expected a whole number, got a list of 2"),
    "seeds-date.toml": (
        "seeds = 1979-05-27T07:32:00Z" + TINY,
        "seeds: expected a whole number, got 1979-05-27 07:32:00+00:00",
    ),
    "name-path.toml": (
        'name = "../up"' + TINY,
        "name: expected letters, digits and ._- after a letter or digit, got '../up'",
    ),
    "name-number.toml": ("name = 5" + TINY, "name: expected text in quotes, got 5"),
    "name-empty.toml": (
        'name = ""' + TINY,
        "name: expected letters, digits and ._- after a letter or digit, got ''",
    ),
    "storage.toml": ('storage = "fp16"' + TINY, "storage: expected 'fp32' or 'bf16', got 'fp16'"),
    "storage-bool.toml": (
        "storage = false" + TINY,
        "storage: expected 'fp32' or 'bf16', got false",
    ),
    "epochs-text.toml": (
        changed("epochs = 1", "epochs = 'five'"),
        "training.epochs: expected a whole number, got 'five'",
    ),
    "epochs-bool.toml": (
        changed("epochs = 1", "epochs = true"),
        "training.epochs: expected a whole number, got true",
    ),
    "epochs-float.toml": (
        changed("epochs = 1", "epochs = 2.0"),
        "training.epochs: expected a whole number, got 2.0",
    ),
    "epochs-table.toml": (
        changed("epochs = 1", "epochs = {first = 5}"),
        "training.epochs: expected a whole number, got a table of 1",
    ),
    "epochs-huge.toml": (
        changed("epochs = 1", "epochs = 0"),
        "training.epochs: expected 1 or more, got 0",
    ),
    "batch.toml": (
        changed("epochs = 1", "batch_size = -1"),
        "training.batch_size: expected 1 or more, got -1",
    ),
    "rate-text.toml": (
        changed("epochs = 1", "learning_rate = '1e-3'"),
        "training.learning_rate: expected a number, got '1e-3'",
    ),
    "rate-nan.toml": (
        changed("epochs = 1", "learning_rate = nan"),
        "training.learning_rate: expected a finite number, got nan",
    ),
    "rate-inf.toml": (
        changed("epochs = 1", "learning_rate = inf"),
        "training.learning_rate: expected a finite number, got inf",
    ),
    "rate-zero.toml": (
        changed("epochs = 1", "learning_rate = 0.0"),
        "training.learning_rate: expected more than 0, got 0.0",
    ),
    "rate-list.toml": (
        changed("epochs = 1", "learning_rate = [0.1]"),
        "training.learning_rate: expected a number, got a list of 1",
    ),
    "rate-bool.toml": (
        changed("epochs = 1", "learning_rate = true"),
        "training.learning_rate: expected a number, got true",
    ),
    "optimizer.toml": (
        changed("epochs = 1", 'optimizer = "adm"'),
        "training.optimizer: expected 'adam', 'nadam' or 'sgd', got 'adm'",
    ),
    "optimiser.toml": (
        changed("epochs = 1", 'optimiser = "adam"'),
        "training.optimiser: optimiser is called optimizer now",
    ),
    "optimizer-list.toml": (
        changed("epochs = 1", 'optimizer = ["adam"]'),
        "training.optimizer: expected 'adam', 'nadam' or 'sgd', got a list of 1",
    ),
    "precision.toml": (
        changed("epochs = 1", 'precision = "fp8"'),
        "training.precision: expected 'fp32' or 'bf16', got 'fp8'",
    ),
    "init.toml": (
        changed("epochs = 1", 'init = "xavier"'),
        "training.init: expected 'murata' or 'torch', got 'xavier'",
    ),
    "training-number.toml": (
        "training = 5" + changed("[training]\nepochs = 1", ""),
        "training: expected a table, got 5",
    ),
    "training-list.toml": (
        changed("[training]", "[[training]]"),
        "training: expected a table, got a list of 1",
    ),
    "retraining-text.toml": (
        'retraining = "same"' + TINY,
        "retraining: expected a table, got 'same'",
    ),
    "seeds-long.toml": (
        "seeds = 99999999999999999999" + TINY,
        "seeds: expected a number of 64 bits, got 99999999999999999999",
    ),
    "batch-long.toml": (
        changed("epochs = 1", "batch_size = 9223372036854775808"),
        "training.batch_size: expected a number of 64 bits, got 9223372036854775808",
    ),
    "many.toml": (
        "seeds = 0\nsedes = 1\n" + TINY + "[retraining]\nepochs = 'five'\n",
        "retraining.epochs: expected a whole number, got 'five';",
        "there is no such key, correct or remove it",
    ),
}
FILES = {name: content for name, (content, *_) in CASES.items()}
MISTAKES = {
    f"run {name.partition('/')[0]}": [name.partition("/")[0], *said]
    for name, (_, *said) in CASES.items()
}
