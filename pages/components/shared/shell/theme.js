// Follows "const chosen = …" (see markup.choose_theme). The key is that of Streamlit's own menu:
// stActiveTheme, the page's path, the version of what is kept; without one it follows the system.
{
  const base = location.pathname.replace(/[^/]*$/, "");
  for (const path of [base, ...chosen.pages.map((page) => base + page)]) {
    const key = `stActiveTheme-${path}-v2`;
    if (chosen.theme === "System") localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(chosen.theme));
  }
  location.reload();
}
