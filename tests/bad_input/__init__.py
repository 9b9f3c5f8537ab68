"""Bad inputs, one for each place that refuses, by the kind of what is given.

Each module has FILES, contents by path, and MISTAKES: command lines, and fragments of the sentence
that each must end in, with `...` between two of them.
"""

from tests.bad_input import (
    checkpoints,
    command_line,
    data,
    features,
    matrices,
    models,
    own_networks,
    runs,
    toml_keys,
)

MODULES = (
    command_line,
    toml_keys,
    data,
    matrices,
    features,
    models,
    own_networks,
    checkpoints,
    runs,
)
FILES = {name: content for module in MODULES for name, content in module.FILES.items()}
MISTAKES = {line: said for module in MODULES for line, said in module.MISTAKES.items()}
