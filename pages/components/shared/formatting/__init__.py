"""How texts, times and counts appear; the only code that emits HTML."""
