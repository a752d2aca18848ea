// A page that was open while the server was started anew, or while the laptop was closed, shows
// cards of a session that is gone, and Streamlit draws it anew only if something was running. So
// once the connection is back, the page is asked for, by the key that Streamlit has for it.
if (!window.hedgerowReconnect) {
  window.hedgerowReconnect = true;
  const app = document.querySelector('[data-testid="stApp"]');
  const connected = () => app.dataset.testConnectionState === "CONNECTED";
  let wasConnected = connected();
  const redraw = () => {
    for (const type of ["keydown", "keyup"])
      app.dispatchEvent(new KeyboardEvent(type, { key: "r", code: "KeyR", keyCode: 82, bubbles: true }));
  };
  new MutationObserver(() => {
    if (connected() && !wasConnected) setTimeout(redraw, 100); // once it has heard of the connection
    wasConnected = connected();
  }).observe(app, { attributeFilter: ["data-test-connection-state"] });
}
