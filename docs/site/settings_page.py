"""The page about environment variables, and the file `.env.example`."""

import textwrap

from db.settings import HUB_TOKEN, Settings, variable

_HEAD = f"""\
# Settings

Hedgerow reads the settings of a machine from the environment, or from a file `.env` in the folder
in which you start it. The environment takes precedence. Copy `.env.example` to begin with. This
page is generated from the code.

`hedgerow settings` and the Settings page show the current values; keys and tokens appear only as
set or not set. The settings of a *project*, such as the Levenshtein threshold, are in its database:
change them on the Settings page or with `hedgerow settings set`.

The client of the model hub reads `{HUB_TOKEN}`, and Streamlit reads its options from variables that
begin with `STREAMLIT_`.

| variable | meaning |
|---|---|
"""

_EXAMPLE_HEAD = """\
# Settings of this machine. Copy this file to .env in the folder in which you start Hedgerow. Remove
# the '#' in front of a setting and fill in its value. Keep .env private: it can contain keys.
# 'make docs' generates this file.
"""


def settings_page() -> str:
    """A row for each setting, in Markdown."""
    return _HEAD + "".join(
        f"| `{variable(name)}` | {field.description} |\n"
        for name, field in Settings.model_fields.items()
    )


def env_example() -> str:
    """All settings with their descriptions, commented out, in the format of `.env`."""
    return _EXAMPLE_HEAD + "".join(
        f"\n{_commented(field.description or '')}\n#{variable(name)}=\n"
        for name, field in Settings.model_fields.items()
    )


def _commented(text: str) -> str:
    return textwrap.fill(text, 100, initial_indent="# ", subsequent_indent="# ")
