"""Colours, the charts that several screens show, and saving a chart as a picture."""
