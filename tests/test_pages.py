"""The program of the page on comparing methods, run as it stands there."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.test_readme import blocks

PAGE = Path(__file__).parents[1] / "docs" / "compare.md"


@pytest.mark.soak
def test_a_smaller_memory_forgets_more_and_fine_tuning_is_as_before(probe, cwd):
    (cwd / "study.toml").write_text(blocks("toml", PAGE)[0])
    for line in "".join(blocks("sh", PAGE)).splitlines():
        if line.startswith("sed "):
            subprocess.run(line, shell=True, check=True, cwd=cwd)
            continue
        code, out, err = probe(line.removeprefix("probe "))
        assert (code, err) == (0, "")
    fine_tuning, replay = re.findall(r"output +forgotten +(.+)", out)
    assert fine_tuning.split()[2:] == ["0.0", "[0.0,", "0.0]"]
    before, after = map(float, replay.split()[:2])
    assert after > before + 5
    assert probe("compare runs/study runs/smaller --max-forgetting 0.1")[0] == 1
