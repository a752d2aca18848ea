"""The browser app: page config, sign-in, navigation."""

from pages.components.shared.shell import current_user, error_messages, frame

error_messages.guard_callbacks()
page = frame.navigate()
with error_messages.shown_as_one_sentence():
    error_messages.show_callback_errors()
    current_user.begin(page)
    frame.app_runs()
    page.run()
