"""Models of the user's own that `probe layers` cannot look into."""

from tests.bad_input.model_sources import SOURCES

FILES = SOURCES

MISTAKES = {
    "layers mien:made --input 4": [
        "there is no module 'mien', neither in the current directory",
        "give it as package.module, without .py",
    ],
    "layers mine --input 4": [
        "unknown network 'mine': (known",
        "cnn3, cnn4, cnn6, mlp, mlp400, reduced_resnet18)",
    ],
    "layers mine.plain --input 4": [
        "expected MODULE:FACTORY, got 'mine.plain': name what builds the model"
    ],
    "layers mine: --input 4": ["expected MODULE:FACTORY, got 'mine:': name what builds the model"],
    "layers :plain --input 4": [
        "expected MODULE:FACTORY, got ':plain': name what builds the model"
    ],
    "layers : --input 4": ["expected MODULE:FACTORY, got ':': name what builds the model"],
    "layers mine:plain:x --input 4": [
        "unknown factory in mine 'plain:x': did you mean 'plain'? (known: plain)"
    ],
    "layers mine.py:plain --input 4": [
        "there is no module 'mine.py', neither in the current",
        "give it as package.module, without .py",
    ],
    "layers ./mine:plain --input 4": [
        "there is no module './mine', neither in the current",
        "give it as package.module, without .py",
    ],
    "layers /mine:plain --input 4": [
        "there is no module '/mine', neither in the current",
        "give it as package.module, without .py",
    ],
    "layers ..mine:plain --input 4": [
        "there is no module '..mine', neither in the current",
        "give it as package.module, without .py",
    ],
    "layers .:plain --input 4": [
        "there is no module '.', neither in the current directory",
        "give it as package.module, without .py",
    ],
    "layers .mine:plain --input 4": [
        "there is no module '.mine', neither in the current",
        "give it as package.module, without .py",
    ],
    "layers mine.:plain --input 4": [
        "there is no module 'mine.', neither in the current",
        "give it as package.module, without .py",
    ],
    "layers mine..x:plain --input 4": [
        "there is no module 'mine..x', neither in the current",
        "give it as package.module, without .py",
    ],
    "layers mine.x:plain --input 4": [
        "there is no module 'mine.x', neither in the current",
        "give it as package.module, without .py",
    ],
    "layers 'my mine:plain' --input 4": [
        "there is no module 'my mine', neither in the current",
        "give it as package.module, without .py",
    ],
    "layers package:build --input 4": ["unknown factory in package 'build': (known: none)"],
    "layers package.inner:build --input 4": [
        "importing package.inner raised ModuleNotFoundError",
        "install or correct what it imports",
    ],
    "layers package.none:build --input 4": [
        "there is no module 'package.none', neither in the current",
        "give it as package.module, without .py",
    ],
    "layers data:build --input 4": [
        "there is no module 'data', neither in the current directory",
        "give it as package.module, without .py",
    ],
    "layers empty:build --input 4": ["unknown factory in empty 'build': (known: none)"],
    "layers os:system --input 4": [
        "os:system() raised TypeError: system() missing required",
        "give a callable that needs no arguments",
    ],
    "layers os.path:join --input 4": [
        "os.path:join() raised TypeError: join() missing 1 required",
        "give a callable that needs no arguments",
    ],
    "layers mine:maid --input 4": ["unknown factory in mine 'maid': (known: none)"],
    "layers mine:plain.0 --input 4": [
        "unknown factory in mine 'plain.0': did you mean 'plain'? (known: plain)"
    ],
    "layers many:bild7 --input 4": [
        "unknown factory in many 'bild7': did you mean 'build7' or 'build47'?"
    ],
    "layers mine:number --input 4": [
        "mine:number is of type int, expected a callable that returns a model"
    ],
    "layers mine:state --input 4": [
        "mine:state is of type OrderedDict, expected a callable that returns a model"
    ],
    "layers mine:fails --input 4": [
        "mine:fails() raised RuntimeError: no weights found",
        "give a callable that needs no arguments",
    ],
    "layers mine:odd --input 4": ["mine:odd() raised Odd: give a callable that needs no arguments"],
    "layers mine:needs --input 4": [
        "mine:needs() raised TypeError: needs() missing 1 required",
        "give a callable that needs no arguments",
    ],
    "layers mine:leaves --input 4": [
        "mine:leaves() raised SystemExit: 3: give a callable that needs no arguments"
    ],
    "layers mine:ends --input 4": [
        "mine:ends() raised GeneratorExit: give a callable that needs no arguments"
    ],
    "layers mine:nothing --input 4": [
        "mine:nothing() returned NoneType, expected a torch.nn.Module"
    ],
    "layers mine:a_class --input 4": ["mine:a_class() returned type, expected a torch.nn.Module"],
    "layers mine:forever --input 4": [
        "mine:forever() raised RecursionError: maximum recursion",
        "give a callable that needs no arguments",
    ],
    "layers mine:Odd --input 4": ["mine:Odd() returned Odd, expected a torch.nn.Module"],
    "layers mine:Leaving --input 4": [
        "the model raised SystemExit",
        "check --input, and --integers",
    ],
    "layers mine:Raising --input 4": [
        "the model raised ValueError",
        "check --input, and --integers",
    ],
    "layers mine:Nothing --input 4": [
        "the model returns NoneType, expected one tensor of logits: return a tensor"
    ],
    "layers mine:Deep --input 4": [
        "the model raised ",
        "check --input, and --integers",
    ],
    "layers mine:Lazy --input 4": ["the model raised ValueError", "check --input, and --integers"],
    "layers mine:Stopping --input 4": [
        "the model raised RuntimeError",
        "check --input, and --integers",
    ],
    "layers mine:Asserting --input 4": [
        "the model raised AssertionError",
        "check --input, and --integers",
    ],
    "layers mine:Huge --input 4": [
        "the model raised RuntimeError",
        "check --input, and --integers",
    ],
    "layers mine:Generating --input 4": [
        "the model raised GeneratorExit",
        "check --input, and --integers",
    ],
    "layers mine:Wordless --input 4": ["the model raised Odd", "check --input, and --integers"],
    "layers mine:torch --input 4": [
        "mine:torch is of type module, expected a callable that returns a model"
    ],
    "layers mine:__name__ --input 4": [
        "mine:__name__ is of type str, expected a callable that returns a model"
    ],
    "layers broken:build --input 4": [
        "importing broken raised SyntaxError",
        "correct it until `import broken` works",
    ],
    "layers indented:build --input 4": [
        "importing indented raised IndentationError",
        "correct it until `import indented` works",
    ],
    "layers latin:build --input 4": [
        "importing latin raised SyntaxError",
        "correct it until `import latin` works",
    ],
    "layers nul:build --input 4": [
        "importing nul raised SyntaxError",
        "correct it until `import nul` works",
    ],
    "layers deep:build --input 4": [
        "importing deep raised SyntaxError",
        "correct it until `import deep` works",
    ],
    "layers lacking:build --input 4": [
        "importing lacking raised ModuleNotFoundError",
        "install or correct what it imports",
    ],
    "layers lacking_name:build --input 4": [
        "importing lacking_name raised ImportError",
        "correct it until `import lacking_name` works",
    ],
    "layers raises:build --input 4": [
        "importing raises raised ValueError",
        "correct it until `import raises` works",
    ],
    "layers exits:build --input 4": [
        "importing exits raised SystemExit",
        "correct it until `import exits` works",
    ],
    "layers exits_well:build --input 4": [
        "importing exits_well raised SystemExit",
        "correct it until `import exits_well` works",
    ],
    "layers ends:build --input 4": [
        "importing ends raised GeneratorExit",
        "correct it until `import ends` works",
    ],
    "layers odd:build --input 4": [
        "importing odd raised Odd",
        "correct it until `import odd` works",
    ],
    "layers circular:build --input 4": [
        "importing circular raised AttributeError",
        "correct it until `import circular` works",
    ],
    "layers forever:build --input 4": [
        "importing forever raised RecursionError",
        "correct it until `import forever` works",
    ],
    "layers mine:plain --input 5": [
        "the model raised RuntimeError",
        "check --input, and --integers",
    ],
    "layers mine:plain --input 4x4x5": [
        "the model raised RuntimeError",
        "check --input, and --integers",
    ],
    "layers mine:plain --input 4 --integers": [
        "the model raised RuntimeError",
        "check --input, and --integers",
    ],
    "layers mine:Words --input 7": [
        "the model raised RuntimeError",
        "check --input, and --integers",
    ],
    "layers mine:Words --input 7 --integers": [
        "the model returns dict, expected one tensor of logits",
        "name the logits with output= one of 'logits', 'state'",
    ],
    "layers mine:Words --input 7 --integers --output logit": [
        "the model returns dict and 'logit' in it is no tensor,",
        "name the logits with output= one of 'logits', 'state'",
    ],
    "layers mine:Words --input 7 --integers --output 0": [
        "the model returns dict and 0 in it is no tensor, expected",
        "name the logits with output= one of 'logits', 'state'",
    ],
    "layers mine:Words --input 7 --integers --output ''": [
        "the model returns dict and '' in it is no tensor, expected",
        "name the logits with output= one of 'logits', 'state'",
    ],
    "layers mine:Words --input 7 --integers --output __class__": [
        "the model returns dict and '__class__' in it is no tensor,",
        "name the logits with output= one of 'logits', 'state'",
    ],
    "layers mine:plain --input 99999999999x99999999999": [
        "--input expects the shape of one input as 3x32x32, got"
    ],
}
