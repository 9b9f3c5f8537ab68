"""Studies whose learners or reports cannot be."""

from tests.bad_input.making import LEARNER, changed

CASES = {
    "learners-none.toml": (
        "[scenario]\ndata = 'digits'\n[network]\nname = 'mlp'\n",
        "learners: this key is needed",
    ),
    "learners-empty.toml": (
        changed("[learners.finetune]\n[learners.offline]", "[learners]"),
        "learners: name at least one of finetune, offline, cumulative, er, ewc,",
    ),
    "learners-list.toml": (
        'learners = ["finetune"]' + changed("[learners.finetune]\n[learners.offline]", ""),
        "learners: expected a table, got a list of 1",
    ),
    "learners-text.toml": (
        'learners = "finetune"' + changed("[learners.finetune]\n[learners.offline]", ""),
        "learners: expected a table, got 'finetune'",
    ),
    "learner-number.toml": (
        changed(LEARNER, "[learners]\nfinetune = 1"),
        "learners.finetune: expected a table, got 1",
    ),
    "learner-list.toml": (
        changed(LEARNER, "[[learners.finetune]]"),
        "learners.finetune: expected a table, got a list of 1",
    ),
    "learner-kind.toml": (
        changed(LEARNER, '[learners.a]\nkind = "fintune"'),
        "learners.a: unknown learner 'fintune': did you mean 'finetune' or 'offline'?",
    ),
    "learner-kind-number.toml": (
        changed(LEARNER, "[learners.a]\nkind = 1"),
        "learners.a: unknown learner '1':",
    ),
    "learner-kind-list.toml": (
        changed(LEARNER, "[learners.a]\nkind = ['er']"),
        "learners.a: unknown learner \"['er']\": did you mean 'er'?",
    ),
    "learner-key.toml": (
        changed(LEARNER, LEARNER + "\nmemory = 5"),
        "learners.finetune.memory: there is no such key, correct or remove it",
    ),
    "learner-name.toml": (
        changed(LEARNER, '[learners."../er"]\nkind = "er"'),
        "learners.../er: '../er' is to be part of a folder's name",
        "use letters, digits, _ and -, and a dot only before a digit",
    ),
    "learner-offline.toml": (
        changed(LEARNER, '[learners.joint]\nkind = "offline"'),
        "learners: 'joint' has kind 'offline', but `offline` is for that kind alone",
    ),
    "memory-bool.toml": (
        changed(LEARNER, "[learners.er]\nmemory_per_class = true"),
        "learners.er.memory_per_class: expected a whole number, got true",
    ),
    "memory-float.toml": (
        changed(LEARNER, "[learners.er]\nmemory_per_class = 2.5"),
        "learners.er.memory_per_class: expected a whole number, got 2.5",
    ),
    "memory-text.toml": (
        changed(LEARNER, "[learners.er]\nmemory_per_class = '5'"),
        "learners.er.memory_per_class: expected a whole number, got '5'",
    ),
    "strength-nan.toml": (
        changed(LEARNER, "[learners.ewc]\nstrength = nan"),
        "learners.ewc.strength: expected a finite number, got nan",
    ),
    "strength-inf.toml": (
        changed(LEARNER, "[learners.ewc]\nstrength = inf"),
        "learners.ewc.strength: expected a finite number, got inf",
    ),
    "strength-text.toml": (
        changed(LEARNER, "[learners.ewc]\nstrength = 'much'"),
        "learners.ewc.strength: expected a number, got 'much'",
    ),
    "strength-negative.toml": (
        changed(LEARNER, "[learners.si]\nstrength = -1.0"),
        "learners.si.strength: expected 0 or more, got -1.0",
    ),
    "strength-table.toml": (
        changed(LEARNER, "[learners.si.strength]\nx = 1"),
        "learners.si.strength: expected a number, got a table of 1",
    ),
    "exemplars-number.toml": (
        changed(LEARNER, LEARNER + "\nexemplars = 5"),
        "learners.finetune.exemplars: expected a table, got 5",
    ),
    "exemplars-both.toml": (
        changed(LEARNER, LEARNER + "\nexemplars = {per_class = 5, total = 5}"),
        "learners.finetune.exemplars",
        "give either per_class or total, the number of exemplars to",
    ),
    "exemplars-sampling.toml": (
        changed(LEARNER, LEARNER + "\nexemplars = {per_class = 5, sampling = 1}"),
        "learners.finetune.exemplars.sampling",
        "expected 'uniform', 'fifo', 'plane_distance', 'entropy' or",
    ),
    "balanced.toml": (
        changed(LEARNER, LEARNER + "\nexemplars = {per_class = 5, balanced = 'yes'}"),
        "learners.finetune.exemplars.balanced: expected true or false, got 'yes'",
    ),
    "learner-training.toml": (
        changed(LEARNER, LEARNER + "\ntraining = 10"),
        "learners.finetune.training: expected a table, got 10",
    ),
    "learner-epochs.toml": (
        changed(LEARNER, LEARNER + "\ntraining = {epochs = 0}"),
        "learners.finetune.training.epochs: expected 1 or more, got 0",
    ),
    "heads-text.toml": (
        changed(LEARNER, '[report]\nheads = "multi"\n' + LEARNER),
        "report.heads: expected a list, got 'multi'",
    ),
    "heads-none.toml": (
        changed(LEARNER, "[report]\nheads = []\n" + LEARNER),
        "report.heads: expected 1 or more entries, got a list of 0",
    ),
    "heads-table.toml": (
        changed(LEARNER, "[report.heads]\nsingle = true\n" + LEARNER),
        "report.heads: expected a list, got a table of 1",
    ),
    "heads-number.toml": (
        changed(LEARNER, "[report]\nheads = [1]\n" + LEARNER),
        "report.heads.0: expected 'single', 'multi' or 'all', got 1",
    ),
    "mean.toml": (
        changed(LEARNER, '[report]\nmean = "median"\n' + LEARNER),
        "report.mean: expected 'examples' or 'classes', got 'median'",
    ),
    "report-list.toml": (
        changed(LEARNER, "[[report]]\n" + LEARNER),
        "report: expected a table, got a list of 1",
    ),
    "weights-list.toml": (
        changed(LEARNER, "[report]\nweights = [1, 0, 0, 0, 0, 0, 0]\n" + LEARNER),
        "report.weights: expected a table, got a list of 7",
    ),
    "weights-few.toml": (
        changed(LEARNER, "[report]\nweights = {mine = [1, 0]}\n" + LEARNER),
        "report.weights: got 2 weights, expected 7: A, MS, SSS, CE, REM, BWT+, FWT",
    ),
    "weights-text.toml": (
        changed(LEARNER, "[report]\nweights = {mine = '1'}\n" + LEARNER),
        "report.weights.mine: expected a list, got '1'",
    ),
    "weights-texts.toml": (
        changed(LEARNER, "[report]\nweights = {mine = ['1', 0, 0, 0, 0, 0, 0]}\n" + LEARNER),
        "report.weights.mine.0: expected a number, got '1'",
    ),
    "weights-inf.toml": (
        changed(LEARNER, "[report]\nweights = {mine = [inf, 0, 0, 0, 0, 0, 0]}\n" + LEARNER),
        "report.weights: weight of criterion A is inf, expected a number in [0, 1]",
    ),
    "weights-bools.toml": (
        changed(LEARNER, "[report]\nweights = {mine = [true, 0, 0, 0, 0, 0, 0]}\n" + LEARNER),
        "report.weights.mine.0: expected a number, got true",
    ),
    "weights-huge.toml": (
        changed(
            LEARNER, f"[report]\nweights = {{mine = [{10**400}, 0, 0, 0, 0, 0, 0]}}\n" + LEARNER
        ),
        "report.weights.mine.0",
        "expected a number of 64 bits, got",
    ),
    "memory-long.toml": (
        changed(LEARNER, "[learners.er]\nmemory_per_class = 99999999999999999999"),
        "learners.er.memory_per_class",
        "expected a number of 64 bits, got 99999999999999999999",
    ),
}
FILES = {name: content for name, (content, *_) in CASES.items()}
MISTAKES = {
    f"run {name.partition('/')[0]}": [name.partition("/")[0], *said]
    for name, (_, *said) in CASES.items()
}
