"""Flags that cannot have their values or do not go together; more of usage in `test_parsing`."""

from tests.bad_input.refused import each

FILES = {"file": "", "full/thesis.txt": "", "there.toml": "mine", "mynets.py": "mine"}

REST = ",0,0,0,0,0,0"
WEIGHTS = "run digits --weights"
RAY = "run digits --executor ray"

MISTAKES = {
    "runn digits": "no such command 'runn' (near: 'run'): see `probe --help`",
    "run": "missing argument 'PRESET|FILE.toml': see `probe run --help`",
    "run digits --sedes 1": "no such option: --sedes (near: --heads, --orders, --seeds)",
    "run ''": "unknown preset '':",
    "status here there": "unexpected extra argument (there): see `probe status --help`",
    "run digits --epochs 0": "the flags given: training.epochs: ...1 or more, got 0",
    "run digits --learners er,er": "names a,b,c, got 'er,er'",
    "run digits --learners ../er": "unknown learner '../er': did you mean 'er'?",
    "run digits --learners pathnet": 'learners.pathnet...heads = ["multi"]',
    "run digits --orders shuffle:٣": "orders 'shuffle:٣': ...shuffle:N",
    "run digits --dataset digits,": "--dataset expects NAME or A.npz,B.npz, got 'digits,'",
    "run digits --dataset digits,mnist": "--dataset names 1...class-incremental, got 2",
    f"{WEIGHTS} mine=a{REST}": f"--weights expects NAME=w1,...,w7, got 'mine=a{REST}'",
    f"{WEIGHTS} ../up=1{REST}": "'../up' is not a valid name for a weighting",
    f"{WEIGHTS} mine=1,0": "got 2 weights, expected 7...A, MS, SSS, CE, REM, BWT+, FWT",
    f"{WEIGHTS} mine=nan{REST}": "criterion A is nan, expected a number in [0, 1]",
    f"{WEIGHTS} mine=1,1,0,0,0,0,0": "weights must sum to 1, got 2",
    f"{WEIGHTS} W1=1{REST}": "W1 is one of the paper's weightings",
    f"{WEIGHTS} a=1{REST} --weights a=1{REST}": "--weights names 'a' twice",
    "run digits --epoch-multiples 1,x": "--epoch-multiples expects...got '1,x'",
    "run digits --epoch-multiples 2,1": "the flags given: probing.budget...ascending...got 2, 1",
    "run digits --cache-budget 1G": "500MB, 2GiB...got '1G'",
    "run digits --device cuda:-1": "unknown device 'cuda:-1'...cuda:N",
    "run digits --device cuda:99": "no device 'cuda:99': torch sees 0 CUDA devices here",
    "run digits --out file": "cannot use file (...another --out",
    "run digits --out full": "full is not empty and holds no study: ...another --out",
    "run digits --executor dask": "unknown executor 'dask': (known: inline, pool, ray)",
    "run digits --executor inline --workers 2": "got --workers 2: use --executor pool",
    "run digits --workers 0": "--workers must be 1 to 10000, got 0",
    "run digits --executor inline --shard ٢/٣": "--shard expects i/n...got '٢/٣'",
    "run digits --ray-address auto": "--gpus-per-job are for Ray: add --executor ray",
    f"{RAY} --shard 1/2": "--shard is for processes without Ray",
    "model a:b --train-limit 0": "--train-limit must be 1 or more, got 0",
    "run digits --recompute all": "--recompute expects changed, got 'all'",
    "init study.txt": "study.txt: call it study.txt.toml",
    "init --learners er,er": "--learners expects different names",
    "init --data digit": "unknown data set 'digit': did you mean 'digits'",
    "init --own --network mlp": "--own writes",
    "init nowhere/study.toml": "cannot write nowhere/study.toml (No such file or directory)",
    "init there.toml": "there.toml exists already",
    "init study.toml --own": "mynets.py exists already",
    "figures full --label er": "a label is LEARNER=NAME...got 'er'",
    "model a:b --from pycill": "unknown framework 'pycill': did you mean 'pycil'",
    "model a:b --from pycil": "--from pycil reads --checkpoints DIR",
    f"{RAY} --gpus-per-job nan": "--gpus-per-job...0.001 to 1, got nan",
    f"{RAY} --ray-address ''": "--ray-address expects HOST:PORT",
    **each("layers mlp --input {}", "NAME=16:int, got '{}'", "0x8", "a b=4"),
    "layers mlp --input a=4 --input 4": "each input, or no names, got a=4, 4",
    "layers mlp --input 4 --input 5": "mlp takes one input without a name",
    "layers cnn3 --input 1x2x2x2x2": "needs images (C, H, W), got (1, 2",
    "layers nosuch --input 4": "unknown network 'nosuch': (known...cnn3, cnn4, cnn6,",
}
