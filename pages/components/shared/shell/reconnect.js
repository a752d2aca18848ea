// A page that was open while the server was started anew, or while the laptop was closed, shows
// cards of a session that is gone, and Streamlit draws it anew only if something was running. So
// once the connection is back, the page is asked for, by the key that Streamlit has for it.
if (!window.hedgerowReconnect) {
  window.hedgerowReconnect = true;
  const app = document.querySelector('[data-testid="stApp"]');
  const connected = () => app.dataset.testConnectionState === "CONNECTED";
  const redraw = () => {
    if (!connected()) return;
    // A key press that waits for its answer would swallow this one.
    if (app.dataset.testScriptState === "rerunRequested") return void setTimeout(redraw, 100);
    for (const type of ["keydown", "keyup"])
      app.dispatchEvent(new KeyboardEvent(type, { key: "r", code: "KeyR", keyCode: 82, bubbles: true }));
  };
  let wasConnected = connected();
  new MutationObserver(() => {
    const returned = connected() && !wasConnected;
    wasConnected = connected();
    if (returned) setTimeout(redraw, 100);
  }).observe(app, { attributeFilter: ["data-test-connection-state"] });
}
