"""A description of what Run will do and how long it takes."""

from collections.abc import Sequence

from curation.formatting import counted
from curation.generation.prices import dollars
from curation.generation.request import Budget
from pages.components.benchmarks.general_choice import General
from pages.components.shared.runs.progress_view import duration
from training.benchmarks.runs.cost_forecast import BenchmarkPlan, Chats, ModelPlan
from training.models.display_names import short_name


def promise(
    plan: BenchmarkPlan, *, benchmarks: int, general: General, budget: Budget, busy: bool
) -> str:
    """What it measures, how long that takes, and what it costs."""
    what = []
    if benchmarks:
        what.append(counted(benchmarks, "benchmark") + _sizes(plan))
    if general.number:
        what.append(counted(general.number, "task") + " of mteb" + _takes(general))
    if general.language_tasks:
        what.append(counted(len(general.language_tasks), "task") + " of lm_eval")
    sentences = [f"Runs {counted(len(plan.models), 'model')} on {' and '.join(what)}."]
    if benchmarks:
        sentences += [_unknown(plan.unknown), _time(plan, alone=not general.any)]
        chats = [(model, model.chats) for model in plan.models if model.chats and plan.items]
        sentences += [_asked(model, asked, budget) for model, asked in chats]
    sentences.append("Each result is stored as soon as it is ready. You can close the browser.")
    if busy:
        sentences.append("This run starts when the current one has ended.")
    return " ".join(filter(None, sentences))


def _sizes(plan: BenchmarkPlan) -> str:
    if not plan.items:
        return ""
    parts = (
        counted(plan.items, "item"),
        f"{plan.questions:,} {'query' if plan.questions == 1 else 'queries'}",
        counted(plan.texts, "text"),
    )
    return f" ({', '.join(parts)})"


def _takes(general: General) -> str:
    """Single tasks have no time estimate."""
    if not general.takes:
        return ""
    return f" ({general.takes} with a small encoder on two CPU cores)"


def _unknown(titles: Sequence[str]) -> str:
    """Benchmarks whose data is missing or unreadable; the run reports the details."""
    names = " and ".join(titles)
    return f"Not included, because the data is missing or can't be read: {names}." if names else ""


def _time(plan: BenchmarkPlan, *, alone: bool) -> str:
    """The time for models that run locally, separately if there are several.

    Args:
        alone: whether nothing but the benchmarks is measured.
    """
    if not plan.items:
        return ""
    known = [(model, model.seconds) for model in plan.models if model.seconds is not None]
    timed = [(model, seconds) for model, seconds in known if seconds and not model.chats]
    untimed = [model for model in plan.models if model.seconds is None and not model.chats]
    sentences = []
    total = sum(seconds for _, seconds in timed)
    only = alone and not plan.unknown
    whole = "This takes" if only else "The benchmarks take"
    if len(timed) == 1:
        whose = f" with {short_name(timed[0][0].name)}" if len(plan.models) > 1 else ""
        sentences.append(f"{whole} {duration(total)}{whose}.")
    elif timed:
        spans = {short_name(model.name): duration(s) for model, s in timed}
        each = ", ".join(f"{span} for {name}" for name, span in spans.items())
        detail = "" if set(spans.values()) == {duration(total)} else f": {each}"
        sentences.append(f"{whole} {duration(total)} in total{detail}.")
    if untimed:
        new = " and ".join(short_name(model.name) for model in untimed)
        sentences.append(f"There is no time estimate for {new} before the first run.")
    return " ".join(sentences)


def _asked(model: ModelPlan, chats: Chats, budget: Budget) -> str:
    """The prompts and the cost of a chat model."""
    tokens = f"about {_round(chats.tokens_in):,} input and {_round(chats.tokens_out):,} output"
    text = f"{short_name(model.name)} gets {counted(chats.prompts, 'prompt')} ({tokens} tokens)"
    if model.seconds:
        text += f", takes {duration(model.seconds)}"
    if chats.cost is None:
        return f"{text}."
    text += f", and costs about {dollars(chats.cost)}"
    if chats.most is not None:
        text += f" with one-word answers, {dollars(chats.most)} with answers of maximum length"
    worst = chats.cost if chats.most is None else chats.most
    if budget.money is not None and worst > budget.money:
        sure = "pauses at" if chats.cost > budget.money else "pauses if it reaches"
        return f"{text}. The run {sure} {dollars(budget.money)}."
    if budget.calls is not None and chats.prompts > budget.calls:
        return f"{text}. The run pauses after {budget.calls:,} calls."
    return f"{text}."


def _round(number: float) -> int:
    """Round to two significant digits."""
    digits = len(str(round(number)))
    return int(round(number, min(0, 2 - digits)))
