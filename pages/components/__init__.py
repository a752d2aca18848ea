"""View pieces that several pages share."""
