"""The programs of the pages beside the README, run as they stand there."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.test_readme import blocks

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def ran(probe, cwd, capsys):
    """Return a function that runs the Python of a page, or its `sh`; it returns what is printed."""

    def python(page):
        exec(compile("\n".join(blocks("python", DOCS / page)), page, "exec"), {})
        return capsys.readouterr().out

    def sh(page):
        said = ""
        for line in "".join(blocks("sh", DOCS / page)).splitlines():
            if line.startswith("probe "):
                code, said, err = probe(line.removeprefix("probe "))
                assert (code, err) == (0, "")
            elif not line.startswith("python "):
                subprocess.run(line, shell=True, check=True, cwd=cwd)
        return said

    return lambda page, language="python": {"python": python, "sh": sh}[language](page)


@pytest.mark.soak
def test_a_smaller_memory_forgets_more_and_fine_tuning_is_as_before(ran, probe, cwd):
    (cwd / "study.toml").write_text(blocks("toml", DOCS / "compare.md")[0])
    out = ran("compare.md", "sh")
    assert re.search(r"finetune +linear +output +forgets .* 0\.0 \[0\.0, 0\.0\]", out)
    assert re.search(r"er +linear +output +forgets .* \d+\.\d \[\d", out)
    assert probe("compare runs/study runs/smaller --max-forgetting 0.1")[0] == 1


@pytest.mark.slow
def test_a_silenced_head_removes_nothing_upstream_and_a_probe_finds_what_was_never_seen(ran):
    rows = [line.split() for line in re.sub(r"[][,]", " ", ran("unlearning.md")).splitlines()]
    found = {(r[0], r[1]): [float(n) for n in r[2:]] for r in rows[2:14]}
    assert all(found["silence", layer][3:6] == [0, 0, 0] for layer in "135")
    assert found["silence", "output"][1] == found["relabel", "output"][1] == 0
    assert found["silence", "1"][0] > 80
    assert found["silence", "5"][7] > 0 > found["retrain", "5"][7]


@pytest.mark.soak
def test_lora_learns_less_and_merged_is_wrapped(ran):
    last = ran("lora.md").splitlines()[-2:]
    merged, wrapped = ([float(n) for n in re.findall(r"'(\d+\.\d)'", line)] for line in last)
    assert merged == pytest.approx(wrapped, abs=0.5)
    assert re.search(r"linear +5 +acquires_less .* \d+\.\d \[\d", ran("lora.md", "sh"))


@pytest.mark.soak
def test_selecting_a_word_is_forgotten_and_the_word_is_not(ran):
    pytest.importorskip("transformers", reason="an example uses it: install the extra `zoo`")
    rows = [line.split() for line in ran("language_models.md").splitlines()]
    linear, told = (row for row in rows if row[:1] == ["transformer.h.0"])
    assert float(linear[6]) > 15
    assert float(told[1]) > 90
