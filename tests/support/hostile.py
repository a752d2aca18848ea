"""Texts that would do something if they were treated as more than text.

Executed code sets ``window.hacked`` or opens a dialog. Loaded resources are requested from
``evil.example``. Tests send these texts through every input and output, and visit every page that
shows them.
"""

from curation.content_uids import canonical

FOREIGN = "evil.example"
"""The host that must never receive a request because of a text."""

_BIDI = "\u202eelbisrever\u202c \u2066isolated\u2069 \u200fmark\u200e \u061cletter"
_STACK = "Z" + "\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309\u030a\u030b" * 12
_WORD = "W" * 1900

TEXTS: dict[str, str] = {
    # HTML, SVG, and texts that break out of an element
    "script": "A <script>window.hacked=1</script> is closed.",
    "image error": 'The <img src=x onerror="window.hacked=1"> is broken.',
    "foreign image": f'It shows <img src="https://{FOREIGN}/pixel.png"> to all.',
    "svg load": '<svg onload="window.hacked=1"><circle r="9"/></svg> is round.',
    "iframe": '<iframe srcdoc="<script>parent.hacked=1</script>"></iframe> is a frame.',
    "javascript link": '<a href="javascript:window.hacked=1">Here</a> is a link.',
    "style closes the card": "</span></div></article><style>*{display:none}</style> is gone.",
    "style import": f"<style>@import 'https://{FOREIGN}/x.css';</style> is a style.",
    "comment": "It is <!-- hidden --> open --> and <![CDATA[ shut ]]> too.",
    "attribute": '" onmouseover="window.hacked=1" x=\'` autofocus onfocus=alert(1) is set.',
    "entities": "Salt &amp; pepper &lt;b&gt; &#60;i&#62; &nbsp; are spices.",
    "form": '<form><button formaction="javascript:alert(1)">Press</button></form> is a form.',
    "meta refresh": f'<meta http-equiv=refresh content="0;url=https://{FOREIGN}"> is head.',
    "mathml": "<math><mtext><table><mglyph><style><img src onerror=alert(1)> is maths.",
    "base": f'<base href="https://{FOREIGN}/"> is the base.',
    # Markdown and what Streamlit adds to it
    "markdown link": "[Click here](javascript:window.hacked=1) is blue.",
    "markdown image": f"![A picture](https://{FOREIGN}/markdown.png) is shown.",
    "markdown emphasis": "It is **bold**, *slanted*, ~~gone~~ and `code`.",
    "markdown heading": "# A heading is large.",
    "markdown list": "- one is first - two is second 1. three is third",
    "markdown table": "| a | b | |---|---| | 1 | 2 | is a table.",
    "markdown fence": "```html <script>window.hacked=1</script> ``` is a block.",
    "markdown quote": "> It is quoted. --- Title === is a rule.",
    "bare link": f"See https://{FOREIGN}/ and www.{FOREIGN} and a@{FOREIGN} is mail.",
    "latex": r"The sum $\frac{1}{0}$ and $$\int x$$ is \textbf{big}.",
    "latex link": rf"A $\href{{javascript:hacked=1}}{{x}}$ \url{{https://{FOREIGN}}} is set.",
    "streamlit colour": ":red[It is red] and :blue-background[it is blue] :rainbow[too].",
    "streamlit icon": ":material/delete: and :streamlit: and :smile: are icons.",
    "footnote": "It is noted.[^1] [^1]: below *[abbr]: hidden",
    # Unicode
    "bidirectional": f"It is {_BIDI} here.",
    "right to left": "הגשר בטוח and الجسر آمن are safe.",
    "zero width": "It is zero\u200bwidth\u2060 jo\u200cin\u200ded and so\u00adft\ufeff.",
    "combining stack": f"The letter {_STACK} is tall.",
    "emoji": "The family 👩‍👩‍👧‍👦 waves 🏳️‍🌈 and 👍🏽 is fine.",
    "tags": "The flag 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f is small.",
    "private use": "The sign \ue000 \U000f0000 and \ufffd and \ufdd0 is private.",
    "full width": "＜script＞window.hacked=1＜/script＞ is wide.",
    "ligatures": "The eﬃcient oﬀer of ﬁsh is ½ of Ⅷ.",
    "line separators": "One\u2028two\u2029three\u0085four is a line.",
    # Spreadsheets
    "formula": '=HYPERLINK("https://evil.example","Click") is a formula.',
    "formula call": "=cmd|' /C calc'!A0 is a call.",
    "plus": "+1+1 is two.",
    "minus": "-1+1 is nothing.",
    "at": "@SUM(1+1) is two.",
    "full-width formula": "＝1+1 is two.",
    "quoted formula": "'=1+1 is two.",
    "tab formula": "\t=1+1 is two.",
    "separators": 'One, "two"; three is\tfour.',
    # Templates, queries, paths, data
    "rich markup": f"[bold red]It is red[/] [link=https://{FOREIGN}]here[/link] [/] is open.",
    "template": "{{7*7}} ${7*7} #{7*7} <%= 7*7 %> {% raw %} is 49.",
    "format": "%s %(x)s %n {0} {} {x.__class__} is a format.",
    "vega": "datum.x + signal('alert(1)') is an \\n expression \\u0041.",
    "vega object": '{"signal": "alert(1)", "url": "https://evil.example/d.json"} is data.',
    "sql": "Robert'); DROP TABLE variant; -- is a pupil.",
    "path": "../../../etc/passwd and C:\\Windows\\..\\x and file:///etc/passwd is a path.",
    "json": '{"text": null, "label": [1, 2]} is an object.',
    "yaml": "--- !!python/object/apply:os.system ['true'] is a tag.",
    "shell": "`true` $(true) ; true && true | true > /dev/null is a line.",
    "prototype": "__proto__ constructor toString hasOwnProperty is a name.",
    "null": "null",
    "not a number": "NaN",
    "true": "True",
    "number": "1e309",
    "dunder": "{0.__init__.__globals__} is a secret.",
    # Length
    "long word": f"{_WORD} is long.",
    "long text": "It is a long sentence. " * 86,
    "many spaces": "It   is \u00a0\u00a0 far \u3000 apart.",
    "one character": "x",
}
"""Name → text. A user may store any of them, so nothing may refuse them."""

REFUSED: dict[str, str] = {
    "nothing": " \u200b\ufeff ",
    "nul": "It is \x00 nothing.",
    "bell": "It is \x07 loud.",
    "colour of a terminal": "It is \x1b[31mred\x1b[0m.",
    "link of a terminal": f"It is \x1b]8;;https://{FOREIGN}\x1b\\here\x1b]8;;\x1b\\.",
    "backspace": "It is good\x08\x08\x08\x08bad.",
    "delete": "It is \x7f gone.",
    "one byte escape": "It is \x9b31m red.",
    "lone surrogate": "It is \ud800 half.",
}
"""Name → text that is not a sentence. It is left out or refused with a reason, wherever it comes
from."""

HUGE = "W" * 100_000 + " is long."
"""Longer than any sentence. An import refuses it, and pages can show one that was stored
earlier."""


def stored() -> dict[str, str]:
    """Name → the stored form of each text."""
    return {name: canonical(text) for name, text in TEXTS.items()}
