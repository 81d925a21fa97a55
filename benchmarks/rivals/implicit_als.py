"""ALS of the `implicit` library: seconds of each iteration as one JSON line.

implicit_als.py RATINGS COUNT USERS ITEMS FACTORS ITERATIONS CG_STEPS THREADS

RATINGS holds three columns one after the other: user and item as int32, rating as float32.
"""

import json
import sys

import numpy as np
from implicit import __version__
from implicit.cpu.als import AlternatingLeastSquares
from scipy.sparse import csr_matrix

path, *numbers = sys.argv[1:]
count, users, items, factors, iterations, cg_steps, threads = map(int, numbers)

columns = np.fromfile(path, dtype=np.int32).reshape(3, count)
user, item, rating = columns[0], columns[1], columns[2].view(np.float32)

# Built by hand: SciPy's conversion would add up repeated ratings and leave less work.
order = np.argsort(user, kind="stable")
starts = np.zeros(users + 1, dtype=np.int32)
np.cumsum(np.bincount(user, minlength=users), out=starts[1:])
ratings = csr_matrix((rating[order], item[order], starts), shape=(users, items))

model = AlternatingLeastSquares(factors=factors, iterations=iterations, num_threads=threads)
model.cg_steps = cg_steps
seconds = []
model.fit(ratings, show_progress=False, callback=lambda _, elapsed, __: seconds.append(elapsed))
print(json.dumps({"version": __version__, "ratings": ratings.nnz, "seconds": seconds}))
