"""Networks, checkpoints, tasks, data and code that `probe model` and `--load` cannot use."""

from tests.bad_input import own_files
from tests.bad_input.refused import each

FILES = own_files.FILES

START = "model {} --data ownnets:load "
REST = "--tasks 0-1,2-3 --workers 1 --out new-run"
RUN = " --checkpoints 'ck/seed0-task{{task}}.pt'"
NETWORK = START + REST + RUN
FILE = START.format("ownnets:build") + REST + " --checkpoints {}"
BAD = FILE.format("'ck-{}/task{{task}}.pt'")
TASKS = NETWORK.format("ownnets:build").replace("0-1,2-3", "{}").replace("{task}", "{{task}}")
DATA = f"model ownnets:build --data {{}} {REST}{RUN}"
FLAG = f"model ownnets:build --data ownnets:load {REST}{RUN} {{}}"
SEEDS = FLAG.replace("seed0", "seed{{seed}}")
ORDER = FLAG.replace("ck/", "ck-orders/{{order}}-")
LOAD = "run own.toml --out new-run --load {}"

MISTAKES = {
    **{
        BAD.format(name): f"ck-{name}/task2.pt {said}"
        for name, said in (
            ("cut", "is damaged...torch.save"),
            ("empty", "is empty"),
            *((f"trap{of}", "holds an object of posix.open") for of in ("", "-torch", "-entry")),
            ("whole", "holds an object of torch.nn.modules.linear.Linear"),
            ("list", "holds no state dict...list"),
            ("optimizer", "holds no state dict...optimizer, epoch"),
            ("lacking", "does not fit the model...lacks 2.bias"),
            ("more", "does not fit the model...4.bias"),
            ("wider", "does not fit the model...(7, 6)...(5, 6)"),
        )
    },
    **{
        FILE.format(f"'{pattern}'"): f"'{pattern}'...{said}"
        for pattern, said in (
            ("absent/task{task}.pt", "looked in absent"),
            ("ck-folder/task{task}.pt", "looked in ck-folder...task2.pt"),
            ("ck/*.pt", "lacks {task}"),
            ("ck/seed{seed}{task}.pt", "{seed} and {task}"),
            ("ck/task{task:d}.pt", "{seed} and {task}"),
            ("ck/seed{sed}-task{task}.pt", "'sed': did you mean 'seed'?"),
        )
    },
    FILE.format("''"): "there are no checkpoints: give --checkpoints",
    FILE.format("rec-none"): "rec-none has no network in it yet",
    FILE.format("'ck-twice/task{task}.pt'"): "ck-twice/task02.pt and ck-twice/task2.pt",
    FILE.format("'ck-ragged/seed{seed}-task{task}.pt'"): "seed-1 has no checkpoint after 1 tasks",
    FILE.format("'ck-grid/{learner}-seed{seed}-task{task}.pt'"): "b/order-0/seed-1, though others",
    FILE.format("'ck-first/task{task}.pt'"): "no network after all 2 tasks (none after task 1)",
    **{
        NETWORK.format(target): said
        for target, said in (
            ("ownnets:few", "ck/seed0-task1.pt does not fit the model...(4, 5)...(3, 5)"),
            ("ownnets:leaving", "ownnets:leaving() raised SystemExit: 0"),
            ("torch:nn", "is of type module, expected a function"),
            ("ownnets:absent", "unknown name in ownnets, 'absent'...known: Pair, Raising"),
            ("ownnets:Raising", "raised ValueError: line one line two on a batch x"),
            ("ownnets:Pair", "the model returns tuple...output= one of 0, 1"),
            ("ck", "ck is a folder without a recording"),
        )
    },
    **{
        TASKS.format(tasks): said
        for tasks, said in (
            ("0-1,1-3", "classes [1] are in more than one task"),
            ("0-1,2", "classes [3] are in no task"),
            ("0-1,2-5", "classes [4, 5] of the tasks are outside 0..3"),
            ("3-2,0-1", "--tasks expects...0-1,2-3 or 0+5,1+6...'3-2,0-1'"),
            ("0-1,2-99999999999", "--tasks expects...'0-1,2-99999999999'"),
            ("0-3", "a network after 2 tasks, and there are 1 tasks"),
        )
    },
    **{
        DATA.format(f"ownnets:{name}"): said
        for name, said in (
            ("leaving", "ownnets:leaving raised SystemExit: 0"),
            ("data_one", "must return (train, test), got Tensor"),
            ("data_below", "ownnets:data_below: train: ...label below 0"),
            ("data_floats", "train: its labels are torch.float32"),
            ("data_onehot", "train: labels must be an int64 vector (N,)"),
            ("data_text_labels", "train: item 0 of the data: ...pairs"),
            ("data_texts", "train: x must be a tensor...got list: use"),
            ("data_shapes", "train is float32 (6,), of test float32 (7,)"),
            ("data_lengths", "train: x and y...got x float32 (23, 6) and y int64 (24"),
            ("data_empty", "test: it holds no examples"),
            ("data_more", "classes [4, 5] are in no task"),
            ("data_untested", "test data of task '2-3' holds no examples"),
            ("data_nan", "ownnets:data_nan has NaN or Inf in example"),
            ("number", "is of type int, expected a function"),
        )
    },
    DATA.format("absent.pt"): "absent.pt cannot be read",
    **each(DATA, "{} is damaged, or holds no examples", "ck-trap/task2.pt", "ck-cut/task2.pt"),
    **{
        FLAG.format(flags): said
        for flags, said in (
            ("--features 0,,2", "unknown feature '': (known: 0, 1, 2)"),
            ("--features 0,0", "named twice in ['0', '0']"),
            ("--features 2", "network own: no feature has parameters"),
            ("--readouts Linear", "unknown readout 'Linear': did you mean 'linear'?"),
            ("--readouts linear,linear", "'linear' is named twice"),
            ("--call ownnets:nothing", "the model raised TypeError: nothing() takes 0"),
            ("--offline 'ck/offline-{task}.pt'", "unknown field in...'task': (known: seed)"),
            ("--offline 'ck/offline-{seed}.pt' --train-offline", "do one of the two"),
            ("--epochs 0", "the recipe: epochs: expected 1 or more, got 0"),
            ("--optimizer adm", "optimizer: expected 'adam', 'adamw', 'nadam' or 'sgd', got"),
            ("--learning-rate nan", "learning_rate: expected a finite number, got nan"),
            ("--learner 'a b'", "'a b' is to be part of a folder's name"),
            ("--network ownnets:few", "ownnets:build and --network ownnets:few"),
        )
    },
    SEEDS.format("--offline 'ck/offline-{seed}.pt'"): "no offline network of seed 1",
    **{
        ORDER.format(flags): said
        for flags, said in (
            ("", "of the orders a, b...--orders FILE"),
            ("--orders orders-more.toml", "order 'a'...from 1 to 2 once: [1, 2, 3]"),
            ("--orders orders-text.toml", "orders of the tasks, from 1, as a = [2, 1, 3]"),
            ("--orders orders-broken.toml", "is not valid TOML (...a = [2, 1, 3]"),
            ("--orders orders-absent.toml", "cannot read --orders orders-absent.toml"),
            ("--orders rotate", "of an order 'a', and the orders are 0, 1"),
        )
    },
    "model ownnets:build": "there are no data: give --data MODULE:LOAD",
    f"model ownnets:build --data ownnets:load {RUN.format()}": "there are no tasks: give --tasks",
    **{
        LOAD.format(code): said
        for code, said in (
            ("ownnone.py", "ownnone.py registers nothing"),
            ("ownours.py", "there are two networks 'mlp'"),
            ("owndigits.py", "there are two data sets 'digits'"),
            ("ownname.py", "importing ownname: ...got 'my net'"),
            ("ownnumber.py", "importing ownnumber: 'mine' must mark a function or class"),
            ("ownraises.py", "importing ownraises raised ValueError: one two"),
            ("ownnets.py --load ownnets", "ownnets is loaded twice"),
            ("ownnets.py", "network own: the model raised RuntimeError: mat1 and mat2"),
        )
    },
    "run own.toml --out new-run": "own.toml: network.name: unknown network 'own'...--load",
}
