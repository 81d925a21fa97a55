"""Exact top-k of faiss (`IndexFlatIP`): p50 of a query alone and requests/s in batches, one JSON line.

faiss_top_k.py ROWS QUERIES DIMENSION K BATCH THREADS

ROWS and QUERIES are float32 rows of DIMENSION. Both figures are the best of 1 to THREADS threads.
"""

import json
import sys
from statistics import median
from time import perf_counter

import faiss
import numpy as np

rows_path, queries_path, *numbers = sys.argv[1:]
dimension, k, batch, threads = map(int, numbers)

rows = np.fromfile(rows_path, dtype=np.float32).reshape(-1, dimension)
queries = np.fromfile(queries_path, dtype=np.float32).reshape(-1, dimension)
index = faiss.IndexFlatIP(dimension)
index.add(rows)


def seconds_of(size):
    """Median seconds of a search with `size` queries at once; every query is asked."""
    taken = []
    for start in range(0, len(queries) - size + 1, size):
        begun = perf_counter()
        index.search(queries[start : start + size], k)
        taken.append(perf_counter() - begun)
    return median(taken)


figures = []
for count in range(1, threads + 1):
    faiss.omp_set_num_threads(count)
    seconds_of(batch)
    figures.append((seconds_of(1), seconds_of(batch)))

alone = min(seconds for seconds, _ in figures)
batched = min(seconds for _, seconds in figures)
print(json.dumps({"version": faiss.__version__, "p50Ms": alone * 1e3, "perSecond": batch / batched}))
