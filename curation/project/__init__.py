"""The settings that everybody in a project shares."""
