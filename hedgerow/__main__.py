"""The command `hedgerow`, also as ``python -m hedgerow``."""

import sys

from hedgerow.own_packages import ShadowedPackageError, require_own_packages


def main() -> None:
    """Run the command, or explain in one sentence why it can't run."""
    try:
        require_own_packages("cli", "curation", "db", "pages", "training")
    except ShadowedPackageError as error:
        sys.exit(str(error))
    from cli import main as run

    run()


if __name__ == "__main__":
    main()
