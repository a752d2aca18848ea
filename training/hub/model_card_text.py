"""The fixed sentences of a trained model's card."""

PLACE = "PATH OR HUB NAME OF THIS MODEL"
"""Stands in the card for where the model lies, until it is published under a name."""

USE = f"""\
```python
from sentence_transformers import SentenceTransformer
model = SentenceTransformer("{PLACE}")
embeddings = model.encode(["The door is open.", "The door is not open."])
print(model.similarity(embeddings, embeddings))
```"""

USE_ADAPTER = f"""\
```python
from sentence_transformers import SentenceTransformer
model = SentenceTransformer("BASE")
model.load_adapter("{PLACE}")
embeddings = model.encode(["The door is open.", "The door is not open."])
print(model.similarity(embeddings, embeddings))
```"""
"""BASE stands for the encoder that the adapter changes."""

SUMMARY = """\
Embeds sentences so that a negation moves a sentence away from what it negates, while a hedge or a
paraphrase stays near it. Trained with Hedgerow, after *Learning Robust Negation Text
Representations* (section 3.2): variants of a sentence that hedge or paraphrase it are drawn towards
it, variants that negate it are pushed away."""

INTENDED = """\
Cosine similarity of sentences where *not* counts: finding paraphrases and contradictory statements,
semantic search and clustering that should not mix a claim with its denial, and research on
negation and hedging in embeddings."""

RETENTION = """\
Against forgetting, texts were held where the base model has them: anchors of the release, and news,
headlines, definitions, everyday texts, and documents with questions and queries, which come with
Hedgerow and were written by a language model (`retention` in the recipe)."""

MEASURED_ON = """\
*Held out* is the validation split of the release: anchors that were not trained on, with all their
variants; of more than {most} anchors, an even draw. A *triple* is an anchor with a positive (hedge
or paraphrase) and a negative (negation) of it. A *question in SemAntoNeg's manner* offers three
candidates, of which one is the paraphrase. *Drift* is the root mean square change of the cosines
among unrelated sentences since the base model."""

OF_THE_QUESTIONS = (
    "A language model wrote the questions and passages; they were not used for training. The "
    "change is more meaningful than the value itself."
)

OF_THE_PROBES = """\
*Figure 1* is the paper's: how near three sentences are to "Global warming is real." In each of the
sixty *groups* that come with Hedgerow, one sentence contradicts an anchor, one weakens and one
affirms it."""

LIMITS = (
    "It was trained on single sentences. Negation inside long passages was not evaluated here.",
    "Hedges were trained to stay close to their anchors. Do not use it to measure how certain a "
    "statement is.",
    "A cosine shows how close two sentences are, not whether one entails or contradicts the "
    "other. The model does not replace one for inference or fact checking, and no decision "
    "about people should depend on it alone.",
    "The training data has its own limitations; they are listed in its data set card.",
)
