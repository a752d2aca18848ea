"""What a project trains and measures."""
