"""The available providers: a server with OpenAI's protocol, the rules, and plug-ins."""

from __future__ import annotations

from collections.abc import Iterable

from curation.corpora.corpus import CORPORA
from curation.decisions.variant_rows import PERSON
from curation.decisions.variant_rows import PROVIDER as IMPORTED
from curation.generation.prompts import PROMPTS
from curation.generation.providers.interface import Provider
from curation.generation.providers.rules import Rules
from curation.generation.request import OPENAI
from curation.plug_ins import PlugInGroup, PlugIns, failures_of
from db.errors import HedgerowError

BUILT_IN: dict[str, type[Provider]] = {Rules.name: Rules}
"""The built-in providers except `OPENAI`, which alone has prompts, budgets and batches."""

PLUG_INS = PlugInGroup(
    "hedgerow.providers",
    Provider,  # type: ignore[type-abstract]
    noun="provider",
    # Variants by people, imports and corpora have these names as their provider; the last ones are
    # names of prompts.
    reserved=(OPENAI, *BUILT_IN, PERSON, IMPORTED, *CORPORA, *PROMPTS),
    called="name",
    attributes={"label": str, "purpose": str, "types": tuple, "free": bool, "model": str},
    methods=("write",),
)


def provider_names() -> tuple[str, ...]:
    """Return the names of all providers, including plug-ins. No plug-in is imported."""
    return (OPENAI, *BUILT_IN, *PLUG_INS.names())


def provider_class(name: str) -> type[Provider]:
    """Return the class of a provider other than `OPENAI`.

    Raises:
        HedgerowError: there is no such provider, or it is a plug-in that can't be loaded.
    """
    if built_in := BUILT_IN.get(name):
        return built_in
    if name in PLUG_INS.names():
        return PLUG_INS.load(name)
    raise HedgerowError(
        f"Expected a provider ({', '.join(provider_names())}), found {name[:60]!r}."
    )


def provider(name: str) -> Provider:
    """Return the provider with this name, ready to write.

    Raises:
        HedgerowError: as in `provider_class`, or it can't be constructed.
    """
    kind = provider_class(name)
    if name in BUILT_IN:
        return kind()
    with failures_of(name):
        return kind()


def writer_of(made: Provider) -> str:
    """Return the text recorded as the model of variants; for a plug-in, with its package."""
    package, version = PLUG_INS.package_of(made.name)
    return ", ".join(filter(None, [made.model, f"{package} {version}".strip()]))[:200]


def installed_providers() -> PlugIns[Provider]:
    """Import all providers except `OPENAI`; return them, and what is wrong with the others."""
    found = PLUG_INS.load_all()
    return PlugIns(BUILT_IN | found.classes, found.problems)


def not_written(name: str, type_ids: Iterable[str]) -> str:
    """Say what to do about types that a provider does not write."""
    return (
        f"The provider {name!r} does not write {', '.join(type_ids)}; use a model for these types."
    )
