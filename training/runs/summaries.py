"""One sentence about the result of a finished run, for each kind of run."""

from curation.formatting import counted
from curation.generation.prices import dollars, spent_by
from curation.generation.run_report import in_words
from db.execution import Result
from db.models import RunState


def nothing(result: Result) -> str:
    """No sentence, for kinds of runs whose results need none."""
    return ""


def calls_made(result: Result) -> str:
    """The number of calls that succeeded, their cost, and what was removed from answers."""
    done, failed = result["done"], result["failed"]
    text = f"{done:,} of {counted(done + failed, 'call')} succeeded"
    if not result["calls"]:
        return f"{text}; no requests were sent."
    text = f"{text}; {counted(result['calls'], 'request')} cost {spent_by(result)}."
    return f"{text} {in_words(result.get('removed', {}))}".rstrip()


def opinions(result: Result) -> str:
    return f"The reviewer is {result['reviewer']}. {calls_made(result)}"


def sampled(result: Result) -> str:
    return f"{counted(len(result['variants']), 'variant')} are ready for blind review."


def loaded(result: Result) -> str:
    accepted = f"; the rule accepted {result['accepted']:,}" if result["accepted"] else ""
    added = (
        f"added {counted(result['anchors'], 'anchor')} and {counted(result['variants'], 'variant')}"
        if result["anchors"] or result["variants"] or result["decisions"]
        else "nothing was missing"
    )
    return f"{result['source']}: {added}{accepted}."


def imported(result: Result) -> str:
    return (
        f"{result['file']}: added {counted(result['anchors'], 'anchor')}, "
        f"{counted(result['variants'], 'variant')} and {counted(result['decisions'], 'verdict')}."
    )


def measures(result: Result) -> str:
    return (
        f"Measured {counted(result['measured'], 'distance')} and "
        f"{counted(result['cosines'], 'cosine')}. Encoder: {result['encoder']}."
    )


def embeddings(result: Result) -> str:
    return f"Computed {counted(result['embeddings'], 'embedding')} with {result['encoder']}."


def giveaways(result: Result) -> str:
    totals = {what: guess["total"] for what, guess in result["guesses"].items()}
    text = ", ".join(
        f"the {what} is guessed correctly in {total['accuracy']:.0%} of cases (chance: "
        f"{total['chance']:.0%})"
        for what, total in totals.items()
    )
    source = f" of {result['source']}" if result.get("source") else ""
    return f"Without the anchor, {text}; {counted(result['records'], 'variant')}{source}."


def export(result: Result) -> str:
    return f"Release {result['release']} is in {result['folder']}. The zip file is {result['zip']}."


def push(result: Result) -> str:
    seen = "private" if result["private"] else "public"
    what = result["pushed"].capitalize()
    return f"{what} is at {result['url']} ({seen}), commit {result['commit'][:12]}."


def benchmarks(result: Result) -> str:
    return f"Measured {counted(result['measured'], 'result')}."


def comparison(result: Result) -> str:
    models = counted(len(result["measured"]), "model")
    return f"Compared {models} on {counted(result['of'], 'item')}."


def trained(result: Result) -> str:
    minutes, seconds = divmod(round(result["seconds"]), 60)
    by = f" with the “{result['preset']}” preset" if result.get("preset") else ""
    return (
        f"Trained{by} on {result['triples']:,} triples of {result['anchors']:,} anchors (release "
        f"{result['release']}): {result['steps']:,} steps, {minutes} min {seconds} s with "
        "evaluation."
    )


def finetuned(result: Result) -> str:
    before, after = result["before"], result["after"]
    taught = counted(result["data"]["trained_on"], "pair")
    return (
        f"Finetuned a {result['architecture']} on {taught} of {result['data']['name']}. It ranks "
        f"{after['nevir']:.1%} of {counted(result['data']['held_out'], 'held-out pair')} "
        f"correctly (before: {before['nevir']:.1%}); retrieval (MRR) {after['reranking']:.3f} "
        f"(before: {before['reranking']:.3f})."
    )


def finetuned_at_provider(result: Result) -> str:
    cost = result["cost"]
    paid = "" if cost is None else f" for about {dollars(cost)}"
    return (
        f"Finetuned {result['base']} on {counted(result['train'], 'question pair')} of release "
        f"{result['release']}{paid}. Its name at the provider is {result['fine_tuned_model']}."
    )


def language_model(result: Result) -> str:
    before, after, pairs = result["before"], result["after"], result["pairs"]
    text = (
        f"Finetuned {result['base']} on {counted(pairs['train'], 'question pair')} of release "
        f"{result['release']} (arm '{result['arm']}'): {counted(result['steps'], 'step')}."
    )
    if not after:
        return text
    return (
        f"{text} It answers {after['right']:.1%} of "
        f"{counted(pairs['validation'], 'validation question')} correctly (before: "
        f"{before['right']:.1%})."
    )


def study(result: Result) -> str:
    members = result["members"]
    done = sum(state == RunState.DONE for state in members.values())
    return (
        f"{done} of its {counted(len(members), 'training')} succeeded: runs {', '.join(members)}."
    )


def tradeoff(result: Result) -> str:
    return f"Measured the trade-off of run {result['training']}."


def saved_point(result: Result) -> str:
    return f"Saved the model as {result['name']!r} in {result['model']}."


def reordered(result: Result) -> str:
    return f"Sorted the queues; {counted(result['variants'], 'variant')} moved."


def recounted(result: Result) -> str:
    return f"Counted the verdicts; {counted(result['variants'], 'variant')} changed status."


def backed_up(result: Result) -> str:
    files = counted(result["files"], "artifact") if result["files"] is not None else "no artifacts"
    return f"Backup saved as {result['path']}. It contains the database and {files}."


def checked(result: Result) -> str:
    if result["clean"]:
        return "The check found no problems."
    wrong = [f["title"] for f in result["findings"] if f["open"]]
    return f"The check found problems: {', '.join(wrong).lower()}."
