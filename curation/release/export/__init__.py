"""Exports a release as a folder of files with a data set card."""
