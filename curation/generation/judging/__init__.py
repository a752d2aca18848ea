"""Second opinions: a chat model judges variants as a reviewer of its own."""
