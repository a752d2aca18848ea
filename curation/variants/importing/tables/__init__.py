"""Reading tables of variants row by row, from every format and from what other programs nest."""
