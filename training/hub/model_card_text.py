"""The fixed sentences of a trained model's card."""

PLACE = "PATH OR HUB NAME OF THIS MODEL"
"""Placeholder for the model's path or name in the card, until it is published."""

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
"""BASE is replaced by the name of the encoder that the adapter changes."""

SUMMARY = """\
Embeds sentences so that a negation is far from the sentence that it negates, while a hedge or a
paraphrase stays close. Trained with Hedgerow as in *Learning Robust Negation Text Representations*
(section 3.2): training pulls hedges and paraphrases of a sentence closer to it and pushes its
negations away."""

INTENDED = """\
Cosine similarity of sentences where *not* counts: finding paraphrases and contradictory statements,
semantic search and clustering that should not mix a claim with its denial, and research on
negation and hedging in embeddings."""

RETENTION = """\
To prevent forgetting, training kept the embeddings of some texts close to those of the base model
(`retention` in the recipe). These texts are anchors of the release, and texts that come with
Hedgerow and were written by a language model: news, headlines, definitions, everyday texts, and
documents with questions and queries."""

MEASURED_ON = """\
*Held out* is the validation split of the release: anchors that were not used for training, with all
their variants (a sample of {most} anchors if there are more). A *triple* is an anchor with a
positive (a hedge or paraphrase) and a negative (a negation). A *SemAntoNeg-style question* has
three candidates, one of which is the paraphrase. *Drift* is the root mean square change of the
cosines between unrelated sentences, compared with the base model."""

OF_THE_QUESTIONS = (
    "A language model wrote the questions and passages; they were not used for training. The "
    "change is more meaningful than the value itself."
)

OF_THE_PROBES = """\
*Figure 1* is the paper's: the similarity of three sentences to "Global warming is real." In each of
the sixty *groups* that come with Hedgerow, one sentence contradicts an anchor, one weakens it, and
one affirms it."""

LIMITS = (
    "It was trained on single sentences. Negation inside long passages was not evaluated here.",
    "Hedges were trained to stay close to their anchors. Do not use it to measure how certain a "
    "statement is.",
    "A cosine shows how close two sentences are, not whether one entails or contradicts the "
    "other. The model does not replace one for inference or fact checking, and no decision "
    "about people should depend on it alone.",
    "The training data has its own limitations; they are listed in its data set card.",
)
