"""Chat models behind any address that speaks OpenAI's protocol."""
