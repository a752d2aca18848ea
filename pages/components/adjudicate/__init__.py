"""The parts of the Adjudicate page: the desk on which conflicts are settled, and two lists."""
