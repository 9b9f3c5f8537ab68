"""Fine-tune a small GPT-2 on three kinds of questions, and read every block.

Five words and a question: of which of four kinds is word 1, 3 or 5? The three questions
are the tasks; docs/language_models.md reads what this prints.

    pip install transformers
    python docs/examples/questions.py    # half a minute on one core
"""

from tempfile import TemporaryDirectory

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

import probe

# The tokens that can answer; labels are their positions in this list.
ANSWERS = [1, 2, 3, 4]
BLOCKS = ["transformer.h.0", "transformer.h.1"]
SIZES = {"vocab_size": 32, "n_positions": 8, "n_embd": 32, "n_layer": 2, "n_head": 2}
NO_DROPOUT = {"resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0}
TOKENS = {"bos_token_id": 0, "eos_token_id": 0}


def build():
    """Return the model: yours is pretrained, this one has random weights."""
    sizes = GPT2Config(**SIZES, **NO_DROPOUT, **TOKENS, initializer_range=0.1)
    return GPT2LMHeadModel(sizes)


def answer(model, x):
    """Return the logits of the token that follows."""
    return model(input_ids=x).logits[:, -1]


def questions(task, n):
    """Return n questions of a task, with their answers."""
    ids = torch.randint(12, 32, (n, 6))
    ids[:, -1] = 8 + task
    return probe.Examples(ids, ids[:, 2 * task] % 4)


def learn(model, own):
    """Fine-tune the model on questions."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(10):
        for rows in torch.randperm(len(own)).split(32):
            optimizer.zero_grad()
            tokens = torch.tensor(ANSWERS)[own.y[rows]]
            nn.functional.cross_entropy(answer(model, own.x[rows]), tokens).backward()
            optimizer.step()


torch.manual_seed(0)
train = [questions(task, 300) for task in range(3)]
test = [questions(task, 200) for task in range(3)]
with TemporaryDirectory() as folder:
    for seed in range(3):
        torch.manual_seed(seed)
        model = build()
        torch.save(model.state_dict(), f"{folder}/seed{seed}-task0.pt")
        for learned, own in enumerate(train, 1):
            learn(model, own)
            torch.save(model.state_dict(), f"{folder}/seed{seed}-task{learned}.pt")
    files = f"{folder}/seed{{seed}}-task{{task}}.pt"
    result = probe.analyze(
        probe.Model(files, call=answer, classes=ANSWERS, fresh=build),
        train,
        test,
        features=BLOCKS,
        readouts=["linear", "linear-task"],
        recipe=probe.Recipe(
            epochs=10, batch_size=32, optimizer="adamw", learning_rate=5e-3
        ),
        offline="train",
    )

print(result)
costs = result.causes().query("quantity == 'attributed' and task_position.isna()")
costs = costs.query("scope == 'training' and score == 'accuracy'")
costs = costs.set_index("feature")
print((100 * costs[["value", "low", "high"]]).round(1))
assert costs["value"].idxmax() == BLOCKS[0]
assert costs.loc[BLOCKS[0], "verdict"] == "costs"
