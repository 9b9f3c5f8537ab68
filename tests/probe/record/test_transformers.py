"""The Trainer callback in real trainers: R, networks, and a training that does not notice it."""

import pytest
import torch

from probe.examples import Examples
from probe.record.recorder import Recorder
from probe.record.recording import read_recording
from tests.probe.record.tiny import TASKS, assert_unnoticed

pytest.importorskip("transformers", reason="the extra transformers is not installed")
pytest.importorskip("accelerate", reason="transformers trains with accelerate")

from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainingArguments,
)

from probe.record.plugins.transformers import ForgettingProbe


def texts(n, seed):
    """Sentences of 6 words, each class with a word of its own, the last words masked out."""
    draw = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 6
    ids = torch.randint(8, 40, (n, 6), generator=draw)
    ids[torch.arange(n), torch.randint(4, (n,), generator=draw)] = y + 1
    mask = torch.ones(n, 6).long()
    mask[::3, 4:] = 0
    return Examples({"input_ids": ids, "attention_mask": mask}, y)


def classifier(seed=0):
    config = BertConfig(
        vocab_size=40,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=8,
        num_labels=6,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return BertForSequenceClassification(config)


def fit(model, folder, callbacks, task):
    own = texts(120, 0).of_classes(task)
    rows = [
        {**{name: column[at] for name, column in own.x.items()}, "labels": own.y[at]}
        for at in range(len(own))
    ]
    how = TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=1,
        per_device_train_batch_size=10,
        learning_rate=0.01,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
    )
    Trainer(model=model, args=how, train_dataset=rows, callbacks=callbacks).train()


def row(model, test):
    """Return the accuracy on each task, by the library's own way to call it."""
    with torch.no_grad():
        predicted = model(**test.x).logits.argmax(1)
    of = [[int(y) in task for y in test.y] for task in TASKS]
    return [float((predicted == test.y)[own].double().mean()) for own in of]


@pytest.mark.slow
def test_matrix_and_the_networks_are_those_of_a_training_that_does_not_notice(tmp_path):
    test, model = texts(60, 1), classifier()
    settings = {"train": texts(120, 0), "output": "logits", "every": 2}
    settings["layers"] = ["bert.pooler"]
    rec = Recorder(tmp_path / "rec", model, test, TASKS, **settings)
    callback = ForgettingProbe(rec)

    def trained(module, task, recorded):
        fit(module, tmp_path / "out", [callback] if recorded else None, task)

    assert_unnoticed(classifier(), rec, trained, lambda own: row(own, test))
    assert read_recording(tmp_path / "rec").output == "logits"
