"""Database errors as one sentence that says what to do.

The error codes of SQLite and PostgreSQL select the sentence. It quotes the first line of the
reason, but never a statement, a value or a password.
"""

from sqlalchemy import Engine
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from db.errors import HedgerowError

_BY_SQLITE_NAME = {
    "SQLITE_BUSY": "busy",
    "SQLITE_LOCKED": "busy",
    "SQLITE_FULL": "full",
    "SQLITE_READONLY": "unwritable",
    "SQLITE_CANTOPEN": "unwritable",
    "SQLITE_PERM": "unwritable",
    "SQLITE_IOERR_SHMSIZE": "full",  # no space for the -shm file
    "SQLITE_IOERR": "broken",
    "SQLITE_CORRUPT": "damaged",
    "SQLITE_NOTADB": "no database",
    "SQLITE_CONSTRAINT": "contradicted",
}
_BY_POSTGRESQL_CLASS = {
    "08": "away",  # connection
    "28": "refused",  # login
    "3D": "refused",  # no such database
    "57": "away",  # shut down by its administrator
    "53": "full",
    "58": "broken",
    "XX": "damaged",
    "55": "busy",
    "40": "busy",  # deadlock, serialization
    "25": "unwritable",
    "23": "contradicted",
}
_BY_POSTGRESQL_CODE = {"42501": "forbidden", "42P01": "incomplete", "42703": "incomplete"}

_LOGIN = ("authentication failed", "no password supplied", "does not exist", "pg_hba.conf")

_SENTENCES = {
    "busy": "The database was busy for {seconds} seconds. Nothing was changed; please retry.",
    "full": "The disk is full: the database {where} cannot grow ({reason}); free some space, "
    "then retry.",
    "unwritable": "The database {where} cannot be written ({reason}); free some space, or check "
    "the permissions of its folder, its file and the two files next to it (-wal, -shm), then "
    "retry.",
    "broken": "The disk under the database {where} fails ({reason}); copy the database to another "
    "disk.",
    "damaged": "The database {where} is damaged ({reason}); stop Hedgerow, move the file and its "
    "log (-wal) away, and restore a backup.",
    "no database": "{where} cannot be read as a database ({reason}); replace it with a backup, "
    "or use another working directory.",
    "contradicted": "The database refused a change that conflicts with the stored data ({reason}). "
    "Nothing was changed; reload and retry.",
    "away": "The database {where} cannot be reached ({reason}); check that its server is running, "
    "then retry.",
    "refused": "The database {where} refuses the connection ({reason}); check "
    "HEDGEROW_DATABASE_URL.",
    "forbidden": "The database {where} does not permit this ({reason}); ask its administrator for "
    "permission.",
    "incomplete": "The database {where} is missing a table or column ({reason}). If Hedgerow has "
    "just been upgraded, restart it; otherwise restore a backup or use another database.",
}
_OTHER = "The database {where} gave an unexpected answer: {reason}."


def shown_address(url: URL) -> str:
    """A database's address without passwords, for display and logs."""
    hidden = {name: "***" for name in url.query if _is_secret(name)}
    return url.update_query_dict(hidden).render_as_string(hide_password=True)


def explain(engine: Engine, error: DBAPIError, *, busy_seconds: float) -> HedgerowError | None:
    """The error as a sentence; None if it is a bug in the program.

    Args:
        busy_seconds: how long a writer waits for another one, in seconds.
    """
    kind = _kind(error)
    if kind is None:
        return None
    sentence = _SENTENCES.get(kind, _OTHER).format(
        where=shown_address(engine.url),
        reason=_reason(error, engine.url),
        seconds=round(busy_seconds),
    )
    return HedgerowError(sentence)


def is_busy(error: DBAPIError) -> bool:
    """Whether others have written for so long that this writer gave up."""
    return _kind(error) == "busy"


def _kind(error: DBAPIError) -> str | None:
    name = getattr(error.orig, "sqlite_errorname", None)
    if name == "SQLITE_CONSTRAINT_TRIGGER":  # a change of append-only rows
        return None
    if name == "SQLITE_ERROR" and str(error.orig).startswith("no such"):
        return "incomplete"
    if name is not None:
        return next((kind for key, kind in _BY_SQLITE_NAME.items() if name.startswith(key)), "")
    code = getattr(error.orig, "sqlstate", None)
    if code is not None:
        return _BY_POSTGRESQL_CODE.get(code) or _BY_POSTGRESQL_CLASS.get(code[:2])
    if error.connection_invalidated or type(error.orig).__name__ == "OperationalError":
        # PostgreSQL's client has no code for errors of a connection.
        return "refused" if any(part in str(error.orig) for part in _LOGIN) else "away"
    return None


def _reason(error: DBAPIError, url: URL) -> str:
    text = " ".join(str(error.orig).strip().splitlines()[:1]).rstrip(".: ")
    for secret in _passwords(url):
        text = text.replace(secret, "***")
    return text or type(error.orig).__name__


def _passwords(url: URL) -> list[str]:
    values = [url.password or ""]
    for name, value in url.query.items():
        if _is_secret(name):
            values += [value] if isinstance(value, str) else value
    return [value for value in values if value]


def _is_secret(name: str) -> bool:
    return "password" in name.lower()
