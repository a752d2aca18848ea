"""How Sphinx builds the site; `building.py` calls it."""

project = "Hedgerow"
html_title = "Hedgerow"
html_theme = "furo"
html_favicon = "../../pages/components/shared/shell/icon.svg"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
# Links such as training.md#studies lead to headings, as they do on GitHub.
myst_heading_anchors = 4
# Two hyphens are an option's, and quotation marks may be examples.
smartquotes = False
# Blocks without a language hold commands.
highlight_language = "sh"

# In docstrings, `name` is code.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
# Pages of the reference need not load PyTorch.
autodoc_mock_imports = ["sentence_transformers", "torch", "transformers"]
# Attributes that a docstring describes need no second entry.
napoleon_use_ivar = True
add_module_names = False
# Other packages' types, and those of ours that are no part of the reference.
nitpick_ignore_regex = [("py:.*", r"(?!hedgerow\.).*"), ("py:class", r"hedgerow\..*")]
