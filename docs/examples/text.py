"""Example 3: a tiny text classifier of transformers, fine-tuned on three toy tasks by the Trainer.

Inputs are a mapping of tensors, logits an attribute of the output. Train, and measure
`rec`:

    python text.py
    probe model rec --network text:build --train-offline --epochs 3
"""

import argparse
from tempfile import TemporaryDirectory

import torch
from torch.utils.data import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainingArguments,
)

import probe
from probe.record.plugins.transformers import ForgettingProbe

TASKS = [[0, 1], [2, 3], [4, 5]]
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
PLAIN = {
    "hidden_dropout_prob": 0,
    "attention_probs_dropout_prob": 0,
    "initializer_range": 0.1,
}


def build():
    """Make the classifier."""
    config = BertConfig(
        vocab_size=64, num_labels=6, intermediate_size=64, **SIZES, **PLAIN
    )
    return BertForSequenceClassification(config)


def texts(n, seed):
    """Return n texts of 12 words, of which two tell the class."""
    chance = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 6
    ids = torch.randint(20, 64, (n, 12), generator=chance)
    ids[:, 3], ids[:, 7] = 4 + y, 12 + y
    mask = torch.arange(12) < torch.randint(8, 13, (n, 1), generator=chance)
    return probe.Examples({"input_ids": ids, "attention_mask": mask.long()}, y)


class Items(Dataset):
    """Examples one by one, as the Trainer wants them."""

    def __init__(self, examples):
        self.examples = examples

    def __len__(self):
        return len(self.examples)

    def __getitem__(self, i):
        x = {name: each[i] for name, each in self.examples.x.items()}
        return {**x, "labels": self.examples.y[i]}


def train(seeds, epochs, folder):
    """Fine-tune on one task after the other."""
    data, test = texts(1200, 0), texts(300, 1)
    for seed in range(seeds):
        torch.manual_seed(seed)
        model = build()
        recorder = probe.Recorder(
            folder, model, test, TASKS, train=data, seed=seed, output="logits"
        )
        callback = ForgettingProbe(recorder)
        with TemporaryDirectory() as scratch:
            arguments = TrainingArguments(
                scratch,
                num_train_epochs=epochs,
                per_device_train_batch_size=32,
                learning_rate=2e-3,
                seed=seed,
                report_to="none",
                save_strategy="no",
                disable_tqdm=True,
                use_cpu=True,
            )
            for task in TASKS:
                own = Items(data.of_classes(task))
                Trainer(
                    model, arguments, train_dataset=own, callbacks=[callback]
                ).train()
        print(recorder.R)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=5)
    given = parser.parse_args()
    train(given.seeds, given.epochs, "rec")
