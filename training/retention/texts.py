"""The texts for retention: bundled topics and documents, slight edits, and files of sentences."""

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from curation.language.tokens import NEGATOR_WORDS
from curation.tables.columns import named
from curation.tables.delimited import listed
from curation.tables.json_values import cell_text
from curation.tables.plain import SENTENCE_NAMES
from curation.tables.table import open_bytes
from db.errors import HedgerowError
from db.named_files import read_bytes

# -- Sentences on bundled topics, for retention ---------------------------------------------------
#
# Anchors are short, and each has its own subject. They contain no paraphrases or different details
# of news, definitions or headlines. An encoder that is trained only on anchors forgets these.


_TOPICS_FILE = Path(__file__).with_name("topics.txt")

OF_A_TOPIC = 4
"""Sentences: one, the same in other words, and others on the topic or a distorted rendering."""


class Topic(NamedTuple):
    """Sentences on one topic.

    Attributes:
        same: sentences with the same content: two in different words, and possibly a third that
            distorts it like a bad translation.
        other: sentences that say something else about the topic.
    """

    same: tuple[str, ...]
    other: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """All sentences."""
        return self.same + self.other


@cache
def topics() -> tuple[Topic, ...]:
    """The bundled topics, in the order of the file.

    A large language model wrote them for this project without access to the corpus or any
    benchmark. The genres are reports, commentary, speeches, headlines, opinions, definitions and
    everyday texts. Some repeat a sentence as a clumsy translation would.
    """
    lines = _TOPICS_FILE.read_text(encoding="utf-8").splitlines()
    sides = (line.split(" || ") for line in lines if line)
    return tuple(Topic(tuple(a.split(" | ")), tuple(b.split(" | "))) for a, b in sides)


# -- Bundled documents for retention --------------------------------------------------------------
#
# Anchors are single sentences. Documents cover what else the encoder can do: passages of several
# sentences, titles, questions that a passage answers, and short queries.


_DOCUMENTS_FILE = Path(__file__).with_name("documents.jsonl")


class Document(NamedTuple):
    """A passage with texts that should find it.

    Attributes:
        title: a headline, page title or heading.
        passage: three to five sentences.
        questions: a short one and a longer one that the passage answers.
        query: two or three words to search for it.
        need: a statement by somebody whom the passage would help.
    """

    title: str
    passage: str
    questions: tuple[str, ...]
    query: str
    need: str

    @property
    def queries(self) -> tuple[str, ...]:
        """The texts that should find the passage."""
        return (self.title, *self.questions, self.query, self.need)


@cache
def documents() -> tuple[Document, ...]:
    """The bundled documents, in the order of the file.

    A large language model wrote them for this project without access to the corpora or any
    benchmark. They include encyclopedia entries, instructions, news, abstracts, forum answers,
    leaflets, policies, biographies, software documentation and recipes.
    """
    rows = map(json.loads, _DOCUMENTS_FILE.read_text(encoding="utf-8").splitlines())
    return tuple(
        Document(row["title"], row["passage"], tuple(row["questions"]), row["query"], row["need"])
        for row in rows
    )


# -- The bundled retention texts as a list, so that people can read and check them ----------------


class BundledText(NamedTuple):
    """A text that comes with Hedgerow.

    Attributes:
        part: its topic or document.
        kind: its role there.
    """

    part: str
    kind: str
    text: str


@cache
def bundled_texts() -> tuple[BundledText, ...]:
    """The sentences of all topics, then the texts of all documents."""
    of_topics = (_of_topic(f"Topic {number}", one) for number, one in enumerate(topics(), 1))
    of_documents = (
        _of_document(f"Document {number}", one) for number, one in enumerate(documents(), 1)
    )
    return tuple(chain(chain.from_iterable(of_topics), chain.from_iterable(of_documents)))


@cache
def texts_hash() -> str:
    """SHA-256 (64 hex digits) of the texts in their order."""
    texts = [entry.text for entry in bundled_texts()]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def _of_topic(part: str, topic: Topic) -> Iterator[BundledText]:
    first, *paraphrases = topic.same
    yield BundledText(part, "sentence", first)
    yield from (BundledText(part, "paraphrase", text) for text in paraphrases)
    yield from (BundledText(part, "other sentence", text) for text in topic.other)


