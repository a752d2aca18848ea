"""``python -m cli`` does what ``hedgerow`` does."""

from cli import main

if __name__ == "__main__":
    main()
