"""Models of the user's own that `probe layers` cannot look into."""

from tests.bad_input.model_sources import SOURCES
from tests.bad_input.refused import each

FILES = SOURCES

LAYERS = "layers {} --input 4"
OWN = "layers mine:{} --input 4"
WORDS = "layers mine:Words --input 7 --integers"
NO_TENSOR = (
    "the model returns dict and {} in it is no tensor,...name the logits with output= one of"
)
RAISED = "the model raised {}...check --input, and --integers"

MISTAKES = {
    **each(
        "layers {}:build --input 4",
        "there is no module '{}', neither in the current...give it as package.module, without .py",
        *("mien", "./mine", "..mine", ".", "mine.", "my mine", "data", "package.none"),
    ),
    "layers mien.py:build --input 4": "there is no file mien.py: give the path of your Python",
    "layers mine --input 4": "unknown network 'mine': (known...cnn3, cnn4, cnn6, mlp, mlp400,",
    **each(
        LAYERS,
        "expected MODULE:FACTORY, got '{}': name what builds the model",
        *("mine.plain", "mine:", ":plain", ":"),
    ),
    **each(
        "layers {}:build --input 4",
        "unknown factory in {} 'build': (known: none)",
        *("package", "empty"),
    ),
    "layers mine:plain.0 --input 4": "unknown factory in mine 'plain.0': did you mean 'plain'?",
    "layers many:bild7 --input 4": "unknown factory in many 'bild7': did you mean 'build7' or",
    "layers os:system --input 4": "os:system() raised TypeError: system() missing required"
    "...give a callable that needs no arguments",
    **{
        OWN.format(name): f"mine:{name} is of type {kind}, expected a callable that returns a model"
        for name, kind in (("number", "int"), ("state", "OrderedDict"), ("torch", "module"))
    },
    **{
        OWN.format(name): f"mine:{name}() raised {said}...give a callable that needs no arguments"
        for name, said in (
            ("fails", "RuntimeError: no weights found"),
            ("odd", "Odd: "),
            ("needs", "TypeError: needs() missing 1 required"),
            ("leaves", "SystemExit: 3: "),
            ("ends", "GeneratorExit: "),
            ("forever", "RecursionError: maximum recursion"),
        )
    },
    **{
        OWN.format(name): f"mine:{name}() returned {kind}, expected a torch.nn.Module"
        for name, kind in (("nothing", "NoneType"), ("a_class", "type"), ("Odd", "Odd"))
    },
    OWN.format("Lazy"): "'0.weight' has no shape yet, as its module is lazy: run the model on a",
    OWN.format("Nothing"): "the model returns NoneType, expected one tensor of logits: return a",
    **{
        OWN.format(name): RAISED.format(error)
        for name, error in (
            ("Leaving", "SystemExit"),
            ("Raising", "ValueError"),
            ("Deep", ""),
            ("Stopping", "StopIteration"),
            ("Asserting", "AssertionError"),
            ("Huge", "RuntimeError"),
            ("Generating", "GeneratorExit"),
            ("Wordless", "Odd"),
        )
    },
    **{
        f"layers mine:plain --input {shape}": RAISED.format("RuntimeError")
        for shape in ("5", "4x4x5", "4 --integers")
    },
    "layers mine:Words --input 7": RAISED.format("RuntimeError"),
    WORDS: "the model returns dict, expected one tensor of logits...name the logits with output=",
    **each(f"{WORDS} --output {{}}", NO_TENSOR.format("'{}'"), "logit", "", "__class__"),
    f"{WORDS} --output 0": NO_TENSOR.format("0"),
    **{
        f"layers {module}:build --input 4": f"importing {module} raised {error}...{remedy}"
        for module, error in (
            ("broken", "SyntaxError"),
            ("indented", "IndentationError"),
            ("latin", "SyntaxError"),
            ("nul", "SyntaxError"),
            ("deep", "SyntaxError"),
            ("lacking_name", "ImportError"),
            ("raises", "ValueError"),
            ("exits", "SystemExit"),
            ("exits_well", "SystemExit"),
            ("ends", "GeneratorExit"),
            ("odd", "Odd"),
            ("circular", "AttributeError"),
            ("forever", "RecursionError"),
        )
        for remedy in (f"correct it until `import {module}` works",)
    },
    **each(
        "layers {}:build --input 4",
        "importing {} raised ModuleNotFoundError...install or correct what it imports",
        *("package.inner", "lacking"),
    ),
}