def _of_document(part: str, document: Document) -> Iterator[BundledText]:
    yield BundledText(part, "title", document.title)
    yield BundledText(part, "passage", document.passage)
    yield from (BundledText(part, "question", text) for text in document.questions)
    yield BundledText(part, "query", document.query)
    yield BundledText(part, "need", document.need)


# -- Slight edits of sentences: copies with some words removed or replaced ------------------------
#
# Such pairs have graded similarities, which finetuning on contradictions makes less graded.


MOST_EDITED = 0.3
"""Maximum share of a text's words that are removed or replaced; at least one word."""

FEWEST_WORDS = 3
"""Minimum number of words of an edited copy. Texts without more words are returned unchanged."""


def edited(text: str, others: Sequence[str], chance: random.Random) -> str:
    """A random edit: a part of the text, words removed, words replaced, or another text's ending.

    Negators are neither removed nor added, because training determines their effect.

    Args:
        others: texts whose words may be used; at least one.
    """
    words = text.split()
    if len(words) <= FEWEST_WORDS:
        return text
    change = chance.choice((_cut, _thinned, _exchanged, _spliced))
    found = change(
        words, [word for word in chance.choice(others).split() if not _negates(word)], chance
    )
    kept = [word for word in words if _negates(word)]
    if len(found) < FEWEST_WORDS or [word for word in found if _negates(word)] != kept:
        return text
    return " ".join(found)


def _negates(word: str) -> bool:
    plain = word.lower().strip(".,;:!?\"'()")
    return plain in NEGATOR_WORDS or plain.endswith(("n't", "n’t"))


def _cut(words: list[str], other: list[str], chance: random.Random) -> list[str]:
    length = chance.randint(max(FEWEST_WORDS, len(words) // 2), len(words) - 1)
    start = chance.randint(0, len(words) - length)
    return words[start : start + length]


def _thinned(words: list[str], other: list[str], chance: random.Random) -> list[str]:
    chosen = _some(words, chance)
    return [word for place, word in enumerate(words) if place not in chosen]


def _exchanged(words: list[str], other: list[str], chance: random.Random) -> list[str]:
    if not other:
        return words
    chosen = _some(words, chance)
    return [chance.choice(other) if place in chosen else word for place, word in enumerate(words)]


def _some(words: list[str], chance: random.Random) -> set[int]:
    """The indices of some words that are not negators."""
    places = [place for place, word in enumerate(words) if not _negates(word)]
    most = max(1, round(MOST_EDITED * len(words)))
    return set(chance.sample(places, min(chance.randint(1, most), len(places))))


def _spliced(words: list[str], other: list[str], chance: random.Random) -> list[str]:
    return words[: len(words) * 2 // 3] + other[-max(1, len(other) // 3) :]


# -- The user's own retention text: a file of sentences -------------------------------------------


LARGEST_FILE = 50 * 1024 * 1024
"""Maximum size of a file of sentences in bytes."""

SEARCHED_BYTES = 64 * 1024
"""Number of bytes at the beginning of a file from which the length of its lines is estimated."""


def lines_of(path: Path) -> tuple[int, float]:
    """The approximate number and mean length of a file's lines, estimated from its beginning.

    Raises:
        OSError: it can't be read.
    """
    with path.open("rb") as file:
        beginning = file.read(SEARCHED_BYTES)
    lines = [line for line in beginning.splitlines() if line.strip()]
    if not lines:
        return 0, 0.0
    share = path.stat().st_size / len(beginning)
    letters = sum(len(line.decode("utf-8", errors="ignore")) for line in lines)
    return round(share * len(lines)), letters / len(lines)


def read_sentences(path: Path) -> list[str]:
    """The distinct sentences of a text file with one per line, or of a table, in their order.

    Raises:
        HedgerowError: the file can't be read or has no sentences.
    """
    content = read_bytes(path, kind="a file of sentences", largest=LARGEST_FILE)
    table = open_bytes(content, path.name)
    column = named(table.columns, SENTENCE_NAMES)
    if column is None:
        raise HedgerowError(
            f"Expected a column such as 'text' in {table.name}, found {listed(table.columns)}; "
            "rename the one with the sentences."
        )
    return list(
        dict.fromkeys(text for row in table.rows() if (text := cell_text(row.cells.get(column))))
    )
