"""Networks, checkpoints, tasks, data and code that `probe model` and `--load` cannot use."""

from tests.bad_input import own_files
from tests.bad_input.refused import several

FILES = own_files.FILES

REST = "--tasks 0-1,2-3 --workers 1 --out new-run"
RUN = " --checkpoints 'ck/seed0-task{{task}}.pt'"
NETWORK = f"model {{}} --data ownnets:load {REST}{RUN}"
FILE = f"model ownnets:build --data ownnets:load {REST} --checkpoints {{}}"
TASKS = f"{NETWORK.format('ownnets:build')} --tasks {{}}".replace("{task}", "{{task}}")
DATA = f"model ownnets:build --data {{}} {REST}{RUN}"
FLAG = f"model ownnets:build --data ownnets:load {REST}{RUN} {{}}"
ORDER = FLAG.replace("ck/", "ck-orders/{{order}}-")
RECORDING = "model rec --data ownnets:load {}"
LOAD = "run own.toml --out new-run --load {}"

MISTAKES = {
    **several(
        FILE.format("'ck-{}/task{{task}}.pt'"),
        {
            "cut": "ck-cut/task2.pt is damaged...torch.save",
            "empty": "ck-empty/task2.pt is empty",
            "trap": "ck-trap/task2.pt holds posix.open",
            "trap-entry": "ck-trap-entry/task2.pt holds posix.open",
            "optimizer": "ck-optimizer/task2.pt holds no state dict...optimizer, epoch",
            "complex": "ck-complex/task2.pt has '0.weight' of torch.complex64, expected",
            "lacking": "ck-lacking/task2.pt does not fit the model...Missing key...2.bias",
        },
    ),
    **several(
        FILE,
        {
            "'absent/task{task}.pt'": "'absent/task{task}.pt'...looked in absent",
            "'ck/*.pt'": "'ck/*.pt'...lacks {task}",
            "'ck/seed{seed}{task}.pt'": "{seed} and {task}",
            "'ck/seed{sed}-task{task}.pt'": "'sed': did you mean 'seed'?",
            "''": "there are no checkpoints: give --checkpoints",
            "rec-none": "rec-none has no network in it yet",
            "'ck-twice/task{task}.pt'": "ck-twice/task02.pt and ck-twice/task2.pt",
            "'ck-ragged/seed{seed}-task{task}.pt'": "seed-1 has no checkpoint after 1 tasks",
            "'ck-grid/{learner}-seed{seed}-task{task}.pt'": "b/order-0/seed-1, though others",
            "'ck-first/task{task}.pt'": "no network after all 2 tasks (none after task 1)",
        },
    ),
    **several(
        NETWORK,
        {
            "ownnets:few": "ck/seed0-task1.pt does not fit the model...([4, 5])...([3, 5])",
            "ownnets:lazy": "'0.weight' has no shape yet, as its module is lazy",
            "ownnets:meta": "'0.weight' has no values on device meta",
            "torch:nn": "is of type module, expected a function",
            "ownnets:absent": "unknown name in ownnets, 'absent'...known: Pair, Raising",
            "ownnets:Raising": "raised ValueError: line one line two on a batch x",
            "ownnets:Pair": "the model returns tuple...output= one of 0, 1",
            "ck": "ck is a folder without a recording",
        },
    ),
    **several(
        TASKS,
        {
            "0-1,1-3": "classes [1] are in more than one task",
            "0-1,2": "classes [3] are in no task",
            "0-1,2-5": "classes [4, 5] are outside 0..3",
            "3-2,0-1": "--tasks expects...0-1,2-3 or 0+5,1+6...'3-2,0-1'",
            "0-3": "a network after 2 tasks, and there are 1 tasks",
        },
    ),
    **several(
        DATA,
        {
            "ownnets:leaving": "ownnets:leaving raised SystemExit: 0",
            "ownnets:data_one": "must return (train, test), got Tensor",
            "ownnets:data_below": "training data of ownnets:data_below has labels [-1]",
            "ownnets:data_floats": "train: labels...got float32 (24,): one class of each",
            "ownnets:data_onehot": "train: labels...(24, 4): give y.long().argmax(1) if",
            "ownnets:data_text_labels": "train: labels...got list: number the classes from 0",
            "ownnets:data_texts": "train: x is or contains a value of type str, expected tensors",
            "ownnets:data_shapes": "train is float32 (6,), of test float32 (7,)",
            "ownnets:data_lengths": "train: x and y...got x float32 (23, 6), y int64 (24",
            "ownnets:data_empty": "ownnets:data_empty: train or test holds no examples",
            "ownnets:data_untested": "test data of task '2-3' holds no examples",
            "ownnets:data_nan": "ownnets:data_nan has NaN or Inf in example",
            "absent.pt": "absent.pt cannot be read",
            "ck-trap/task2.pt": "ck-trap/task2.pt is damaged, or has no examples",
        },
    ),
    **several(
        FLAG,
        {
            "--output 7": "the model returns Tensor and 7 in it is no tensor...leave output= out",
            "--out ..": ".. is not empty and holds no study: choose another --out",
            "--features 0,,2": "unknown feature '': (known: 0, 1, 2)",
            "--features 0,0": "named twice in ['0', '0']",
            "--features 2": "network own: no feature has parameters",
            "--readouts Linear": "unknown readout 'Linear': did you mean 'linear' or",
            "--readouts linear,linear": "'linear' is named twice",
            "--call ownnets:nothing": "the model raised TypeError: nothing() takes 0",
            "--offline 'ck/offline-{seed}.pt' --train-offline": "choose one",
            "--epochs 0": "the recipe: epochs: expected 1 or more, got 0",
            "--learner 'a b'": "'a b' becomes part of a folder's name",
            "--learner offline": "are of a learner 'offline', the name of a control: rename it",
            "--network ownnets:few": "ownnets:build and --network ownnets:few",
        },
    ),
    FLAG.replace("seed0", "seed{{seed}}").format("--offline 'ck/offline-{seed}.pt'"): (
        "no offline network of seed 1"
    ),
    **several(
        ORDER,
        {
            "": "of the orders a, b...--orders FILE",
            "--orders orders-more.toml": "order 'a'...from 1 to 2 once: [1, 2, 3]",
            "--orders orders-text.toml": "orders-text.toml (a.0: expected a whole number, got '1'",
            "--orders orders-broken.toml": "(not valid TOML: ...as a = [2, 1, 3]",
            "--orders orders-absent.toml": "cannot read --orders orders-absent.toml (No such file",
            "--orders rotate": "of an order 'a', and the orders are 0, 1",
        },
    ),
    **several(
        RECORDING,
        {
            "": "as --network",
            "--network ownnets:build --checkpoints ck": "leave out --checkpoints",
            "--network ownnets:build": "as --call",
            "--network ownnets:build --call ownnets:build --offline ck": "--offline is for files",
        },
    ),
    "model ownnets:build": "there are no data: give --data MODULE:LOAD",
    f"model ownnets:build --data ownnets:load {RUN.format()}": "there are no tasks: give --tasks",
    **several(
        LOAD,
        {
            "ownnone.py": "ownnone.py registers nothing",
            "ownours.py": "there are two networks 'mlp'",
            "ownname.py": "importing ownname: ...got 'my net'",
            "ownnumber.py": "importing ownnumber: 'mine' must mark a function or class",
            "ownraises.py": "importing ownraises raised ValueError: one two",
            "ownnets.py --load ownnets": "ownnets is loaded twice",
            "ownnets.py": "network own: the model raised RuntimeError: mat1 and mat2",
        },
    ),
    "run told.toml --out new-run --load owntold.py": "network told takes the task, which studies",
    "run own.toml --out new-run": "own.toml: network.name: unknown network 'own'...--load",
}
