"""`probe report` and `probe compare`, on hand-made tables."""

import json
from pathlib import Path

import pytest

import scenarios
from probe.errors import InputError
from probe.tables.table_file import new_table, write_table
from scenarios.commands.report import show_compared, show_report
from tests.figures.report.hand_made import stated, tables


def folder_of(root, name, forgotten):
    folder = root / name
    folder.mkdir(parents=True)
    found = tables(
        [stated("conv2", "yes", forgotten)], {"conv2": forgotten, "output": 0.5}
    )
    for table, rows in found.items():
        write_table(folder / f"{table}.csv", table, rows)
    return folder


def test_the_page_lies_in_the_first_directory_unless_told_otherwise(tmp_path, capsys):
    a = folder_of(tmp_path, "a", 0.03)
    b = folder_of(tmp_path, "b", 0.08)
    show_report([a, b], None)
    assert capsys.readouterr().out.strip() == str(a / "report.html")
    show_report([b], tmp_path / "own.html")
    assert (tmp_path / "own.html").exists()


def test_answers_are_written_as_markdown_and_as_json(tmp_path):
    a = folder_of(tmp_path, "a", 0.03)
    show_report([a], tmp_path / "answer.md")
    lines = (tmp_path / "answer.md").read_text().splitlines()
    assert any(
        line.startswith("| conv2 | - | - | ") and "| 87.0 |" in line for line in lines
    )
    show_report([a], tmp_path / "answer.json")
    (answer,) = json.loads((tmp_path / "answer.json").read_text())["a"]
    assert answer["layers"][0]["held"]["value"] == pytest.approx(0.87)
    b = folder_of(tmp_path, "b", 0.08)
    show_report([a, b], tmp_path / "both.md", "ft")
    both = (tmp_path / "both.md").read_text()
    assert both.startswith("\n".join(["# a", "", *lines, "# b", "", ""]))
    with pytest.raises(InputError, match=r"end in \.html, \.md or \.json"):
        show_report([a], tmp_path / "answer.pdf")
    with pytest.raises(InputError, match="no method 'fu' in these tables"):
        show_report([a, b], tmp_path / "both.md", "fu")
    (tmp_path / "other").mkdir()
    other = folder_of(tmp_path / "other", "a", 0.08)
    with pytest.raises(InputError, match="same name"):
        show_report([a, other], tmp_path / "both.json")


def test_each_run_goes_further_by_its_own_command(tmp_path, monkeypatch):
    next_of = "probe.results.run_directory.next_of"
    monkeypatch.setattr(next_of, lambda root: f"probe diff {root.name}")
    folders = [folder_of(tmp_path, name, 0.03) for name in "ab"]
    show_report(folders, tmp_path / "both.json")
    written = json.loads((tmp_path / "both.json").read_text())
    for name, (answer,) in written.items():
        assert answer["next"].endswith(f" {name}")


def test_a_limit_that_is_broken_is_told(tmp_path, capsys):
    a = folder_of(tmp_path, "a/run", 0.03)
    b = folder_of(tmp_path, "b/run", 0.08)
    assert show_compared(a, b, None)
    said = capsys.readouterr().out
    assert "b/run minus a/run" in said
    assert show_compared(b, a, 0.05)
    assert not show_compared(a, b, 0.05)
    said = "ft, linear, conv2: forgets 8.0 points [7.0, 10.0], more than 5.0"
    assert said in capsys.readouterr().out
    text = (b / "measurements.csv").read_text()
    (b / "measurements.csv").write_text(text.replace("toy,", "other,"))
    show_compared(a, b, None)
    assert "of different data: " in " ".join(capsys.readouterr().out.split())
    stated = (b / "statements.csv").read_text()
    (b / "statements.csv").write_text(stated.replace("ft,", "other,"))
    with pytest.raises(InputError, match="no method, readout and layer in common"):
        show_compared(a, b, None)
    write_table(b / "statements.csv", "statements", new_table("statements"))
    assert show_compared(a, b, 0.05)
    assert "nothing is judged" in capsys.readouterr().out


def test_a_run_is_compared_with_tables_of_the_package_by_their_name(
    capsys,
):
    digits = Path("reference:digits")
    mnist = Path("reference:mnist")
    assert show_compared(digits, digits, None)
    assert "reference:digits minus reference:digits" in capsys.readouterr().out
    with pytest.raises(InputError, match="did you mean 'mnist'"):
        show_compared(Path("reference:mnst"), mnist, None)
    folder = Path(scenarios.__file__).parent / "references"
    assert sum(path.stat().st_size for path in folder.rglob("*.gz")) < 300_000
