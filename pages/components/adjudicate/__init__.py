"""Parts of the Adjudicate page: the desk for settling conflicts, and two lists."""
