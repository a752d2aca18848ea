"""What benchmarks came to: scores, statistics, tables, and single items."""
