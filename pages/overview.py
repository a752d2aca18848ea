from pages.components import frame

frame.begin("Overview", "")
