// Set Streamlit's theme for all pages and reload this one. The key is that of Streamlit's own menu:
// stActiveTheme, the page's path, and a version. Without a stored value, Streamlit follows the system.
export default function ({ data }) {
  const base = location.pathname.replace(/[^/]*$/, "");
  for (const path of [base, ...data.pages.map((page) => base + page)]) {
    const key = `stActiveTheme-${path}-v2`;
    if (data.theme === "System") localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(data.theme));
  }
  location.reload();
}
