"""Which split a text belongs to, and other shares that depend only on its uid.

The same text is in the same split in every project, whoever adds it and when.
"""

import hashlib
from typing import Literal

SplitName = Literal["train", "validation", "test"]

SPLIT_SALT = "hedgerow/split/1:"
PENDING_SALT = "hedgerow/holdout/1:"
"""Different from SPLIT_SALT, so that the pending fifth is spread evenly over the three splits."""

OVERLAP_SALT = "hedgerow/overlap/1:"
RANDOM_SALT = "hedgerow/random/1:"
"""The salt of the key that orders the random queue."""

VALIDATION_SHARE = 0.05
TEST_SHARE = 0.05
PENDING_SHARE = 0.2


def bucket(uid: str, *, salt: str) -> float:
    """Return a number in [0, 1) that looks random but depends only on salt and uid.

    It uses the leading 53 bits of SHA-256(salt + uid), the precision of a float, so 1.0 is never
    reached.
    """
    digest = hashlib.sha256((salt + uid).encode("utf-8")).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53


def split_of(anchor_uid: str) -> SplitName:
    """Return the release split of an anchor and all its variants: 90, 5 and 5 percent."""
    position = bucket(anchor_uid, salt=SPLIT_SALT)
    if position < TEST_SHARE:
        return "test"
    if position < TEST_SHARE + VALIDATION_SHARE:
        return "validation"
    return "train"


def in_pending_fifth(anchor_uid: str) -> bool:
    """Whether a starter anchor is left undecided, as work for reviewers and as held-out data."""
    return bucket(anchor_uid, salt=PENDING_SALT) < PENDING_SHARE
