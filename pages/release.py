from pages.components import frame

frame.begin("Release", "")
