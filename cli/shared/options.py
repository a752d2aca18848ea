"""What the options of the commands are called that fill a request."""

from curation.validation import FieldPath, field_of, in_words

_OTHERWISE_CALLED = {
    "budget.money": "--budget",
    "budget.calls": "--max-calls",
    "name": "--model",
}


def as_cap(place: FieldPath) -> str:
    """The same for the values of a budget by itself."""
    return as_option(("budget", *place))


def as_option(place: FieldPath) -> str:
    """The option that a value of a request comes from, such as '--base-url'."""
    field = field_of(place)
    if field in ("selection", "budget"):  # several options together
        return in_words(place)
    return _OTHERWISE_CALLED.get(field, f"--{field.rpartition('.')[2].replace('_', '-')}")
