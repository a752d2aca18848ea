"""One variant type: its definition, check, versions and actions, and a trial on a sentence pair."""

from collections.abc import Sequence

import streamlit as st

from curation.content_uids import canonical
from curation.diagnostics.surface import CLASS_LABELS
from curation.editing.own_types import restore_type, retire_type, type_versions
from curation.editing.type_drafts import MAX_EXAMPLE, OwnType, sketch, try_out
from curation.generation.prompts import fill, newest_template, sample_cues, types_of
from curation.generation.request import Which
from curation.taxonomy.built_in import VariantType
from curation.taxonomy.cues import cue_list, known_cue
from curation.taxonomy.surface_check import ROLES, SurfaceCheck
from db.models import TypeVersion
from pages.components.shared import card, formatting, guidance, links
from pages.components.shared.shell import count_cache, current_user, open_project

CHANGE, SHOWN = "own-type-change", "own-type-told"
"""Session keys: the id of the type whose form is open, and the last action."""


def draw(entry: VariantType, variants: int) -> None:
    """Show the type.

    Args:
        variants: number of its variants in use.
    """
    # The guideline on the right, or below in a narrow window.
    with st.container(key="columns-type", gap="large"):
        with st.container():
            _facts(entry)
            _versions(entry)
            if entry.own:
                _acts(entry, variants)
            else:
                st.caption("Built-in types cannot be changed. Add your own type instead.")
        formatting.emit(guidance.guide(entry))


def _facts(entry: VariantType) -> None:
    st.text(f"{entry.id} · {entry.role}, {ROLES[entry.role].does} · version {entry.version}")
    st.text(entry.definition)
    cue = known_cue(entry.example, cue_list(entry)) if entry.needs_cue else None
    formatting.emit(card.pair(entry.example_anchor, entry.example, cue=cue))
    if not entry.imported:
        st.markdown("**In the prompt**")
        st.text(entry.prompt_line)
    st.markdown("**Surface check**")
    st.text("\n".join(in_words(entry.surface_check)))


def in_words(check: SurfaceCheck) -> list[str]:
    """The requirements of a surface check, one sentence each."""
    place = "in the main clause" if check.scope == "main_clause" else "in the sentence"
    sentences = []
    if check.require_cue:
        sentences.append(_cue_in_words(check.require_words))
    elif check.require_words:
        sentences.append(f"Must add {_one_of(check.require_words)}.")
    sentences += [f"Must add, {place}: {CLASS_LABELS[name]}." for name in check.require_new]
    sentences += [f"Must not add, {place}: {CLASS_LABELS[name]}." for name in check.forbid_new]
    if check.forbid_words:
        sentences.append(f"Must not add: {', '.join(check.forbid_words)}.")
    if check.require_replaced_content:
        sentences.append("Must replace a content word of the anchor.")
    if check.forbid_replaced_content:
        sentences.append("Must not replace content words of the anchor.")
    if check.forbid_reversed_content:
        sentences.append("Must not replace content words of the anchor with their antonyms.")
    sentences += [
        f"Must not add: {_each_once(rule.words)} (unless the anchor has "
        f"{_one_of(rule.anchor_has)})."
        for rule in check.forbid_words_unless
    ]
    if check.max_lost_content == 0:
        sentences.append("Must not drop content words of the anchor.")
    elif check.max_lost_content is not None:
        sentences.append(f"May drop up to {check.max_lost_content} content words of the anchor.")
    affixes = [f"{word}-" for word in check.negative_prefixes]
    affixes += [f"-{word}" for word in check.negative_suffixes]
    if affixes:
        sentences.append(f"Negative affixes: {', '.join(affixes)}.")
    return sentences or ["No surface check."]


def _cue_in_words(cues: Sequence[str]) -> str:
    if not cues:
        return "Must contain the hedge cue that the call asked for."
    if len(cues) == 1:
        return f"Must contain its hedge cue: {cues[0]}."
    return f"Must contain one of its {len(cues)} hedge cues."


def _one_of(words: Sequence[str]) -> str:
    return f"{'one of' if len(words) > 1 else 'this'}: {', '.join(words)}"


def _each_once(words: Sequence[str]) -> str:
    """The words without the punctuation that some patterns include ('any more.')."""
    return ", ".join(dict.fromkeys(word.rstrip(" .,") for word in words))


def _versions(entry: VariantType) -> None:
    versions = open_project.ask(type_versions, entry.id)
    if len(versions) < 2:
        return
    with st.expander(f"Versions in this project: {len(versions)}", icon=":material/history:"):
        for wording in versions:
            st.text(_wording(wording))


