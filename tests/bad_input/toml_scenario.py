"""Studies whose scenario, network or orders cannot be."""

from tests.bad_input.making import NAME, changed

CASES = {
    "feature.toml": (
        changed(NAME, NAME + '\nfeatures = ["hiden1"]'),
        "network.features: unknown feature of this study's networks",
        "did you mean 'hidden1' or 'hidden2'?",
    ),
    "no-features.toml": (
        changed(NAME, NAME + "\nfeatures = []"),
        "network.features: expected 1 or more entries, got a list of 0",
    ),
    "features-text.toml": (
        changed(NAME, NAME + '\nfeatures = "hidden1"'),
        "network.features: expected a list, got 'hidden1'",
    ),
    "network.toml": (
        changed("mlp", "mpl"),
        "network.name: unknown network 'mpl': did you mean 'mlp'?",
    ),
    "network-text.toml": (
        changed(f"[network]\n{NAME}", "").replace("orders", "network = 'mlp'\norders"),
        "network: expected a table, got 'mlp'",
    ),
    "network-list.toml": (
        changed(f"[network]\n{NAME}", "[[network]]\nname = 'mlp'"),
        "network: expected a table, got a list of 1",
    ),
    "network-empty.toml": (changed(NAME, ""), "network.name: this key is needed"),
    "network-number.toml": (changed('"mlp"', "5"), "network.name: expected text in quotes, got 5"),
    "data.toml": (
        changed('"digits"', '"digit"'),
        "scenario.data: unknown data set 'digit'",
        "did you mean 'digits' or 'spoken_digits'?",
    ),
    "data-number.toml": (changed('"digits"', "5"), "scenario.data: expected text in quotes, got 5"),
    "data-list.toml": (
        changed('"digits"', '["digits", "mnist"]'),
        "scenario.data: expected text in quotes, got a list of 2",
    ),
    "data-none.toml": (changed('data = "digits"', ""), "scenario.data: this key is needed"),
    "data-file.toml": (
        changed('"digits"', '"no.npz"'),
        "there is no feature file",
        "give its path, or point --data at its folder",
    ),
    "data-nul.toml": (
        changed('"digits"', r'"~root\u0000.npz"'),
        r"there is no feature file",
        r"~root\x00.npz: give its path, or point --data at its folder",
    ),
    "data-escape.toml": (
        changed('"digits"', r'"\u001b[2J\u202e.npz"'),
        r"\x1b[2J\u202e.npz: give its path, or point --data at its folder",
    ),
    "key-escape.toml": (
        changed("[scenario]", r'"\u001b[31m\u202e" = 1' + "\n[scenario]"),
        r"\x1b[31m\u202e: there is no such key, correct or remove it",
    ),
    "kind.toml": (
        changed('"digits"', '"digits"\nkind = "splits"'),
        "scenario: unknown kind of scenario 'splits': did you mean 'split'?",
    ),
    "kind-number.toml": (
        changed('"digits"', '"digits"\nkind = 3'),
        "scenario: unknown kind of scenario '3': (known",
        "incremental, multimodal, permutation, split)",
    ),
    "kind-list.toml": (
        changed('"digits"', '"digits"\nkind = ["split"]'),
        "scenario: unknown kind of scenario \"['split']\": did you mean 'split'?",
    ),
    "multimodal.toml": (
        changed('"digits"', '"digits"\nkind = "multimodal"'),
        "scenario.data: expected a list, got 'digits'",
    ),
    "three-sets.toml": (
        changed('"digits"', '["digits", "mnist", "svhn"]\nkind = "multimodal"'),
        "scenario.data: expected no more than 2 entries, got a list of 3",
    ),
    "scenario-list.toml": (
        changed("[scenario]", "[[scenario]]"),
        "scenario: expected a table, got a list of 1",
    ),
    "scenario-empty.toml": (
        "[scenario]\n[network]\nname = 'mlp'\n[learners.er]\n",
        "scenario.data: this key is needed",
    ),
    "thirds.toml": (
        changed('"digits"', '"digits"\nclasses_per_task = 3'),
        "digits has 10 classes, which cannot be cut into tasks of 3",
        "choose a divisor of 10",
    ),
    "one-session.toml": (
        changed('"digits"', '"digits"\nkind = "permutation"\nsessions = 1'),
        "scenario.sessions: expected 2 or more, got 1",
    ),
    "base.toml": (
        changed('"digits"', '"digits"\nkind = "incremental"\nbase = 10'),
        "a base session of 10 of the 10 classes of digits leaves",
        "choose from 1 to 9, of 2 classes or more",
    ),
    "limit-bool.toml": (
        changed("train_limit = 5", "train_limit = true"),
        "scenario.train_limit: expected a whole number, got true",
    ),
    "limit-huge.toml": (
        changed("train_limit = 5", "train_limit = -9223372036854775808"),
        "scenario.train_limit: expected a number of 64 bits, got -9223372036854775808",
    ),
    "permutations.toml": (
        changed('"digits"', '"digits"\nkind = "permutation"\npermutations = -1'),
        "scenario.permutations: expected 0 or more, got -1",
    ),
    "order.toml": (
        changed('"none"', "{mine = [1, 2, 3, 4, 4]}"),
        "order 'mine' must name each task from 1 to 5 once: (1, 2, 3, 4, 4)",
    ),
    "order-names.toml": (
        changed('"none"', "{mine = ['0-1']}"),
        "orders.mine.0: expected a whole number, got '0-1'",
    ),
    "order-number.toml": (
        changed('"none"', "3"),
        "orders: expected rotate, none, shuffle:N or a table of orders, got 3",
    ),
    "order-list.toml": (
        changed('"none"', "[[1, 2, 3, 4, 5]]"),
        "orders: expected rotate, none, shuffle:N or a table of orders, got a list of 1",
    ),
    "order-nested.toml": (
        changed('"none"', "{mine = {a = 1}}"),
        "orders.mine: expected a list, got a table of 1",
    ),
    "order-none.toml": (
        changed('"none"', "{}"),
        "orders: expected 1 or more entries, got a table of 0",
    ),
    "order-empty.toml": (
        changed('"none"', "{mine = []}"),
        "order 'mine' must name each task from 1 to 5 once: ()",
    ),
    "order-date.toml": (
        changed('"none"', "2020-01-01"),
        "orders: expected rotate, none, shuffle:N or a table of orders, got 2020-01-01",
    ),
    "large.toml": (
        changed("mlp", "reduced_resnet18"),
        "reduced_resnet18 needs images of 25 x 25 or more, got 8 x 8: use cnn3",
    ),
    "order-long.toml": (
        changed('"none"', "{mine = [99999999999999999999]}"),
        "orders.mine.0: expected a number of 64 bits, got 99999999999999999999",
    ),
}
# What only shows once the data are there is told of the data, and not of the file.
OF_DATA = {
    *("data-nul.toml", "data-escape.toml"),
    *("data-file.toml", "thirds.toml", "base.toml", "order.toml", "order-empty.toml", "large.toml"),
}
FILES = {name: content for name, (content, *_) in CASES.items()}
MISTAKES = {
    f"run {name}": said if name in OF_DATA else [name, *said] for name, (_, *said) in CASES.items()
}
