"""What is typed wrongly, command by command; for `run` see `flags_of_run`."""

from tests.bad_input.refused import each

FILES = {"file": "", "full/thesis.txt": "", "plain.csv": "0.9,0.1\n0.5,0.8\n"}

RANDOM = "--out a.npz --weights random"
NO_MATRIX = "{}: an accuracy matrix is read from a file named .csv or .npy"
NO_FOLDER = "there is no folder {}/train...give one that holds train/CLASS/* and test/CLASS/*"
NO_PLACE = "features are written to a file NAME.npz in a folder that...choose another --out"

MISTAKES = {
    "runn digits": "no such command 'runn' (near: 'run'): see `probe --help`",
    "--seeds 1 run digits": "no such option: --seeds: see `probe --help`",
    "run": "missing argument 'PRESET|FILE.toml': see `probe run --help`",
    **each(
        "status {}",
        "{} holds no study...name the directory of a `probe run`",
        *("absent", "file", "full"),
    ),
    "status ''": ". holds no study...name the directory of a `probe run`",
    "status full full": "got unexpected extra argument (full): see `probe status --help`",
    **each(
        "figures {}",
        "{}/rows.csv cannot be read (...run the study first",
        *("absent", "file", "full"),
    ),
    "figures full --into x": "no such option: --into...see `probe figures --help`",
    "metrics absent.csv": "absent.csv does not exist: give the path of a .csv or .npy file",
    **each("metrics {}", NO_MATRIX, "full", "file"),
    "metrics plain.csv --jsn": "no such option: --jsn (near: --json): see `probe metrics --help`",
    "metrics plain.csv --test-sizes": "option '--test-sizes' requires an argument",
    "metrics plain.csv --test-sizes 10": "got 1 test sizes, expected one for each of 2 tasks",
    **each(
        "metrics plain.csv --test-sizes {}",
        "--test-sizes expects whole numbers from 1...as 10,20,..., got '{}'",
        *("", "10,x", "10,-5", "10,0", "10,1.5", "²,²", "1" + 16 * "0"),
    ),
    f"metrics plain.csv --test-sizes {10**400}": "--test-sizes expects whole numbers from 1 to",
    **each(
        "metrics plain.csv --ideal {}",
        "the ideal accuracy must lie in (0, 1], got {}: give a fraction",
        *("90", "nan", "inf", "0", "-1"),
    ),
    "metrics plain.csv --ideal x": "invalid value for '--ideal': expected a number: see `probe",
    "metrics plain.csv --reference absent.csv": "absent.csv does not exist: give the path of a",
    "metrics plain.csv --reference full": NO_MATRIX.format("full"),
    "metrics plain.csv --reference ''": NO_MATRIX.format("."),
    "layers": "missing argument 'MODULE:FACTORY|NETWORK': see `probe layers --help`",
    "layers mlp": "missing option '--input': see `probe layers --help`",
    **each(
        "layers mlp --input {}",
        "--input expects the shape of one input as 3x32x32, got '{}'",
        *("x", "0x8", "", "99999999999x99999999999", "9999999999999999999999999"),
    ),
    **each(
        "layers mlp --input {}",
        "--input expects a shape as 3x32x32, NAME=16 or NAME=16:int, got '{}'",
        *("=4", "a b=4", "4=4", "a=b=4", "4:float", "4:", "a=4:int:int", "a-b=4:int"),
    ),
    **each(
        "layers mlp --input {}",
        "--input expects the shape of one input as 3x32x32, got '{}'",
        *("a=", "a=x", "a=0:int", ":int", "a=:int", "4,4"),
    ),
    "layers mlp --input a=4 --input 4": "--input is given with a name (a) and without one: name",
    "layers mlp --input 4 --input a=4:int": "with a name (a) and without one: name all inputs, or",
    "layers mlp --input a=4 --input a=5": "--input names 'a' twice: give each input a name of its",
    "layers mlp --input 4 --input 5": "mlp takes one input without a name: give --input once, as",
    "layers mlp --input a=4": "mlp takes one input without a name: give --input once, as 3x32x32",
    "layers mlp --input 9999x9999 --input 4": "at most 89,478,485 values, got '9999x9999', '4'",
    "layers cnn3 --input 1": "a convolutional network needs images (C, H, W), got (1,)",
    "layers cnn3 --input 1x2x2x2x2": "a convolutional network needs images (C, H, W), got (1, 2",
    "layers mlp --input 4 --integers yes": "got unexpected extra argument (yes): see `probe",
    "layers mlp --input 4 --integers": "the model raised RuntimeError...check --input, and",
    **each("layers {} --input 4", "unknown network '{}': (known...cnn3, cnn4, cnn6,", "", "nosuch"),
    "features full": "missing option '--network': see `probe features --help`",
    "features full --network resnet18": "missing option '--out': see `probe features --help`",
    **each(
        f"features full --network {{}} {RANDOM}",
        "unknown network of torchvision '{}'...did you mean",
        *("resnet", "squeezenet1_0", "../resnet18"),
    ),
    f"features full --network '' {RANDOM}": "unknown network of torchvision '':",
    **{
        f"features full --network resnet18 --weights random --out {out}": NO_PLACE
        for out in ("a.csv", "no/a.npz", "file/a.npz", ".npz")
    },
    f"features full --network resnet18 {RANDOM} --device gpu": "unknown device 'gpu': expected",
    **each(f"features {{}} --network resnet18 {RANDOM}", NO_FOLDER, "absent", "file"),
    f"features '' --network resnet18 {RANDOM}": "there is no folder train: give one that holds",
    "redundancy": "missing argument 'DATASET|FILE.npz...': see `probe redundancy --help`",
    "redundancy ''": "unknown data set '': (known...breast_cancer, cifar10, cifar100,",
    "redundancy digts": "unknown data set 'digts': did you mean 'digits' or 'spoken_digits'?",
    "redundancy digits digits": "two of the data sets are called alike (digits, digits): name each",
    "redundancy mnist": "mnist needs a data folder: pass --data DIR (or set...--download fetches",
    **each(
        "redundancy digits --bins {}",
        "features can be put into 2 to 256 bins, not {}",
        *("1", "257", "-3"),
    ),
    **each(
        "redundancy digits --bins 4 --out {}",
        "cannot write to {} (...choose another --out",
        *("file", "file/a", "full/thesis.txt"),
    ),
    "list all": "got unexpected extra argument (all): see `probe list --help`",
}
