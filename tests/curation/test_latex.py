"""Hostile text in LaTeX is printed literally."""

from curation.latex import escaped


def test_hostile_text_is_printed_and_not_run() -> None:
    assert escaped("\\input{x}\n%$_^~") == (
        r"\textbackslash{}input\{x\} \%\$\_\textasciicircum{}\textasciitilde{}"
    )


def test_a_cell_is_not_an_argument_of_the_line_before() -> None:
    assert escaped("[2cm] * \N{RIGHT-TO-LEFT OVERRIDE}x") == "{[}2cm] {*} x"
