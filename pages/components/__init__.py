"""The parts of the pages: one folder per page, and the parts that several pages share."""
