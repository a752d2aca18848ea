"""One of each element whose internals our scripts and style sheets rely on."""

import streamlit as st

st.sidebar.text("Sidebar")
with st.container(key="head"):
    st.caption("A caption")
st.html("<style>.x {}</style><script>1</script>", unsafe_allow_javascript=True)
st.html("<script>1</script>", unsafe_allow_javascript=True)
st.text("Some text")
st.segmented_control("One", ["a", "b"], default="a", required=True)
st.segmented_control("Several", ["a", "b"], selection_mode="multi")
st.button("Secondary")
st.button("Tertiary", type="tertiary")
st.slider("Slider", 0, 10)
st.expander("Expander").markdown("inside")
st.tabs(["First", "Second"])
st.page_link("https://example.org", label="Link")
st.selectbox("Choice", ["a", "b"])
st.dataframe({"Number": [1]})
st.text_area("Long")
st.text_input("Short")
