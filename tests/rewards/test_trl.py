"""TRL's GRPO trainer with a path reward: a tiny model and tokenizer made on the spot, nothing downloaded."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import wayscore as ws

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what other libraries say while they are imported
    pytest.importorskip("trl", reason="install trl to run this test")
    import torch
    from datasets import Dataset
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
    from trl import GRPOConfig, GRPOTrainer

HOUSE = ws.Graph.from_edges([("hall", "stairs"), ("stairs", "attic"), ("hall", "kitchen")], [2.0, 3.5, 4.0])
WAY = ["hall", "stairs", "attic"]
TEMPLATE = "{% for message in messages %}{{ message['content'] }} {% endfor %}"


def tokenizer() -> Any:
    """One token for each word; all words but one are nodes, so that random text is a path often enough."""
    words = ["[PAD]", "[EOS]", "[UNK]", *(HOUSE.index or {}), "zebra"]
    plain = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    made = PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="[PAD]", eos_token="[EOS]", unk_token="[UNK]", padding_side="left"
    )
    made.chat_template = TEMPLATE
    return made


def rows(conversational: bool) -> Dataset:
    prompts: list[Any] = ["attic", "kitchen"]
    if conversational:
        prompts = [[{"role": "user", "content": prompt}] for prompt in prompts]
    return Dataset.from_dict({"prompt": prompts, "reference": [WAY, ["hall", "kitchen"]], "scene": ["house"] * 2})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("conversational", [False, True])
def test_a_training_with_trl(conversational: bool, tmp_path: Path) -> None:
    torch.manual_seed(0)
    words = tokenizer()
    size = {"n_positions": 32, "n_embd": 16, "n_layer": 1, "n_head": 2}
    ends = {"bos_token_id": 1, "eos_token_id": 1, "pad_token_id": 0}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(words), **size, **ends))
    reward = ws.PathReward(distance={"house": HOUSE}, metric="nDTW")
    seen: list[Any] = []

    def watched(**called: Any) -> list[float | None]:
        found = reward(**called)
        seen.append((called["completions"], called["reference"], found))
        return found

    watched.__name__ = "watched"
    options = GRPOConfig(
        output_dir=str(tmp_path),
        max_steps=1,
        num_generations=4,
        per_device_train_batch_size=8,
        max_completion_length=4,
        learning_rate=0.1,
        logging_steps=1,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        seed=0,
    )
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=[reward, watched],
        args=options,
        train_dataset=rows(conversational),
        processing_class=words,
    )
    trainer.train()
    ((completions, references, found),) = seen
    assert len(found) == 8
    assert len({round(value, 9) for value in found}) > 2
    texts = [one[-1]["content"] if conversational else one for one in completions]
    for text, reference, value in zip(texts, references, found, strict=True):
        nodes = text.split()
        known = bool(nodes) and all(node in (HOUSE.index or {}) for node in nodes)
        expected = ws.ndtw(reference=reference, query=nodes, distance=HOUSE) if known else 0.0
        assert value == pytest.approx(expected, abs=1e-12)
    logged = next(entry for entry in trainer.state.log_history if "rewards/nDTW/mean" in entry)
    assert logged["rewards/nDTW/mean"] == pytest.approx(sum(found) / 8, abs=1e-6)
    assert any((value != before[name]).any() for name, value in trainer.model.named_parameters())
