"""Decimal numbers as text."""

from curation.decimals import decimal


def test_a_negative_number_has_a_minus_sign() -> None:
    assert decimal(-1.25, 1) == "−1.2"
    assert decimal(-0.5, 3, sign=True) == "−0.500"


def test_a_number_that_rounds_to_zero_has_no_minus_sign() -> None:
    assert decimal(-0.004, 2) == "0.00"


def test_a_positive_number_has_a_sign_only_on_request() -> None:
    assert decimal(0.5, 2) == "0.50"
    assert decimal(12.4, 0, sign=True) == "+12"
