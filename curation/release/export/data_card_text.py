"""The fixed sentences of a data set card."""

from collections.abc import Iterable

from curation.release.question_pairs import PROMPT

BIBTEX = """\
@misc{truong2025learning,
  title         = {Learning Robust Negation Text Representations},
  author        = {Truong, Thinh Hung and Verspoor, Karin and Cohn, Trevor and Baldwin, Timothy},
  year          = {2025},
  eprint        = {2507.12782},
  archivePrefix = {arXiv},
  primaryClass  = {cs.CL}
}"""
"""The paper that introduced the method."""

METHOD = """\
Affirmative sentences (anchors), each with variants that negate it and variants that hedge or
paraphrase it, for training text encoders that understand *not*. The method is that of *Learning
Robust Negation Text Representations* (HedgeTriple): the positive of a contrastive triple is a
hedged variant of the anchor, the negative a negated one, both written by a language model according
to a linguistic taxonomy (sections 3.1 and 3.2). The type `negated_antonym`, if present, is the kind
of paraphrase that is the right answer in SemAntoNeg: two reversals that cancel out."""

JSONL_USE = """\
`triples.jsonl`, `variants.jsonl` and `families.jsonl`, UTF-8, one JSON object per line, ordered by
uid. The column `split` gives the split of each row."""

PAIRS_USE = """\
`pairs.csv`: accepted variants with their anchors and a label, for a loss over labelled pairs or a
spreadsheet. UTF-8 with a byte-order mark, ordered by uid. The column `split` gives the split of
each row. Variants that leave the claim open are left out, because they are neither the same claim
nor a contradiction.

To keep spreadsheets from reading a sentence as a formula, a cell that starts with `=`, `+`, `-`,
`@`, a full-width form of these, a tab or a line break, also after apostrophes, is prefixed with an
apostrophe. To undo this, remove one apostrophe from every cell in which apostrophes are followed by
such a character. The formats hf and jsonl contain all texts unchanged."""

QUESTIONS = f"""\
Each question is about an anchor and one of its variants, in the words of the paper (HedgeTriple,
§5.2):

```text
{PROMPT.format(sentence_1="…", sentence_2="…")}
```

The answer is Yes for a variant that contradicts the anchor, and No for one that says the same. The
paper asks two questions about every triple, one for each answer. Here each anchor has the smallest
number of questions with the same proportions: as many Yes as No, with all its negations equally
frequent and all its hedges and paraphrases equally frequent. With four negations and two hedges,
each negation occurs once and each hedge twice."""

QUESTION_USE = {
    "messages": "For each split, the folder `messages` has a Parquet file and a JSON Lines file "
    "with the same rows. `SFTTrainer` from the package `trl` trains on the column `messages`.",
    "completion": "For each split, the folder `completion` has a Parquet file and a JSON Lines "
    "file with the same rows. `SFTTrainer` from the package `trl` trains on the columns "
    "`prompt` and `completion`; the loss only covers the answer.",
    "openai": "Use `train.jsonl` and `validation.jsonl`, if present, as the training and "
    "validation files for OpenAI's finetuning. `test.jsonl` is for evaluation.",
}

WHOLE = "whole"
"""The name of the split for a file that contains all rows, whatever their own split."""

WEAK_SPOTS = (
    "Some affixal and lexical negations are contraries rather than plain negations: both they and "
    "the anchor can be false.",
    "Some hedges fall on a reason or a degree rather than on the main claim.",
    "For gradable pairs, a negated antonym is weaker than its anchor ('not stingy' "
    "is weaker than 'generous').",
    "Variants of an anchor differ by few words, and each occurs in several triples. Split the "
    "data by anchor, never by row, and do not put two triples of an anchor into the same batch.",
)

CITATION = f"""\
```bibtex
{BIBTEX}
```"""


PLACE = "PATH OF THIS FOLDER"
"""What a card gives as an export's location, unless it is published under a name."""


def whole_use(tables: Iterable[str], place: str) -> str:
    """Show how to open the tables of an export with one file per table, and select a split."""
    names = list(tables)
    lines = [f'{name} = load_dataset("{place}", "{name}", split="{WHOLE}")' for name in names]
    first = names[0]
    part = f'train = {first}.filter(lambda row: row["split"] == "train")'
    return "\n".join(["```python", "from datasets import load_dataset", "", *lines, part, "```"])


def hf_use(tables: Iterable[str], place: str) -> str:
    """Show how to open the configurations of a Hugging Face export."""
    names = list(tables)
    lines = [f'{name} = load_dataset("{place}", "{name}")' for name in names]
    after = []
    if "triples" in names:
        lines.append('texts = triples.select_columns(["anchor", "positive", "negative"])')
        after = [
            "",
            "A sentence-transformers trainer reads every column as a text, so select these three.",
        ]
    return "\n".join(["```python", "from datasets import load_dataset", "", *lines, "```", *after])
