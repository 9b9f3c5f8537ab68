"""Checkpoints, networks and tasks that `probe model` cannot use."""

from tests.bad_input import own_files
from tests.bad_input.refused import each

FILES = own_files.FILES

REST = "--data ownnets:load --tasks 0-1,2-3 --workers 1 --out new-run"
RUN = "--checkpoints 'ck/seed0-task{task}.pt'"
FILE = f"model ownnets:build {REST} --checkpoints {{}}"
BAD = f"model ownnets:build {REST} --checkpoints 'ck-{{}}/task{{{{task}}}}.pt'"
NETWORK = f"model {{}} {REST} {RUN.replace('{', '{{').replace('}', '}}')}"
TASKS = NETWORK.replace("0-1,2-3", "{}").replace("model {}", "model ownnets:build")

WRITE = "...write it with torch.save(model.state_dict(), FILE)"
CODE = "not tensors alone, and loading it could run code" + WRITE
GIVE = "...give the network that these weights are of"
FIELDS = "'{}' is no pattern of file names: write fields as {{seed}} and {{task}}, with some text"

MISTAKES = {
    **each(
        BAD,
        f"ck-{{}}/task2.pt is damaged, or no file of torch{WRITE}",
        *("cut", "half", "text"),
    ),
    **each(
        BAD,
        f"ck-{{}}/task2.pt holds an object of posix.open, {CODE}",
        *("trap", "trap-torch", "trap-entry", "trap-zip"),
    ),
    BAD.format("empty"): f"ck-empty/task2.pt is empty{WRITE}",
    BAD.format("whole"): f"holds an object of torch.nn.modules.linear.Linear, {CODE}",
    BAD.format("whole-own"): f"holds an object of tests.bad_input.checkpoints.Mine, {CODE}",
    **{
        BAD.format(name): f"ck-{name}/task2.pt holds no state dict, tensors by name, but {got}"
        f"{WRITE}"
        for name, got in (
            ("tensor", "an object of type Tensor"),
            ("list", "an object of type list"),
            ("nothing", "a table of nothing"),
            ("optimizer", "a table of optimizer, epoch"),
        )
    },
    **{
        BAD.format(name): f"ck-{name}/task2.pt does not fit the model: it {got}{GIVE}"
        for name, got in (
            ("lacking", "lacks 2.bias"),
            ("more", "has 4.bias, which the model has not"),
            ("wider", "...of shape (7, 6), in the model (5, 6)"),
            ("outputs", "...of shape (3, 5), in the model (4, 5)"),
            ("others", "lacks 0.weight, 0.bias...has layer0.weight, layer0.bias"),
        )
    },
    **{
        NETWORK.format(f"ownnets:{name}"): f"ck/seed0-task1.pt does not fit the model: it {got}"
        f"{GIVE}"
        for name, got in (
            ("Named", "lacks body.weight"),
            ("wide", "...of shape (5, 6), in the model (7, 6)"),
            ("few", "...of shape (4, 5), in the model (3, 5)"),
            ("many", "...of shape (4, 5), in the model (9, 5)"),
            ("frozen", "has 0.weight, 0.bias, 2.weight and 1 more, which the model has not"),
        )
    },
    **{
        FILE.format(f"'{pattern}'"): f"no file fits '{pattern}': looked in {where}...correct"
        for pattern, where in (
            ("absent/task{task}.pt", "absent, which is no folder"),
            ("ck-none/task{task}.pt", "ck-none, which has readme.txt"),
            ("ck-folder/task{task}.pt", "ck-folder, which has task2.pt"),
            ("ck-misnamed/seed{seed}-task{task}.pt", "ck-misnamed, which has seedX-task2.pt"),
        )
    },
    **{
        FILE.format(f"'{pattern}'"): f"'{pattern}' lacks {{task}}: write {{task}} where"
        for pattern in ("ck/seed0-task2.pt", "ck/*.pt")
    },
    **{
        FILE.format(f"'{pattern}'"): FIELDS.format(pattern)
        for pattern in ("ck/seed{seed}{task}.pt", "ck/{", "ck/task{}.pt", "ck/task{task:d}.pt")
    },
    FILE.format("'ck/seed{sed}-task{task}.pt'"): "unknown field...'sed': did you mean 'seed'?",
    FILE.format("''"): "there are no checkpoints: give --checkpoints 'ckpt/seed{seed}-task{task}",
    FILE.format("ck"): "ck is a folder without a recording: name its files, as --checkpoints",
    FILE.format("rec-none"): "rec-none has no network in it yet: record one with rec.after_task",
    FILE.format("'ck-twice/task{task}.pt'"): "ck-twice/task02.pt and ck-twice/task2.pt are of the"
    " same run and task: remove one of them",
    FILE.format("'ck-ragged/seed{seed}-task{task}.pt'"): "model/order-0/seed-1 has no checkpoint"
    " after 1 tasks, as other runs have: add it",
    FILE.format("'ck-grid/{learner}-seed{seed}-task{task}.pt'"): "there are no checkpoints of"
    " b/order-0/seed-1, though others...add them",
    FILE.format("'ck-first/task{task}.pt'"): "there is no checkpoint after all 2 tasks (none after"
    " task 1)...so add it, name fewer tasks",
    FILE.format("'ck-zero/task{task}.pt'"): "no checkpoint after all 2 tasks (only an untrained",
    **{
        NETWORK.format(f"ownnets:{name}"): f"ownnets:{name}() {said}"
        for name, said in (
            ("raising", "raised RuntimeError: no weights found: give a callable that needs no"),
            ("leaving", "raised SystemExit: 3: give a callable that needs no arguments"),
            ("wanting", "raised TypeError: wanting() missing 1...give a callable that needs no"),
            ("nothing", "returned NoneType, expected a torch.nn.Module"),
            ("state", "returned OrderedDict, expected a torch.nn.Module"),
        )
    },
    NETWORK.format("ownnets:number"): "is of type int, expected a function that makes the network",
    NETWORK.format("torch:nn"): "is of type module, expected a function that makes the network",
    NETWORK.format("ownnets:absent"): "there is no 'absent' in ownnets, nor anything spelled like "
    "it: name a function that makes the network",
    NETWORK.format("ownnets:biuld"): "unknown factory in ownnets 'biuld': did you mean 'build'?",
    NETWORK.format("ownnets:Raising"): "network ownnets:Raising: the model raised ValueError: line "
    "one line two on a batch x of float32 (8, 6): check the shapes",
    NETWORK.format(
        "ownnets:Leaving"
    ): "the model raised RuntimeError: SystemExit: 0 on a batch...check",
    NETWORK.format("ownnets:Pair"): "the model returns tuple, expected one tensor of logits: name "
    "the logits with output= one of 0, 1",
    **each(
        NETWORK,
        "expected MODULE:FACTORY, got '{}': name a function that makes the network",
        *("ownnets", "ownnets.py", "ownnets.py:", ""),
    ),
    NETWORK.format("absent.py:build"): "there is no file absent.py: give the path of your Python",
    NETWORK.format(
        "absnt:build"
    ): "there is no module 'absnt', neither in the current...give it as",
    NETWORK.format("ck/seed0-task2.pt:x"): "there is no module 'ck/seed0-task2.pt', neither in",
    NETWORK.format("ownraises:build"): "importing ownraises raised ValueError: one two: correct it",
    NETWORK.format("ownexits:build"): "importing ownexits raised SystemExit: 4: correct it until",
    NETWORK.format("ck"): "ck is a folder without a recording: name its files, as --checkpoints",
    **each(TASKS, "classes [1] are in more than one task: every class belongs to", "0-1,1-3"),
    **each(TASKS, "classes [0] are in more than one task: every class belongs to", "0+0,1+2+3"),
    **each(TASKS, "classes [3] are in no task: every class belongs to one", "0-1,2"),
    **each(TASKS, "classes [4] of the tasks are outside 0..3", "0-1,3-4"),
    **each(TASKS, "classes [4, 5] of the tasks are outside 0..3", "0-1,2-5"),
    **each(
        TASKS,
        "--tasks expects the classes of each task, as 0-1,2-3 or 0+5,1+6, got...in '{}'",
        *("x", "", "0-1;2-3", "0-1,", "3-2,0-1", "0-1+2,3", "-1-2,3", "0-1,2-99999999999"),
    ),
    **each(TASKS, "there is no checkpoint after all 3 tasks (none after task 2)", "0-1,2-3,4-5"),
    **each(TASKS, "there is a checkpoint after 2 tasks, and there are 1 tasks: name all", "0-3"),
}
