"""Results of benchmarks: scores, statistics, tables, and single items."""
