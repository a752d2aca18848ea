"""What the pages are made of: one folder a screen, and what several screens share."""
