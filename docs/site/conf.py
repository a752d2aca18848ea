"""How Sphinx builds the site; `building.py` calls it."""

project = "Hedgerow"
html_title = "Hedgerow"
html_theme = "furo"
# The app's colours (cli/streamlit.toml).
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#1d4d2b",
        "color-brand-content": "#1f6a4a",
        "color-brand-visited": "#1f6a4a",
    },
    "dark_css_variables": {
        "color-brand-primary": "#8fcf9f",
        "color-brand-content": "#8fcf9f",
        "color-brand-visited": "#8fcf9f",
    },
}
html_static_path = ["static"]
html_css_files = ["site.css"]
html_favicon = "../../pages/components/shared/shell/icon.svg"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
# Links such as studies.md#studies lead to headings, as they do on GitHub.
myst_heading_anchors = 4
# Two hyphens can begin an option, and quotation marks can be part of an example.
smartquotes = False
# Blocks without a language contain commands.
highlight_language = "sh"

# In docstrings, `name` is code.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
# The reference can be built without loading PyTorch.
autodoc_mock_imports = ["sentence_transformers", "torch", "transformers"]
# An attribute described in a docstring needs no second entry.
napoleon_use_ivar = True
add_module_names = False
# Types of other packages, and our own that are not in the reference.
nitpick_ignore_regex = [("py:.*", r"(?!hedgerow\.).*"), ("py:class", r"hedgerow\..*")]
