"""The parts of the pages: a folder or module per page, and the parts that several pages share."""
