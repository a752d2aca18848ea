"""A separate process that turns a chart's specification into a picture.

    python convert.py svg|png VERSION SCALE < SPECIFICATION > PICTURE

It is a separate process because the converter loads a JavaScript engine of 100 MB, and because
input that it cannot process, such as a NUL in a text, can crash it.
"""

import json
import sys

import vl_convert


def main() -> None:
    """Convert standard input. URLs in the specification are not opened."""
    kind, version, scale = sys.argv[1:]
    spec = json.load(sys.stdin)
    if kind == "svg":
        svg = vl_convert.vegalite_to_svg(spec, vl_version=version, allowed_base_urls=[])
        picture = svg.encode()
    else:
        picture = vl_convert.vegalite_to_png(
            spec, vl_version=version, scale=float(scale), allowed_base_urls=[]
        )
    sys.stdout.buffer.write(picture)


if __name__ == "__main__":
    main()
