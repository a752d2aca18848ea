"""Chat models at any address that implements OpenAI's protocol."""
