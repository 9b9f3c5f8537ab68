"""What is typed wrongly after `probe run`, flag by flag."""

FILES: dict[str, bytes | str] = {}
MISTAKES = {
    "run digits digits": ["got unexpected extra argument (digits): see `probe run --help`"],
    "run ''": ["unknown preset '':"],
    "run .": [
        ". is neither a preset nor a TOML file",
        "name the file NAME.toml, or a preset of `probe list`",
    ],
    "run .toml": [
        ".toml is neither a preset nor a TOML file",
        "name the file NAME.toml, or a preset of `probe list`",
    ],
    "run ../digits": [
        "../digits is neither a preset nor a TOML file",
        "name the file NAME.toml, or a preset of `probe list`",
    ],
    "run digts": ["unknown preset 'digts': did you mean 'digits'?"],
    "run murata_mnist": [
        "unknown preset 'murata_mnist': did you mean 'murata-mnist' or 'murata-svhn'?"
    ],
    "run digits --sedes 1": [
        "no such option: --sedes (near: --heads, --seeds, --sets)",
        "see `probe run --help`",
    ],
    "run digits -x": ["no such option: -x: see `probe run --help`"],
    "run digits --seeds": ["option '--seeds' requires an argument: see `probe --help`"],
    "run digits --seeds x": [
        "invalid value for '--seeds': expected a whole number: see `probe run --help`"
    ],
    "run digits --seeds 1.5": [
        "invalid value for '--seeds': expected a whole number: see `probe run --help`"
    ],
    "run digits --seeds ''": [
        "invalid value for '--seeds': expected a whole number: see `probe run --help`"
    ],
    "run digits --seeds 99999999999999999999999": [
        "the flags given: seeds",
        "expected a number of 64 bits, got 99999999999999999999999",
    ],
    "run digits --epochs nan": [
        "invalid value for '--epochs': expected a whole number: see `probe run --help`"
    ],
    "run digits --epochs 99999999999999999999999": [
        "the flags given: training.epochs",
        "expected a number of 64 bits, got 99999999999999999999999",
    ],
    "run digits --train-limit x": [
        "invalid value for '--train-limit': expected a whole number",
        "see `probe run --help`",
    ],
    "run digits --validation 1e3": [
        "invalid value for '--validation': expected a whole number",
        "see `probe run --help`",
    ],
    "run digits --workers two": [
        "invalid value for '--workers': expected a whole number: see `probe run --help`"
    ],
    "run digits --workers=": [
        "invalid value for '--workers': expected a whole number: see `probe run --help`"
    ],
    "run digits --learners finetun": [
        "unknown learner 'finetun': did you mean 'finetune' or 'offline'?"
    ],
    "run digits --learners er,er": ["--learners expects different names a,b,c, got 'er,er'"],
    "run digits --learners ,": ["--learners expects different names a,b,c, got ','"],
    "run digits --learners ''": ["--learners expects different names a,b,c, got ''"],
    "run digits --learners ../er": ["unknown learner '../er': did you mean 'er'?"],
    "run digits --orders rotat": [
        "the flags given: orders: unknown orders 'rotat'",
        "expected rotate, none or shuffle:N, N from 1",
    ],
    "run digits --orders ''": [
        "the flags given: orders: unknown orders ''",
        "expected rotate, none or shuffle:N, N from 1",
    ],
    "run digits --orders shuffle:": [
        "the flags given: orders: unknown orders 'shuffle:'",
        "expected rotate, none or shuffle:N, N from 1",
    ],
    "run digits --orders shuffle:0": [
        "the flags given: orders: unknown orders 'shuffle:0'",
        "expected rotate, none or shuffle:N, N from 1",
    ],
    "run digits --orders shuffle:-1": [
        "the flags given: orders: unknown orders 'shuffle:-1'",
        "expected rotate, none or shuffle:N, N from 1",
    ],
    "run digits --orders shuffle:1.5": [
        "the flags given: orders: unknown orders 'shuffle:1.5'",
        "expected rotate, none or shuffle:N, N from 1",
    ],
    "run digits --orders shuffle:٣": [
        "the flags given: orders: unknown orders 'shuffle:٣'",
        "expected rotate, none or shuffle:N, N from 1",
    ],
    "run digits --sets digits,": ["--sets expects NAME or A.npz,B.npz, got 'digits,'"],
    "run digits --sets ''": ["--sets expects NAME or A.npz,B.npz, got ''"],
    "run digits --sets digits,mnist": ["--sets names 1 for a scenario of kind split, got 2"],
    "run digits --sets digit": [
        "the flags given: scenario.data: unknown data set 'digit'",
        "did you mean 'digits' or 'spoken_digits'?",
    ],
    "run digits --sets no.npz": [
        "there is no feature file",
        "give its path, or point --data at its folder",
    ],
    "run digits --sets ../../etc/passwd": [
        "the flags given: scenario.data: unknown data set '../../etc/passwd':"
    ],
    "run kemker-multimodal --sets digits": [
        "--sets names 2 for a scenario of kind multimodal, got 1"
    ],
    "run kemker-multimodal --sets digits,digits,digits": [
        "--sets names 2 for a scenario of kind multimodal, got 3"
    ],
    "run kemker-multimodal --sets digits,": ["--sets expects NAME or A.npz,B.npz, got 'digits,'"],
    "run digits --heads multy": [
        "the flags given: report.heads.0",
        "expected 'single', 'multi' or 'all', got 'multy'",
    ],
    "run digits --heads all,all": [
        "the flags given: report.heads: heads names each head once, got all, all"
    ],
    "run digits --heads ''": [
        "the flags given: report.heads.0: expected 'single', 'multi' or 'all', got ''"
    ],
    "run digits --heads single,": [
        "the flags given: report.heads.1: expected 'single', 'multi' or 'all', got ''"
    ],
    "run digits --weights mine": ["--weights expects NAME=w1,...,w7, got 'mine'"],
    "run digits --weights mine=": ["--weights expects NAME=w1,...,w7, got 'mine='"],
    "run digits --weights =1,0,0,0,0,0,0": [
        "the flags given: report.weights: '' is no name for a",
        "use letters, digits and .+-_",
    ],
    "run digits --weights mine=1,0": [
        "the flags given: report.weights: got 2 weights, expected 7",
        "A, MS, SSS, CE, REM, BWT+, FWT",
    ],
    "run digits --weights mine=a,0,0,0,0,0,0": [
        "--weights expects NAME=w1,...,w7, got 'mine=a,0,0,0,0,0,0'"
    ],
    "run digits --weights mine=nan,0,0,0,0,0,0": [
        "the flags given: report.weights",
        "weight of criterion A is nan, expected a number in [0, 1]",
    ],
    "run digits --weights mine=2,-1,0,0,0,0,0": [
        "the flags given: report.weights",
        "weight of criterion A is 2, expected a number in [0, 1]",
    ],
    "run digits --weights mine=1,1,0,0,0,0,0": [
        "the flags given: report.weights: weights must sum to 1, got",
        "divide each by their sum",
    ],
    "run digits --weights W1=1,0,0,0,0,0,0": [
        "the flags given: report.weights: W1 is a weighting of the",
        "choose another name",
    ],
    "run digits --weights ../up=1,0,0,0,0,0,0": [
        "the flags given: report.weights: '../up' is no name for a",
        "use letters, digits and .+-_",
    ],
    "run digits --weights mine=1,0,0,0,0,0,0 --weights mine=0,1,0,0,0,0,0": [
        "--weights names 'mine' twice: give each weighting its own name"
    ],
    "run digits --cache-budget 1G": [
        "--cache-budget expects a size such as 500MB, 2GiB or plain bytes, got '1G'"
    ],
    "run digits --cache-budget ''": [
        "--cache-budget expects a size such as 500MB, 2GiB or plain bytes, got ''"
    ],
    "run digits --cache-budget -1": [
        "--cache-budget expects a size such as 500MB, 2GiB or plain bytes, got '-1'"
    ],
    "run digits --cache-budget 1e9": [
        "--cache-budget expects a size such as 500MB, 2GiB or plain bytes, got '1e9'"
    ],
    "run digits --cache-budget nan": [
        "--cache-budget expects a size such as 500MB, 2GiB or plain bytes, got 'nan'"
    ],
    "run digits --cache-budget ٣GB": [
        "--cache-budget expects a size such as 500MB, 2GiB or plain bytes, got '٣GB'"
    ],
    "run digits --device gpu": ["unknown device 'gpu': expected cpu, cuda or cuda:N"],
    "run digits --device ''": ["unknown device '': expected cpu, cuda or cuda:N"],
    "run digits --device meta": ["unknown device 'meta': expected cpu, cuda or cuda:N"],
    "run digits --device cuda:99": [
        "no device 'cuda:99': torch sees 0 CUDA devices here; use --device cpu"
    ],
    "run digits --device cuda:-1": ["unknown device 'cuda:-1': expected cpu, cuda or cuda:N"],
    "run digits --device cuda:x": ["unknown device 'cuda:x': expected cpu, cuda or cuda:N"],
    "run digits --device cpu:7": ["unknown device 'cpu:7': expected cpu, cuda or cuda:N"],
    "run digits --download yes": ["got unexpected extra argument (yes): see `probe run --help`"],
    "run digits --download=yes": ["option '--download' does not take a value: see `probe --help`"],
    "run digits --out file": ["cannot write to file (File exists): choose another --out"],
    "run digits --out file/run": [
        "cannot write to file/run (Not a directory): choose another --out"
    ],
    "run digits --out full": ["full is not empty and holds no study: choose another --out"],
    "run digits --out ''": [". is not empty and holds no study: choose another --out"],
    "run murata-mnist": [
        "mnist needs a data folder: pass --data DIR (or set",
        "--download fetches them",
    ],
    "run murata-mnist --data absent": [
        "mnist is not whole in absent, which lacks",
        "point --data at a folder in torchvision's layout, or add",
    ],
    "run murata-mnist --data file": [
        "mnist is not whole in file, which lacks",
        "point --data at a folder in torchvision's layout, or add",
    ],
    "run murata-mnist --data ''": [
        "mnist is not whole in ., which lacks",
        "point --data at a folder in torchvision's layout, or add",
    ],
    "run kemker-multimodal --data full": [
        "mnist is not whole in full, which lacks",
        "point --data at a folder in torchvision's layout, or add",
    ],
    "run diaz-cifar100 --data full": [
        "cifar100 is not whole in full, which lacks",
        "point --data at a folder in torchvision's layout, or add",
    ],
    "run murata-svhn --data full": [
        "svhn is not whole in full, which lacks train_32x32.mat,",
        "point --data at a folder in torchvision's layout, or add",
    ],
    "run digits --learners pathnet": [
        "the flags given: learners.pathnet: it has an output layer",
        'report heads = ["multi"], or leave it out',
    ],
    "run digits --executor dask": ["unknown executor 'dask': (known: inline, pool, ray)"],
    "run digits --executor ''": ["unknown executor '': (known: inline, pool, ray)"],
    "run digits --executor inline --workers 2": [
        "--executor inline is this process alone, got --workers 2",
        "use --executor pool",
    ],
    "run digits --workers 0": ["--workers must be 1 or more, got 0"],
    "run digits --executor pool --workers -1": ["--workers must be 1 or more, got -1"],
    **{
        f"run digits --executor inline --shard {shard!r}": ["--shard expects i/n", f"got {shard!r}"]
        for shard in ("0/2", "3/2", "1", "x/2", "1/0", "1/2/3", "", "-1/2", "٢/٣")
    },
    **{
        f"run digits {executor} {flag}": [f"{flag.split()[0]} is for Ray", "add --executor ray"]
        for executor in ("", "--executor pool", "--executor inline")
        for flag in ("--ray-address auto", "--gpus-per-job 0.5")
    },
    **{
        f"run digits --{flag} {number}": [flag.replace("-", "_"), "1", f"got {number}"]
        for flag in ("seeds", "epochs", "train-limit", "validation")
        for number in (0, -2)
    },
    **{
        f"run digits --executor ray --gpus-per-job {share}": ["--gpus-per-job", f"got {share}"]
        for share in ("-1.0", "nan", "inf")
    },
    **{
        f"run digits --executor ray --ray-address {address}": ["--ray-address expects HOST:PORT"]
        for address in ("''", "' '")
    },
}
