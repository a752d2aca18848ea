"""``python -m cli`` is the same as ``hedgerow``."""

from cli import main

if __name__ == "__main__":
    main()
