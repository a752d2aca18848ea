"""What a command says of wrong usage, and of a fault in the program itself."""

import tempfile
import traceback

import typer


class WrongUsage(typer.BadParameter):
    """What Typer and pydantic say of an argument, as one line in plain words."""

    def __init__(self, error: typer.BadParameter) -> None:
        # Typer loads pydantic only where an argument is converted; help does without.
        from pydantic import ValidationError  # noqa: PLC0415

        from curation.validation import complaint  # noqa: PLC0415

        if isinstance(cause := error.__cause__, ValidationError):
            error.message = f"{complaint(cause)}."
        super().__init__(" ".join(error.format_message().split()), error.ctx)

    def format_message(self) -> str:
        return self.message


def fault(error: Exception) -> str:
    """One sentence; the traceback is kept in a file of its own, for a report."""
    reason = str(error).strip().partition("\n")[0]
    what = f"{type(error).__name__}{f': {reason}' if reason else ''}"
    return f"Hedgerow itself failed ({what}); {_kept(error)}."


def _kept(error: Exception) -> str:
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="hedgerow-fault-", suffix=".log", delete=False, encoding="utf-8"
        ) as file:
            file.writelines(traceback.format_exception(error))
        return f"please report it with the traceback in {file.name}"
    except (OSError, UnicodeError) as unwritten:
        return f"please report it (its traceback could not be kept: {unwritten})"
