"""The Python reference: a list of names. Sphinx adds their docstrings."""

from collections.abc import Iterable

import hedgerow
from hedgerow import losses, plug_ins

_HEAD = """\
Python reference
================

This page is generated from the docstrings. :doc:`Hedgerow from Python <python>` is a tutorial. In
the examples, ``example_project()`` is an open project with the anchor *The bridge is safe.*, a
pending variant and two accepted ones.

The package ``hedgerow``
------------------------

"""

_PLUG_INS = """\
Plug-ins
--------

A package subclasses these classes to extend Hedgerow. :doc:`plug_ins` has an example of each.

"""

_LOSSES = """\
Losses for your own training scripts
------------------------------------

These need nothing else from Hedgerow. :doc:`training` has an example.

"""

_NOT_OURS = "object, tuple, BaseException, Module"
"""Base classes whose methods the reference leaves out."""

_FIRST = ("open", "restore", "Project")


def python_page() -> str:
    """A directive for each public name, in reStructuredText."""
    others = [name for name in hedgerow.__all__ if name not in _FIRST]
    for_plug_ins = [name for name in plug_ins.__all__ if name not in others]
    return "".join(
        (
            _HEAD,
            _entries("hedgerow", _FIRST),
            _entries("hedgerow.anchors", ["Anchors"]),
            _entries("hedgerow.variants", ["Variants"]),
            _entries("hedgerow", others),
            _PLUG_INS,
            _entries("hedgerow.plug_ins", for_plug_ins),
            _LOSSES,
            _entries("hedgerow.losses", losses.__all__),
        )
    )


def _entries(module: str, names: Iterable[str]) -> str:
    return "".join(_entry(module, name) for name in names)


def _entry(module: str, name: str) -> str:
    """A function, or a class with its methods and those of our own base classes."""
    if name.islower():
        return f".. autofunction:: {module}.{name}\n\n"
    options = ":members:\n   :special-members: __call__\n   :inherited-members: " + _NOT_OURS
    return f".. autoclass:: {module}.{name}\n   {options}\n\n"
