"""Finetune your own encoder on a release, with the trainer of sentence-transformers.

    hedgerow export release --format jsonl
    python finetune_own_encoder.py release/families.jsonl path/to/encoder path/to/new-encoder

The encoder is a folder or a name on the model hub that SentenceTransformer can load. Of Hedgerow,
the script needs only `hedgerow.losses`.
"""

import argparse

import torch
from datasets import load_dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)

from hedgerow.losses import FamilyBatchSampler, FamilyCollator, FamilyLoss

parser = argparse.ArgumentParser()
parser.add_argument("families", help="families.jsonl from an export")
parser.add_argument("encoder")
parser.add_argument("output")
parser.add_argument("--steps", type=int, default=260)
parser.add_argument("--batch-size", type=int, default=8, help="families per step")
parser.add_argument("--learning-rate", type=float, default=2e-4)
options = parser.parse_args()

families = load_dataset("json", data_files=options.families, split="train")
train = families.filter(lambda row: row["split"] == "train")
held_out = families.filter(lambda row: row["split"] != "train")

model = SentenceTransformer(options.encoder)
for module in model.modules():
    if isinstance(module, torch.nn.Dropout):
        module.p = 0.0  # its noise is as large as the differences to be learned


def cosines(column: str) -> float:
    """Mean cosine of the held-out anchors with their variants in this column."""
    pairs = [(row["anchor"], text) for row in held_out for text in row[column]]
    anchors, variants = (model.encode(texts) for texts in zip(*pairs, strict=True))
    return float(model.similarity_pairwise(anchors, variants).mean())


before = {column: cosines(column) for column in ("hedges", "negations")}
trainer = SentenceTransformerTrainer(
    model=model,
    args=SentenceTransformerTrainingArguments(
        output_dir=f"{options.output}-checkpoints",
        max_steps=options.steps,
        per_device_train_batch_size=options.batch_size,
        learning_rate=options.learning_rate,
        warmup_steps=options.steps // 10,
        batch_sampler=FamilyBatchSampler,
        report_to="none",
    ),
    train_dataset=train,
    loss=FamilyLoss(model),
    data_collator=FamilyCollator(model.preprocess),
)
trainer.train()
model.save_pretrained(options.output)

for column, cosine in before.items():
    print(f"held-out {column}: {cosine:.3f} before, {cosines(column):.3f} after")
