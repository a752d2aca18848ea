"""Train: finetune an encoder or a language model, follow it, and see what it changed."""

from db.models import Run
from db.runs import UNFINISHED, list_runs
from pages.components.shared.shell import frame, open_project
from pages.components.train import kind_choice, live, own_pairs, section_choice
from pages.components.train.language import section_choice as language_choice
from pages.components.train.language import sections
from pages.components.train.ranking import section as nevir
from pages.components.train.results import runs_table, summary_section
from pages.components.train.section_choice import SECTION, SECTIONS
from pages.components.train.start import bundled_texts, training_form
from pages.components.train.studies import request_form
from training.recipe.plan import KIND
from training.studies.members import study_of

SHOWN_RUNS = 300


def _runs() -> list[Run]:
    return open_project.ask(list_runs, kind=KIND, limit=SHOWN_RUNS)


def _train(runs: list[Run]) -> None:
    """Current and latest runs, and the form for the next one; studies have their own section."""
    alone = [run for run in runs if study_of(run) is None]
    live.draw(alone)
    busy = request_form.mention() or any(run.state in UNFINISHED for run in alone)
    training_form.box(busy=busy)
    own_pairs.box()
    bundled_texts.draw()


def _encoder() -> None:
    """The sections for text encoders."""
    section = frame.section(SECTIONS, key=SECTION)
    if section != section_choice.RESULTS:
        section_choice.leave_results()
    found = _runs()
    match section:
        case section_choice.RESULTS:
            summary_section.draw([run for run in found if run.state not in UNFINISHED])
        case section_choice.STUDIES:
            request_form.show()
        case section_choice.RUNS:
            runs_table.show()
        case section_choice.NEVIR:
            nevir.show()
        case _:
            _train(found)


frame.begin(
    "Train",
    "Finetune a text encoder or a language model on the accepted variants and see how well it "
    "handles negation.",
)
if kind_choice.choose() == kind_choice.LANGUAGE:
    if sections.show() != language_choice.RESULTS:
        section_choice.leave_results()
else:
    _encoder()
