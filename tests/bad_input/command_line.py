"""What is typed wrongly: every command, every flag."""

FILES = {
    "file": "",
    "full/thesis.txt": "",
    "plain.csv": "0.9,0.1\n0.5,0.8\n",
}

MISTAKES = {
    "runn digits": ["no such command 'runn' (near: 'run'): see `probe --help`"],
    "--seeds 1 run digits": ["no such option: --seeds: see `probe --help`"],
    "--version": ["no such option: --version: see `probe --help`"],
    "run": ["missing argument 'PRESET|FILE.toml': see `probe run --help`"],
    "status": ["missing argument 'DIR': see `probe status --help`"],
    "status absent": [
        "absent holds no study",
        "name the directory of a `probe run`",
    ],
    "status file": [
        "file holds no study",
        "name the directory of a `probe run`",
    ],
    "status full": [
        "full holds no study",
        "name the directory of a `probe run`",
    ],
    "status full full": ["got unexpected extra argument (full): see `probe status --help`"],
    "status --json full": ["no such option: --json: see `probe status --help`"],
    "status ''": [
        ". holds no study",
        "name the directory of a `probe run`",
    ],
    "figures": ["missing argument 'DIR': see `probe figures --help`"],
    "figures absent": [
        "absent/rows.csv cannot be read (No such file or directory)",
        "run the study first",
    ],
    "figures file": ["file/rows.csv cannot be read (Not a directory): run the study first"],
    "figures full": [
        "full/rows.csv cannot be read (No such file or directory): run the study first"
    ],
    "figures full --out x": ["no such option: --out: see `probe figures --help`"],
    "metrics": ["missing argument 'FILE': see `probe metrics --help`"],
    "metrics absent.csv": ["absent.csv does not exist: give the path of a .csv or .npy file"],
    "metrics full": ["full: an accuracy matrix is read from a file named .csv or .npy"],
    "metrics file": ["file: an accuracy matrix is read from a file named .csv or .npy"],
    "metrics plain.csv plain.csv": [
        "got unexpected extra argument (plain.csv): see `probe metrics --help`"
    ],
    "metrics plain.csv --jsn": ["no such option: --jsn (near: --json): see `probe metrics --help`"],
    "metrics plain.csv --test-sizes": [
        "option '--test-sizes' requires an argument: see `probe --help`"
    ],
    "metrics plain.csv --test-sizes ''": [
        "--test-sizes expects whole numbers from 1 to 1000000000000000, as 10,20,..., got ''"
    ],
    "metrics plain.csv --test-sizes 10": ["got 1 test sizes, expected one for each of 2 tasks"],
    "metrics plain.csv --test-sizes 10,x": [
        "--test-sizes expects whole numbers from 1 to 1000000000000000, as 10,20,..., got '10,x'"
    ],
    "metrics plain.csv --test-sizes 10,-5": [
        "--test-sizes expects whole numbers from 1 to 1000000000000000, as 10,20,..., got '10,-5'"
    ],
    "metrics plain.csv --test-sizes 10,0": [
        "--test-sizes expects whole numbers from 1 to 1000000000000000, as 10,20,..., got '10,0'"
    ],
    "metrics plain.csv --test-sizes 10,1.5": [
        "--test-sizes expects whole numbers from 1 to 1000000000000000, as 10,20,..., got '10,1.5'"
    ],
    "metrics plain.csv --test-sizes ²,²": [
        "--test-sizes expects whole numbers from 1 to 1000000000000000, as 10,20,..., got '²,²'"
    ],
    "metrics plain.csv --ideal 90": [
        "the ideal accuracy must lie in (0, 1], got 90: give a fraction"
    ],
    "metrics plain.csv --ideal nan": [
        "the ideal accuracy must lie in (0, 1], got nan: give a fraction"
    ],
    "metrics plain.csv --ideal inf": [
        "the ideal accuracy must lie in (0, 1], got inf: give a fraction"
    ],
    "metrics plain.csv --ideal 0": [
        "the ideal accuracy must lie in (0, 1], got 0: give a fraction"
    ],
    "metrics plain.csv --ideal -1": [
        "the ideal accuracy must lie in (0, 1], got -1: give a fraction"
    ],
    "metrics plain.csv --ideal x": [
        "invalid value for '--ideal': expected a number: see `probe metrics --help`"
    ],
    "metrics plain.csv --reference absent.csv": [
        "absent.csv does not exist: give the path of a .csv or .npy file"
    ],
    "metrics plain.csv --reference full": [
        "full: an accuracy matrix is read from a file named .csv or .npy"
    ],
    "metrics plain.csv --reference ''": [
        ".: an accuracy matrix is read from a file named .csv or .npy"
    ],
    "layers": ["missing argument 'MODULE:FACTORY|NETWORK': see `probe layers --help`"],
    "layers mlp": ["missing option '--input': see `probe layers --help`"],
    "layers mlp --input": ["option '--input' requires an argument: see `probe --help`"],
    "layers mlp --input x": ["--input expects the shape of one input as 3x32x32, got 'x'"],
    "layers mlp --input 0x8": ["--input expects the shape of one input as 3x32x32, got '0x8'"],
    "layers mlp --input ''": ["--input expects the shape of one input as 3x32x32, got ''"],
    "layers mlp --input 99999999999x99999999999": [
        "--input expects the shape of one input as 3x32x32, got"
    ],
    "layers mlp --input 9999999999999999999999999": [
        "--input expects the shape of one input as 3x32x32, got"
    ],
    "layers cnn3 --input 1": ["a convolutional network needs images (C, H, W), got (1,)"],
    "layers cnn3 --input 1x2x2x2x2": [
        "a convolutional network needs images (C, H, W), got (1, 2, 2, 2, 2)"
    ],
    "layers mlp --input 4 --integers yes": [
        "got unexpected extra argument (yes): see `probe layers --help`"
    ],
    "layers mlp --input 4 --integers": [
        "the model raised RuntimeError",
        "check --input, and --integers",
    ],
    "layers '' --input 4": [
        "unknown network '': (known: cnn3, cnn4, cnn6, mlp, mlp400, reduced_resnet18)"
    ],
    "layers nosuch --input 4": [
        "unknown network 'nosuch': (known",
        "cnn3, cnn4, cnn6, mlp, mlp400, reduced_resnet18)",
    ],
    "features": ["missing argument 'FOLDER': see `probe features --help`"],
    "features full": ["missing option '--network': see `probe features --help`"],
    "features full --network resnet18": ["missing option '--out': see `probe features --help`"],
    "features full --network resnet --out a.npz --weights random": [
        "unknown network of torchvision 'resnet'",
        "did you mean 'resnet50' or 'resnet34'?",
    ],
    "features full --network squeezenet1_0 --out a.npz --weights random": [
        "unknown network of torchvision 'squeezenet1_0'",
        "did you mean 'mnasnet1_0' or 'shufflenet_v2_x1_0'?",
    ],
    "features full --network ../resnet18 --out a.npz --weights random": [
        "unknown network of torchvision '../resnet18'",
        "did you mean 'resnet18' or 'resnet152'?",
    ],
    "features full --network '' --out a.npz --weights random": [
        "unknown network of torchvision '':"
    ],
    "features full --network resnet18 --out a.csv --weights random": [
        "features are written to a file NAME.npz in a folder that",
        "choose another --out",
    ],
    "features full --network resnet18 --out no/a.npz --weights random": [
        "features are written to a file NAME.npz in a folder that",
        "choose another --out",
    ],
    "features full --network resnet18 --out file/a.npz --weights random": [
        "features are written to a file NAME.npz in a folder that",
        "choose another --out",
    ],
    "features full --network resnet18 --out .npz --weights random": [
        "features are written to a file NAME.npz in a folder that",
        "choose another --out",
    ],
    "features full --network resnet18 --out a.npz --weights random --device gpu": [
        "unknown device 'gpu': expected cpu, cuda or cuda:N"
    ],
    "features absent --network resnet18 --out a.npz --weights random": [
        "there is no folder absent/train",
        "give one that holds train/CLASS/* and test/CLASS/*",
    ],
    "features file --network resnet18 --out a.npz --weights random": [
        "there is no folder file/train",
        "give one that holds train/CLASS/* and test/CLASS/*",
    ],
    "features '' --network resnet18 --out a.npz --weights random": [
        "there is no folder train: give one that holds train/CLASS/* and test/CLASS/*"
    ],
    "redundancy": ["missing argument 'DATASET|FILE.npz...': see `probe redundancy --help`"],
    "redundancy ''": [
        "unknown data set '': (known",
        "breast_cancer, cifar10, cifar100, digits, fashion_mnist,",
    ],
    "redundancy digts": ["unknown data set 'digts': did you mean 'digits' or 'spoken_digits'?"],
    "redundancy digits digits": [
        "two of the data sets are called alike (digits, digits): name each once"
    ],
    "redundancy mnist": [
        "mnist needs a data folder: pass --data DIR (or set",
        "--download fetches them",
    ],
    "redundancy digits --bins 1": ["features can be put into 2 to 256 bins, not 1"],
    "redundancy digits --bins 257": ["features can be put into 2 to 256 bins, not 257"],
    "redundancy digits --bins x": [
        "invalid value for '--bins': expected a whole number",
        "see `probe redundancy --help`",
    ],
    "redundancy digits --bins -3": ["features can be put into 2 to 256 bins, not -3"],
    "redundancy digits --bins 4 --out file": [
        "cannot write to file (File exists): choose another --out"
    ],
    "redundancy digits --bins 4 --out file/a": [
        "cannot write to file/a (Not a directory): choose another --out"
    ],
    "redundancy digits --bins 4 --out full/thesis.txt": [
        "cannot write to full/thesis.txt (File exists): choose another --out"
    ],
    "list all": ["got unexpected extra argument (all): see `probe list --help`"],
    "list --json": ["no such option: --json: see `probe list --help`"],
}
