"""What is typed wrongly after `probe run`, flag by flag."""

from tests.bad_input.refused import each

FILES: dict[str, bytes | str] = {}

REST = ",0,0,0,0,0,0"
MEMORY = "--cache-budget expects a size such as 500MB, 2GiB or plain bytes, got '{}'"
LACKS = "is not whole in {}, which lacks...point --data at a folder in torchvision's layout, or add"
WEIGHTS = "the flags given: report.weights"

MISTAKES = {
    "run digits digits": "got unexpected extra argument (digits): see `probe run --help`",
    "run ''": "unknown preset '':",
    "run digts": "unknown preset 'digts': did you mean 'digits'?",
    "run murata_mnist": "unknown preset 'murata_mnist': did you mean 'murata-mnist'",
    "run digits --sedes 1": "no such option: --sedes (near: --heads, --seeds, --sets): see `probe",
    "run digits -x": "no such option: -x: see `probe run --help`",
    "run digits --seeds": "option '--seeds' requires an argument: see `probe --help`",
    "run digits --validation 1e3": "invalid value for '--validation': expected a whole number: see",
    **each(
        "run digits --seeds {}",
        "invalid value for '--seeds': expected a whole number...: see `probe run --help`",
        *("x", "1.5", ""),
    ),
    **{
        f"run digits --{flag} {number}": f"{flag.replace('-', '_')}...1...got {number}"
        for flag in ("seeds", "epochs", "train-limit", "validation")
        for number in (0, -2)
    },
    **{
        f"run digits --{flag} {10**23}": f"flags given: {key}: expected a number of 64 bits, got"
        for flag, key in (("seeds", "seeds"), ("epochs", "training.epochs"))
    },
    **each(
        "run digits --learners {}",
        "--learners expects different names a,b,c, got '{}'",
        *("er,er", ",", ""),
    ),
    "run digits --learners finetun": "unknown learner 'finetun': did you mean 'finetune'",
    "run digits --learners ../er": "unknown learner '../er': did you mean 'er'?",
    "run digits --learners pathnet": "the flags given: learners.pathnet: it has an output layer"
    '...report heads = ["multi"], or leave it out',
    **each(
        "run digits --orders {}",
        "flags given: orders: unknown orders '{}': expected rotate, none or shuffle:N, N from 1",
        *("rotat", "", "shuffle:", "shuffle:0", "shuffle:-1", "shuffle:1.5", "shuffle:٣"),
    ),
    **each("run digits --sets {}", "--sets expects NAME or A.npz,B.npz, got '{}'", "digits,", ""),
    "run digits --sets digits,mnist": "--sets names 1 for a scenario of kind split, got 2",
    "run digits --sets digit": "the flags given: scenario.data: unknown data set 'digit': did you",
    "run digits --sets no.npz": "there is no feature file...give its path, or point --data at its",
    "run digits --sets ../../etc/passwd": "scenario.data: unknown data set '../../etc/passwd':",
    **{
        f"run kemker-multimodal --sets {sets}": "--sets names 2 for a scenario of kind multimodal"
        for sets in ("digits", "digits,digits,digits")
    },
    **{
        f"run digits --heads {heads}": f"the flags given: report.heads...{said}"
        for heads, said in (
            ("multy", ".0: expected 'single', 'multi' or 'all', got 'multy'"),
            ("single,", ".1: expected 'single', 'multi' or 'all', got ''"),
            ("''", ".0: expected 'single', 'multi' or 'all', got ''"),
            ("all,all", ": heads names each head once, got all, all"),
        )
    },
    **each(
        "run digits --weights {}",
        "--weights expects NAME=w1,...,w7, got '{}'",
        *("mine", "mine=", f"mine=a{REST}"),
    ),
    **{
        f"run digits --weights {weights}": f"{WEIGHTS}...{said}"
        for weights, said in (
            (f"=1{REST}", "'' is no name for a...use letters, digits and .+-_"),
            (f"../up=1{REST}", "'../up' is no name for a...use letters, digits and .+-_"),
            ("mine=1,0", "got 2 weights, expected 7...A, MS, SSS, CE, REM, BWT+, FWT"),
            (f"mine=nan{REST}", "weight of criterion A is nan, expected a number in [0, 1]"),
            ("mine=2,-1,0,0,0,0,0", "weight of criterion A is 2, expected a number in [0, 1]"),
            ("mine=1,1,0,0,0,0,0", "weights must sum to 1, got...divide each by their sum"),
            (f"W1=1{REST}", "W1 is a weighting of the...choose another name"),
        )
    },
    f"run digits --weights mine=1{REST} --weights mine=1{REST}": "--weights names 'mine' twice: "
    "give each weighting its own name",
    **each("run digits --cache-budget {}", MEMORY, "1G", "", "-1", "1e9", "nan", "٣GB"),
    **each(
        "run digits --device {}",
        "unknown device '{}': expected cpu, cuda or cuda:N",
        *("gpu", "", "meta", "cuda:-1", "cuda:x", "cpu:7"),
    ),
    "run digits --device cuda:99": "no device 'cuda:99': torch sees 0 CUDA devices here",
    "run digits --download yes": "got unexpected extra argument (yes): see `probe run --help`",
    "run digits --download=yes": "option '--download' does not take a value: see `probe --help`",
    **each("run digits --out {}", "cannot use {} (...choose another --out", "file", "file/run"),
    "run digits --out full": "full is not empty and holds no study: choose another --out",
    "run digits --out ''": ". is not empty and holds no study: choose another --out",
    "run murata-mnist": "mnist needs a data folder: pass --data DIR (or set...--download fetches",
    **each("run murata-mnist --data {}", f"mnist {LACKS}", "absent", "file"),
    "run murata-mnist --data ''": f"mnist {LACKS}".format("."),
    "run diaz-cifar100 --data full": f"cifar100 {LACKS}".format("full"),
    "run murata-svhn --data full": f"svhn {LACKS}".format("full"),
    **each(
        "run digits --executor {}",
        "unknown executor '{}': (known: inline, pool, ray)",
        *("dask", ""),
    ),
    "run digits --executor inline --workers 2": "--executor inline is this process alone",
    "run digits --workers 0": "--workers must be 1 or more, got 0",
    "run digits --executor pool --workers -1": "--workers must be 1 or more, got -1",
    "run digits --workers 99999999999": "--workers must be 10000 or less, got 99999999999",
    **each(
        "run digits --executor inline --shard {}",
        "--shard expects i/n...got '{}'",
        *("0/2", "3/2", "1", "x/2", "1/0", "1/2/3", "", "-1/2", "٢/٣"),
    ),
    **{
        f"run digits {executor} {flag}": f"{flag.split()[0]} is for Ray...add --executor ray"
        for executor in ("", "--executor inline")
        for flag in ("--ray-address auto", "--gpus-per-job 0.5")
    },
    **each("run digits --executor ray --gpus-per-job {}", "--gpus-per-job...got {}", "-1.0", "nan"),
    "run digits --executor ray --ray-address ''": "--ray-address expects HOST:PORT",
}
