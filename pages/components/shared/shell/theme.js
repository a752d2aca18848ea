// Has Streamlit draw all pages in a theme, and loads this one again. The key is that of Streamlit's own
// menu: stActiveTheme, the page's path, the version of what is kept. Without one it follows the system.
export default function ({ data }) {
  const base = location.pathname.replace(/[^/]*$/, "");
  for (const path of [base, ...data.pages.map((page) => base + page)]) {
    const key = `stActiveTheme-${path}-v2`;
    if (data.theme === "System") localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(data.theme));
  }
  location.reload();
}
