"""Data, orders, features and files of code that `probe model` and `--load` cannot use."""

from tests.bad_input.refused import each

FILES: dict[str, bytes | str] = {}

REST = "--tasks 0-1,2-3 --workers 1 --out new-run"
RUN = "--checkpoints 'ck/seed0-task{{task}}.pt'"
DATA = f"model ownnets:build --data {{}} {REST} {RUN}"
FLAG = f"model ownnets:build --data ownnets:load {REST} {RUN} {{}}"
SEEDS = FLAG.replace("seed0", "seed{{seed}}")
ORDER = FLAG.replace("ck/", "ck-orders/{{order}}-")
LOAD = "run own.toml --out new-run --load {}"
ALONE = "run {}.toml --out new-run"

PAIR = "must return (train, test), got {}: give each as Examples, a Dataset or a pair (x, y)"
NO_ARGUMENTS = "...give a function without arguments that returns (train, test)"

MISTAKES = {
    **{
        DATA.format(f"ownnets:data_{name}"): f"ownnets:data_{name} {said}"
        for name, said in (
            ("raising", f"raised OSError: no disk{NO_ARGUMENTS}"),
            ("leaving", f"raised SystemExit: 0{NO_ARGUMENTS}"),
            ("wanting", f"raised TypeError: data_wanting() missing 1{NO_ARGUMENTS}"),
            ("one", PAIR.format("Tensor")),
            ("three", PAIR.format("tuple")),
            ("none", PAIR.format("NoneType")),
        )
    },
    **{
        DATA.format(f"ownnets:data_{name}"): f"ownnets:data_{name}: {said}"
        for name, said in (
            ("below", "train: it has a label below 0: labels are class numbers 0..K-1"),
            ("floats", "train: its labels are torch.float32: labels are class numbers, give whole"),
            ("onehot", "train: labels must be an int64 vector (N,), got torch.int64 of shape"),
            ("text_labels", "train: item 0 of the data: ...wrap the data so that they give pairs"),
            ("texts", "train: x must be a tensor,...got list, Tensor: use torch.as_tensor"),
            ("shapes", "an example of train is float32 (6,), of test float32 (7,): give both one"),
            ("lengths", "train: x and y must hold equally many examples, got x (23, 6) and y (24"),
            ("empty", "test: it holds no examples"),
            ("empty_train", "train: it holds no examples"),
        )
    },
    DATA.format("ownnets:data_more"): "classes [4, 5] are in no task: every class belongs to one",
    DATA.format("ownnets:data_untested"): "the test data of task '2-3' holds no examples",
    DATA.format("ownnets:data_nan"): "the training data of ownnets:data_nan has NaN or Inf in exam",
    DATA.format("ownnets:data_other"): "the model raised RuntimeError: mat1 and mat2...check the",
    DATA.format("ownnets:number"): "is of type int, expected a function that returns (train, test)",
    DATA.format("ownnets:lod"): "unknown factory in ownnets 'lod': did you mean 'load'",
    **each(
        DATA,
        "expected MODULE:FACTORY, got '{}': name a function that returns (train, test)",
        *("ownnets", "ownnets.py", "mnist", ""),
    ),
    DATA.format("absent.pt"): "absent.pt cannot be read (No such file...give the folder of a rec",
    **each(
        DATA,
        "{} is damaged, or holds no examples: remove it",
        *("ck-trap/task2.pt", "ck-cut/task2.pt", "ck/seed0-task2.pt"),
    ),
    **{
        FLAG.format(f"--features {names}"): f"network own: {said}"
        for names, said in (
            ("nine", "unknown feature 'nine': (known: 0, 1, 2)"),
            ("auto,0", "unknown feature 'auto': (known: 0, 1, 2)"),
            ("0,,2", "unknown feature '': (known: 0, 1, 2)"),
            ("0.weight", "unknown feature '0.weight': (known: 0, 1, 2)"),
            ("0,0", "a feature is named twice in ['0', '0']: name each once"),
            ("2", "no feature has parameters behind it to retrain: name earlier ones"),
        )
    },
    FLAG.format("--readouts mlp"): "unknown readout 'mlp': (known: knn, linear, ncm, retrain)",
    FLAG.format("--readouts ''"): "unknown readout '': (known: knn, linear, ncm, retrain)",
    FLAG.format("--readouts Linear"): "unknown readout 'Linear': did you mean 'linear'?",
    FLAG.format("--readouts linear,linear"): "the readout 'linear' is named twice: analyze with",
    FLAG.format("--call ownnets"): "expected MODULE:FACTORY, got 'ownnets': name a function of the",
    FLAG.format("--call ownnets:number"): "is of type int, expected a function of the network and",
    FLAG.format("--call ownnets:nothing"): "the model raised TypeError: nothing() takes 0...check",
    FLAG.format("--offline 'absent-{seed}.pt'"): "no file fits 'absent-{seed}.pt': looked in .",
    FLAG.format("--offline 'ck/offline-{task}.pt'"): "unknown field in...'task': (known: seed)",
    FLAG.format("--offline 'ck-off/offline-{seed}.pt'"): "ck-off/offline-0.pt does not fit the",
    FLAG.format("--offline 'ck/offline-{seed}.pt' --train-offline"): "got offline networks, and is "
    "to train some: do one of the two",
    SEEDS.format("--offline 'ck/offline-{seed}.pt'"): "there is no offline network of seed 1, as "
    "there is of seed 0: add one",
    FLAG.format("--epochs 0"): "the recipe: epochs: expected 1 or more, got 0",
    FLAG.format("--optimizer adm"): "optimizer: expected 'adam', 'adamw', 'nadam' or 'sgd', got",
    FLAG.format("--learning-rate nan"): "learning_rate: expected a finite number, got nan",
    FLAG.format("--learner 'a b'"): "'a b' is to be part of a folder's name: use letters, digits",
    FLAG.format("--network ownnets:wide"): "the network is ownnets:build and --network ownnets:wide"
    ": name it once",
    ORDER.format(""): "the checkpoints are of the orders a, b: say which order...by --orders FILE",
    **{
        ORDER.format(f"--orders orders-{name}.toml"): said
        for name, said in (
            ("more", "order 'a' must name each task from 1 to 2 once: [1, 2, 3]"),
            ("twice", "order 'a' must name each task from 1 to 2 once: [1, 1]"),
            ("zero", "order 'a' must name each task from 1 to 2 once: [0, 1]"),
            ("lacking", "the checkpoints are of an order 'b', and the orders are a: name it"),
            ("table", "must name orders of the tasks, from 1, as a = [2, 1, 3]"),
            ("text", "must name orders of the tasks, from 1, as a = [2, 1, 3]"),
            ("empty", "must name orders of the tasks, from 1, as a = [2, 1, 3]"),
            ("broken", "is not valid TOML (...): write orders as a = [2, 1, 3]"),
            ("absent", "cannot read --orders orders-absent.toml (...): give a TOML file of ord"),
        )
    },
    ORDER.format("--orders rotate"): "are of an order 'a', and the orders are 0, 1: name it there",
    ORDER.format("--orders backwards"): "unknown orders 'backwards': expected rotate, none or",
    "model ownnets:build": "there are no data: give --data MODULE:LOAD, a function that returns",
    "model ownnets:build --data ownnets:load": "there are no checkpoints: give --checkpoints",
    f"model ownnets:build --data ownnets:load {RUN.format()}": "there are no tasks: give --tasks",
    "model ck": "ck is a folder without a recording: name its files, as --checkpoints",
    "model rec-none": "rec-none has no network in it yet: record one with rec.after_task",
    "model": "missing argument 'MODULE:FACTORY|DIR': see `probe model --help`",
    **each(LOAD, "{} registers nothing: mark what a study is to name", "ownnone.py", "ownnone"),
    **each(LOAD, "there are two networks 'own': rename yours", "owntwice.py"),
    **each(LOAD, "there are two networks 'mlp': rename yours", "ownours.py"),
    **each(LOAD, "there are two data sets 'digits': rename yours", "owndigits.py"),
    LOAD.format("ownname.py"): "importing ownname: a registered name has letters...got 'my net'",
    LOAD.format("ownnumber.py"): "importing ownnumber: 'mine' must mark a function or class, got",
    LOAD.format("ownraises.py"): "importing ownraises raised ValueError: one two: correct it until",
    LOAD.format("ownexits.py"): "importing ownexits raised SystemExit: 4: correct it until",
    LOAD.format("absent.py"): "there is no file absent.py: give the path of your Python file",
    LOAD.format("absent"): "there is no module 'absent', neither in the current directory nor",
    LOAD.format("ownnets.py --load ownnets"): "ownnets is loaded twice, the first time as ownnets",
    LOAD.format("ownnets.py"): "network own: the model raised RuntimeError: mat1 and mat2...check",
    **{
        ALONE.format(name): f"{name}.toml: {said}...or give the file of your own with --load"
        for name, said in (
            ("own", "network.name: unknown network 'own'"),
            ("own-target", "network.name: unknown network 'ownnets:build'"),
            ("own-file", "network.name: unknown network 'ownnets.py'"),
            ("own-data", "scenario.data: unknown data set 'ownnets:load'"),
            ("own-kind", "learners.a: unknown learner 'ownnets:Named'"),
        )
    },
}
