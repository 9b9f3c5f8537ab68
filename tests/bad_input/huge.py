"""Numbers and names beyond anything sensible, which would take all memory or every disk."""

from tests.bad_input.making import LEARNER, NAME, TINY, changed


def _setting(learner: str, setting: str) -> str:
    return changed(LEARNER, f"[learners.{learner}]\n{setting}")


CASES = {
    **{
        f"huge-{learner}-{name}.toml": (
            _setting(learner, f"{name} = {value}"),
            f"learners.{learner}.{name}: expected {most} or less, got {value}",
        )
        for learner, name, value, most in (
            ("fel", "units", 2_000_000_000, "100000"),
            ("fel", "hidden", 2_000_000_000, "10000"),
            ("geppnet", "rows", 2**63 - 1, "1000"),
            ("geppnet", "columns", 200_000, "1000"),
            ("geppnet", "base_iterations", 10**18, "1e+08"),
            ("geppnet", "iterations", 10**18, "1e+08"),
            ("geppnet_stm", "memory", 10**12, "100000"),
            ("geppnet_stm", "sleep_interval", 10**12, "1e+08"),
            ("pathnet", "modules", 10**9, "1000"),
            ("pathnet", "active", 10**9, "1000"),
            ("pathnet", "width", 10**9, "10000"),
            ("pathnet", "population", 10**12, "100000"),
            ("pathnet", "generations", 10**12, "1e+06"),
            ("pathnet", "batches", 10**12, "1e+06"),
        )
    },
    "huge-layer.toml": (
        _setting("pathnet", "modules = 1000\nwidth = 10000"),
        "learners.pathnet: a layer has modules x width, 1000 x 10000 = 10000000 units",
        "lower one of them",
    ),
    "huge-grid.toml": (
        changed('"none"', '"shuffle:10000"\nseeds = 10000').replace(LEARNER, "[learners.er]"),
        "huge-grid has 100010000 jobs, one for each learner, order and seed",
        "expected no more than 100000: lower seeds or the number of orders",
    ),
    "huge-learner.toml": (
        changed(LEARNER, f'[learners.{"a" * 260}]\nkind = "er"'),
        f"'{'a' * 20}'... has 260 characters and is to be part of a folder's name: use 80 or less",
    ),
    "huge-order.toml": (
        changed('"none"', f"{{{'b' * 250} = [1, 2, 3, 4, 5]}}"),
        f"'{'b' * 20}'... has 250 characters and is to be part of a folder's name: use 80 or less",
    ),
    "huge-name.toml": (
        f'name = "{"c" * 250}"\n{TINY}',
        "name: expected no more than 80 characters, got 'ccc",
    ),
    "huge-weighting.toml": (
        changed(LEARNER, f"[report]\nweights = {{{'d' * 200} = [1, 0, 0, 0, 0, 0, 0]}}\n{LEARNER}"),
        "is no name for a weighting: use letters, digits and .+-_, 80 at most",
    ),
    "huge-file.toml": (
        TINY + "#" * 10_000_000,
        "huge-file.toml is larger than 10 MB, which no study is",
    ),
    "huge-features.toml": (
        changed(NAME, f'{NAME}\nfeatures = ["{"e" * 300}"]'),
        "network.features: unknown feature of this study's networks",
    ),
}
FILES = {name: content for name, (content, *_) in CASES.items()}
# How many jobs there are only shows once the data are there.
MISTAKES = {
    f"run {name}": said if name == "huge-grid.toml" else [name, *said]
    for name, (_, *said) in CASES.items()
} | {
    "run digits --workers 99999999999": ["--workers must be 10000 or less, got 99999999999"],
    "run digits --executor pool --workers 10001": ["--workers must be 10000 or less, got 10001"],
}