def _wording(wording: TypeVersion) -> str:
    check = " ".join(in_words(SurfaceCheck.model_validate(wording.surface_check)))
    return (
        f"Version {wording.version}, {formatting.local(wording.created_at):%Y-%m-%d %H:%M}: "
        f"{wording.label}\n"
        f"{wording.definition}\n{wording.example_anchor} → {wording.example}\n{check}"
    )


@current_user.for_leads()
def _acts(entry: VariantType, variants: int) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="type-acts"):
        if entry.retired:
            st.button(
                "Restore",
                key="type-restore",
                icon=":material/undo:",
                on_click=_set_retired,
                args=(entry, False),
            )
            st.text("This type and its variants are retired.")
            return
        if entry.imported:
            st.text(
                "Variants of this type can only be imported. Models and rules don't write them."
            )
        elif st.button("Generate variants", key="type-generate", icon=":material/edit_note:"):
            # The Generate page, with this type selected for all anchors.
            links.to_generate(Which.SLOTS, roles=[entry.role], types=[entry.id])
        st.button(
            "Change",
            key="type-change",
            icon=":material/edit:",
            on_click=st.session_state.update,
            args=({CHANGE: entry.id},),
        )
        st.button(
            "Retire",
            key="type-retire",
            icon=":material/inventory_2:",
            on_click=_set_retired,
            args=(entry, True),
        )
        st.caption(_consequence(variants))


def _consequence(variants: int) -> str:
    if not variants:
        return "If you retire it, runs no longer ask for it. You can restore it."
    its = "its variant" if variants == 1 else f"its {variants:,} variants"
    are = "is" if variants == 1 else "are"
    return (
        f"If you retire it, runs no longer ask for it, and {its} {are} left out of the queues and "
        "the next release. Nothing is deleted; you can restore it."
    )


def _set_retired(entry: VariantType, retired: bool) -> None:
    open_project.tell(retire_type if retired else restore_type, entry.id)
    count_cache.forget()
    st.session_state[SHOWN] = (
        f"{entry.label} and its variants are retired."
        if retired
        else f"{entry.label} and its variants are in use again."
    )


# -- Try a type: the result of its check on a sentence pair, and the prompt -----------------------


def try_type(wanted: OwnType, *, key: str, type_id: str = "") -> None:
    """Try the type on its example or on your own sentence pair.

    Args:
        type_id: the type that is being changed; '' for a new one.
    """
    entry = sketch(wanted)
    st.header("Try it", anchor=False)
    anchor, text = _pair(entry, key)
    if not anchor or not text:
        st.text("Enter an anchor and a variant to see the result of the check.")
    else:
        _show_result(entry, anchor, text)
    if entry.label and entry.definition:
        _prompt(entry, anchor, type_id)


def _pair(entry: VariantType, key: str) -> tuple[str, str]:
    left, right = st.columns(2, gap="medium")
    anchor = left.text_input(
        "Anchor",
        key=f"try-anchor-{key}",
        max_chars=MAX_EXAMPLE,
        placeholder=entry.example_anchor or "Same as the example",
    )
    text = right.text_input(
        "Variant",
        key=f"try-text-{key}",
        max_chars=MAX_EXAMPLE,
        placeholder=entry.example or "Same as the example",
    )
    return canonical(anchor) or entry.example_anchor, canonical(text) or entry.example


def _show_result(entry: VariantType, anchor: str, text: str) -> None:
    tried = try_out(entry, anchor=anchor, text=text)
    formatting.emit(card.pair(anchor, text, cue=tried.cue))
    cue = f" Its cue: {tried.cue}." if tried.cue else ""
    result = " ".join(tried.problems) or f"The check finds nothing wrong.{cue}"
    formatting.emit(card.message(result, warn=bool(tried.problems)))


def _prompt(entry: VariantType, anchor: str, type_id: str) -> None:
    """The prompt that asks for all types of this role, including this one."""
    template = open_project.ask(newest_template, entry.role)
    others = [t for t in types_of(entry.role, open_project.types()) if t.id != type_id]
    types = [*others, entry]
    cues = sample_cues(types, seed=0, anchor_uid="")
    with st.expander("Prompt", icon=":material/chat:"):
        st.code(
            fill(template, text=anchor or "The anchor.", types=types, cues=cues),
            language=None,
            wrap_lines=True,
        )
