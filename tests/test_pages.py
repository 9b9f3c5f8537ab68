"""The programs of the pages beside the README, run as they stand there."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.test_readme import blocks

DOCS = Path(__file__).parents[1] / "docs"


def printed(page, capsys):
    exec(compile("\n".join(blocks("python", DOCS / page)), page, "exec"), {})
    return capsys.readouterr().out


@pytest.fixture
def sh(probe, cwd):
    """Return a function that runs the commands of a page and returns what the last one prints."""

    def run(page):
        for line in "".join(blocks("sh", DOCS / page)).splitlines():
            if line.startswith("sed "):
                subprocess.run(line, shell=True, check=True, cwd=cwd)
            elif line.startswith("probe "):
                code, said, err = probe(line.removeprefix("probe "))
                assert (code, err) == (0, "")
        return said

    return run


@pytest.mark.soak
def test_a_smaller_memory_forgets_more_and_fine_tuning_is_as_before(sh, probe, cwd):
    (cwd / "study.toml").write_text(blocks("toml", DOCS / "compare.md")[0])
    out = sh("compare.md")
    assert re.search(r"finetune +linear +output +forgotten .* 0\.0 \[0\.0, 0\.0\]", out)
    assert re.search(r"er +linear +output +forgotten .* \d+\.\d \[\d", out)
    assert probe("compare runs/study runs/smaller --max-forgetting 0.1")[0] == 1


@pytest.mark.slow
def test_a_silenced_head_removes_nothing_upstream_and_a_probe_finds_the_never_seen(
    capsys,
):
    table = re.sub(r"[][,]", " ", printed("unlearning.md", capsys)).splitlines()[2:14]
    found = {}
    for row in table:
        name, layer, *numbers = row.split()
        found[name, layer] = list(map(float, numbers))
    assert all(found["silence", layer][3] == 0 for layer in "135")
    assert found["silence", "1"][0] > 80 > found["silence", "output"][1] == 0
    assert found["silence", "5"][7] > 0 > found["retrain", "5"][7]


@pytest.mark.soak
def test_lora_learns_less_and_merged_is_wrapped(sh, capsys):
    rows = [
        re.findall(r"'(\d+\.\d)'", row)
        for row in printed("lora.md", capsys).splitlines()
    ]
    merged, wrapped = (list(map(float, row)) for row in rows[-2:])
    assert merged == pytest.approx(wrapped, abs=0.5)
    assert re.search(r"linear +5 +never learned .* \d+\.\d \[\d", sh("lora.md"))


@pytest.mark.soak
def test_a_word_no_longer_reaches_the_token_that_answers(capsys):
    pytest.importorskip(
        "transformers", reason="an example uses it: install the extra `zoo`"
    )
    rows = [line.split() for line in printed("language_models.md", capsys).splitlines()]
    linear, told = (row for row in rows if row[:1] == ["transformer.h.0"])
    assert float(linear[6]) > 40
    assert float(told[6]) > 30
