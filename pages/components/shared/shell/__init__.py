"""What all pages share: frame, theme, sign-in, error messages, and the open project."""
