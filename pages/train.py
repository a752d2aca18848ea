from pages.components import frame

frame.begin("Train", "")
