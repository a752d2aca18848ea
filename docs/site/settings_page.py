"""The settings of a machine: the page about them, and the file `.env.example`."""

import textwrap

from db.settings import HUB_TOKEN, Settings, variable

_HEAD = f"""\
# Settings

A machine has these settings. Hedgerow reads them from the environment, or from a file `.env` in the
folder that it is started in; `.env.example` is one to begin with. The environment wins. This page
is made from the code.

`hedgerow settings` shows what each of them is now, and the Settings page in the app does, too. Keys
and tokens are shown only as set or not set. The settings of a *project*, such as the Levenshtein
threshold, are in its database: change them on the Settings page or with `hedgerow settings set`.

The model hub's own client reads `{HUB_TOKEN}`, and Streamlit reads its options from variables that
begin with `STREAMLIT_`.

| variable | meaning |
|---|---|
"""

_EXAMPLE_HEAD = """\
# Settings of this machine: copy this file to .env in the folder that you start Hedgerow in.
# Remove the '#' in front of a setting, and fill in its value. Keep .env to yourself: it may hold
# keys. This file is made by 'make docs'.
"""


def settings_page() -> str:
    """A row for each setting, in Markdown."""
    return _HEAD + "".join(
        f"| `{variable(name)}` | {field.description} |\n"
        for name, field in Settings.model_fields.items()
    )


def env_example() -> str:
    """Each setting with its description, commented out, as `.env` would have it."""
    return _EXAMPLE_HEAD + "".join(
        f"\n{_commented(field.description or '')}\n#{variable(name)}=\n"
        for name, field in Settings.model_fields.items()
    )


def _commented(text: str) -> str:
    return textwrap.fill(text, 100, initial_indent="# ", subsequent_indent="# ")
