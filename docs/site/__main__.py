"""Build the documentation site: `make docs`.

Also updates the files in the repository that are generated from the code: the reviewing guideline
and `.env.example`.

    python -m docs.site [FOLDER]
"""

import argparse
from pathlib import Path

from docs.site.building import FOLDER, build
from docs.site.stored_pages import write_stored_pages


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "folder", nargs="?", type=Path, default=FOLDER, help="where to put the site (%(default)s)"
    )
    folder = parser.parse_args().folder.resolve()
    write_stored_pages()
    print(f"The site is in {build(folder)}.")


if __name__ == "__main__":
    main()
