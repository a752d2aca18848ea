"""The browser app: page config, sign-in, navigation."""

from pages.components.shared.shell import error_messages, frame, navigation, signin

error_messages.guard_callbacks()
page = navigation.show()
with error_messages.shown_as_one_sentence():
    error_messages.show_callback_errors()
    signin.begin(page)
    frame.app_runs()
    page.run()
