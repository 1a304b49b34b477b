"""The parts of the benchmark: workloads, servers, measuring, tables, charts."""
