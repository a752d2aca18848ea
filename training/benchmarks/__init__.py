"""Public tests of how well a model handles negation. Each has its own metric.

A benchmark (``definition.Benchmark``) reads its data, asks questions, and computes a result from
the scores. A scorer (``scorers``) computes the scores with a model of any architecture.
``catalogue.BENCHMARKS`` lists the benchmarks. A new one is a file and a line there, or a plug-in.
"""
