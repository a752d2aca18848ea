"""How far people agree on the variants that several of them have decided on."""
