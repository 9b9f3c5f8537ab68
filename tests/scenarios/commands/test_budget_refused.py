"""A budget that will not do for all classes is refused before anything is learned or written."""

from pathlib import Path

import pytest

from probe.errors import InputError
from scenarios.commands.run import Options, run_study
from scenarios.study.source import Overrides


def test_a_total_below_the_number_of_classes_is_refused_at_once(tmp_path: Path) -> None:
    study, out = tmp_path / "s.toml", tmp_path / "out"
    study.write_text(
        '[scenario]\ndata = "digits"\n[network]\nname = "mlp"\n'
        "[learners.finetune]\nexemplars = { total = 9 }\n"
    )
    with pytest.raises(InputError, match="total of 9 exemplars leaves none for each of 10"):
        run_study(str(study), Overrides(), Options(out=out))
    assert not out.exists()
