"""`probe metrics`: every metric of the literature from a matrix in a file."""

import json

import numpy as np
import pytest


@pytest.fixture
def cwd(tmp_path):
    (tmp_path / "R.csv").write_text("0.9,0.1\n0.5,0.8\n")
    return tmp_path


def test_metrics_take_percent_references_ideals_and_sizes(probe, tmp_path):
    np.save(tmp_path / "R.npy", np.array([[20, 30], [90, 10], [50, 80]]))
    (tmp_path / "all.csv").write_text("100,0\n60,70\n")
    flags = "--json --percent --reference all.csv --ideal 80 --test-sizes 10,30"
    card = json.loads(probe(f"metrics R.npy {flags}")[1])
    assert card["gem"]["fwt"] == pytest.approx(0.1 - 0.3)
    assert card["chaudhry"]["intransigence"] == pytest.approx([1.0 - 0.9, 0.7 - 0.8])
    assert card["kemker"]["omega_base"] == pytest.approx(0.5 / 0.8)
    assert card["kemker"]["omega_all"] == pytest.approx(
        (10 * 0.5 + 30 * 0.8) / 40 / 0.8
    )
    assert "chaudhry.forgetting[1]" in card["not_measured"]
    assert not card["not_measured"].keys() & {
        "kemker.omega_base",
        "chaudhry.intransigence[1]",
    }


def test_zeros_above_the_diagonal_are_no_forward_transfer(probe, tmp_path):
    for corner, is_measured in (("0", False), ("0.1", True)):
        (tmp_path / "R.csv").write_text(f"0.9,{corner}\n0.5,0.8\n")
        card = json.loads(probe("metrics R.csv --json")[1])
        assert (card["diaz_rodriguez"]["fwt"] is not None) == is_measured


def test_costs_give_the_criteria_and_scores_of_diaz_rodriguez(probe, tmp_path):
    """By hand: the model doubles, half of the data are stored, each task takes two passes."""
    np.save(tmp_path / "R.npy", np.array([[0.9, 0.1], [0.5, 0.8]]))
    head = "tasks_seen,parameter_bytes,carried_bytes,stored_bytes,train_bytes,ops_one_pass,ops\n"
    (tmp_path / "costs.csv").write_text(head + "2,10,10,40,40,7,15\n1,10,0,0,40,7,14\n")
    flags = "--json --costs costs.csv --weights only_ms=0,1,0,0,0,0,0"
    card = json.loads(probe(f"metrics R.npy {flags}")[1])["diaz_rodriguez"]
    criteria = [2.2 / 3, 0.75, 0.75, (7 / 14 + 7 / 15) / 2, 1 - 0.4, 0, 0.1]
    names = ["accuracy", "ms", "sss", "ce", "rem", "bwt_plus", "fwt"]
    assert [card[name] for name in names] == pytest.approx(criteria)
    assert card["cl_score[W1]"] == pytest.approx(sum(criteria) / 7)
    assert card["cl_score[only_ms]"] == 0.75
    (tmp_path / "short.csv").write_text(head + "1,10,0,0,40,7,14\n")
    code, _, err = probe("metrics R.npy --costs short.csv")
    assert code == 2
    assert "short.csv has 1 lines" in err
    assert "--costs" in probe("metrics R.npy --ce-form poster")[2]
