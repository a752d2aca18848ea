"""Messages for wrong usage, and for faults in the program itself."""

import tempfile
import traceback

import typer


class WrongUsage(typer.BadParameter):
    """An argument error from Typer or pydantic as one plain line."""

    def __init__(self, error: typer.BadParameter) -> None:
        # Typer only loads pydantic to convert an argument; help does not need it.
        from pydantic import ValidationError  # noqa: PLC0415

        from curation.validation import complaint  # noqa: PLC0415

        if isinstance(cause := error.__cause__, ValidationError):
            error.message = f"{complaint(cause)}."
        super().__init__(" ".join(error.format_message().split()), error.ctx)

    def format_message(self) -> str:
        return self.message


def fault(error: Exception) -> str:
    """One sentence about a fault; the traceback is saved to a separate file for a bug report."""
    reason = str(error).strip().partition("\n")[0]
    what = f"{type(error).__name__}{f': {reason}' if reason else ''}"
    return f"Internal error in Hedgerow ({what}); {_kept(error)}."


def _kept(error: Exception) -> str:
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="hedgerow-fault-", suffix=".log", delete=False, encoding="utf-8"
        ) as file:
            file.writelines(traceback.format_exception(error))
        return f"please report it with the traceback in {file.name}"
    except (OSError, UnicodeError) as unwritten:
        return f"please report it (its traceback could not be saved: {unwritten})"
