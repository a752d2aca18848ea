"""Second opinions: a chat model judges variants as a separate reviewer."""
