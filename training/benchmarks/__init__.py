"""Public tests of how well a model handles negation, each with its own metric; one file each.

A benchmark (``benchmark.Benchmark``) reads its data, says what is to be scored, and makes a result
of the scores. A scorer (``scorers``) gives them, whatever a model is built like.
``catalogue.BENCHMARKS`` lists them; a new one is a file and a line there, or a plug-in.
"""
