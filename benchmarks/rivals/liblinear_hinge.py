"""LIBLINEAR's dual coordinate descent (hinge loss), through scikit-learn: one JSON line.

liblinear_hinge.py EXAMPLES COST BOUND EXCESS

Tightens the tolerance until the objective is within EXCESS (relative) of BOUND, a lower bound of the optimum, and
prints the CPU seconds of that training (the median of three), its objective and tolerance.
"""

import json
import statistics
import sys
import time

import numpy as np
import sklearn
from sklearn.datasets import load_svmlight_file
from sklearn.svm import LinearSVC

path, *numbers = sys.argv[1:]
cost, bound, excess = map(float, numbers)
examples, labels = load_svmlight_file(path, zero_based=True)
examples.indices = examples.indices.astype(np.int32)
examples.indptr = examples.indptr.astype(np.int32)


def train(tolerance):
    model = LinearSVC(C=cost, loss="hinge", dual=True, tol=tolerance, max_iter=10**7, random_state=1)
    start = time.process_time()
    model.fit(examples, labels)
    return model, time.process_time() - start


def objective(model):
    weights, intercept = model.coef_[0], model.intercept_[0]
    margins = labels * (examples @ weights + intercept)
    return (weights @ weights + intercept**2) / 2 + cost * np.maximum(0, 1 - margins).sum()


for tolerance in (0.3, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 1e-4, 1e-5, 1e-6):
    model, first = train(tolerance)
    reached = objective(model)
    if reached <= bound * (1 + excess):
        break
seconds = statistics.median([first, train(tolerance)[1], train(tolerance)[1]])
result = {"version": sklearn.__version__, "seconds": seconds, "objective": reached, "tolerance": tolerance}
print(json.dumps(result))
