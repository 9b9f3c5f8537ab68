"""Bad inputs by what they are given as.

Each module has FILES, contents by path, and MISTAKES: what is typed, and the sentence that it must
end in, in which `...` stands for any words.
"""

from tests.bad_input import (
    checkpoints,
    command_line,
    data,
    features,
    flags_of_run,
    matrices,
    misspelled,
    models,
    own_networks,
    own_runs,
    probing,
    runs,
    toml_keys,
    toml_syntax,
)

MODULES = (
    command_line,
    flags_of_run,
    toml_syntax,
    toml_keys,
    probing,
    data,
    matrices,
    misspelled,
    features,
    models,
    own_networks,
    own_runs,
    checkpoints,
    runs,
)
FILES = {name: content for module in MODULES for name, content in module.FILES.items()}
MISTAKES = {line: said for module in MODULES for line, said in module.MISTAKES.items()}
