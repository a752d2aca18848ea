"""The browser app: page config, sign-in, navigation."""

import streamlit as st

from pages.components.shared.shell import error_messages, frame, navigation, signin

frame.app_runs()
error_messages.guard_callbacks()
# Our own pictures: the page icons that Streamlit names are fetched from a server of its maker's
# choice, and nothing here may ask anybody else for anything.
st.set_page_config(
    page_title="Hedgerow",
    page_icon=str(frame.ICON),
    layout="wide",
    initial_sidebar_state=frame.SIDEBAR,
)
st.logo(str(frame.LOGO), icon_image=str(frame.ICON))

page = navigation.show()
with error_messages.shown_as_one_sentence():
    error_messages.show_callback_errors()
    signin.sidebar()
    page.run()
