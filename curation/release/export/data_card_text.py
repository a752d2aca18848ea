"""The fixed sentences of a data set card."""

from collections.abc import Iterable

from curation.release.question_pairs import PROMPT
from hedgerow.losses.contrastive import BIBTEX

METHOD = """\
Affirmative sentences (anchors), each with variants that negate it and variants that hedge or
paraphrase it, for training text encoders that understand *not*. The method is that of *Learning
Robust Negation Text Representations* (HedgeTriple): the positive of a contrastive triple is a
hedged variant of the anchor, the negative a negated one, both written by a language model after a
linguistic taxonomy (sections 3.1 and 3.2). Where it holds the type `negated_antonym`, that is the
right answer of SemAntoNeg: a paraphrase by two reversals."""

JSONL_USE = """\
`triples.jsonl`, `variants.jsonl` and `families.jsonl`, UTF-8, one JSON object a line, ordered by
uid; `split` names the part a row belongs to."""

PAIRS_USE = """\
`pairs.csv`: accepted variants with their anchors and a label, as a loss over labelled pairs or a
spreadsheet takes them; UTF-8 with a byte-order mark, ordered by uid; `split` names the part a row
belongs to. Variants that leave the claim open are left out: they are neither the same claim nor a
contradiction.

So that no spreadsheet takes a sentence for a formula, a cell that starts with `=`, `+`, `-`, `@`,
a full-width form of these, a tab or a line break, be it after apostrophes, has one more apostrophe
in front. To undo it, take one apostrophe off every cell in which apostrophes are
followed by such a character. The formats hf and jsonl hold all texts unchanged."""

QUESTIONS = f"""\
Each question is about an anchor and one of its variants, in the words of the paper (HedgeTriple,
§5.2):

```text
{PROMPT.format(sentence_1="…", sentence_2="…")}
```

The answer is Yes for a variant that contradicts the anchor, and No for one that says the same. The
paper asks two questions of every triple, one of either answer. Here an anchor gives the fewest
questions that keep those proportions: as many Yes as No, each of its negations as often as the
others, and each of its hedges and paraphrases. With four negations and two hedges, a negation
occurs once and a hedge twice."""

QUESTION_USE = {
    "messages": "For each split there are a Parquet file and a file of JSON lines with the same "
    "rows, in the folder `messages`. The column `messages` is what `SFTTrainer` of the package "
    "`trl` trains on.",
    "completion": "For each split there are a Parquet file and a file of JSON lines with the same "
    "rows, in the folder `completion`. The columns `prompt` and `completion` are what `SFTTrainer` "
    "of the package `trl` trains on; the answer alone is learned.",
    "openai": "`train.jsonl` and `validation.jsonl`, as far as the release has such anchors, are "
    "what OpenAI's finetuning takes as the training and the validation file. `test.jsonl` is for "
    "measuring.",
}

WHOLE = "whole"
"""What a split is called that is a file of all rows, whatever their own split."""

WEAK_SPOTS = (
    "Some affixal and lexical negations are contraries rather than plain negations: both they and "
    "the anchor can be false.",
    "Some hedges fall on a reason or a degree rather than on the main claim.",
    "Of a gradable pair, a negated antonym is weaker than its anchor ('not stingy', 'generous').",
    "An anchor's variants differ from it by few words, and each occurs in several triples: split "
    "by anchor, never by row, and keep an anchor's triples out of one another's batches.",
)

CITATION = f"""\
```bibtex
{BIBTEX}
```"""


PLACE = "PATH OF THIS FOLDER"
"""Where a card says that an export lies, unless it is published under a name."""


def whole_use(tables: Iterable[str], place: str) -> str:
    """How to open the tables of an export that has one file a table, and take a split of one."""
    names = list(tables)
    lines = [f'{name} = load_dataset("{place}", "{name}", split="{WHOLE}")' for name in names]
    first = names[0]
    part = f'train = {first}.filter(lambda row: row["split"] == "train")'
    return "\n".join(["```python", "from datasets import load_dataset", "", *lines, part, "```"])


def hf_use(tables: Iterable[str], place: str) -> str:
    """How to open the configurations that a Hugging Face export has."""
    names = list(tables)
    lines = [f'{name} = load_dataset("{place}", "{name}")' for name in names]
    after = []
    if "triples" in names:
        lines.append('texts = triples.select_columns(["anchor", "positive", "negative"])')
        after = [
            "",
            "A sentence-transformers trainer takes every column for a text: select the three.",
        ]
    return "\n".join(["```python", "from datasets import load_dataset", "", *lines, "```", *after])
