"""The baseline of bench/startup.py: the smallest Streamlit app."""

import streamlit as st

st.title("Empty")
