"""NDCG of top-10 lists of ALS of the `implicit` library and of EASE, as one JSON line.

implicit_ranking.py RATINGS TRAIN TEST USERS ITEMS

RATINGS holds TRAIN + TEST ratings in three columns one after the other: user and item as int32, rating as
float32. The settings of both are chosen on a tenth of the training ratings, then trained on all of them.
EASE is Steck, "Embarrassingly shallow autoencoders for sparse data", WWW 2019.
"""

import json
import sys
from itertools import product

import numpy as np
from implicit import __version__
from implicit.cpu.als import AlternatingLeastSquares
from scipy.sparse import csr_matrix

K = 10
SEED = 1

path, *numbers = sys.argv[1:]
train_count, test_count, users, items = map(int, numbers)
columns = np.fromfile(path, dtype=np.int32).reshape(3, train_count + test_count)
ratings = np.stack([columns[0], columns[1], columns[2].view(np.float32)])
train, test = ratings[:, :train_count], ratings[:, train_count:]


def matrix(part):
    shape = (users, items)
    return csr_matrix((part[2], (part[0].astype(int), part[1].astype(int))), shape=shape)


def ndcg(scores, seen, held):
    """Mean over users with held ratings; seen items are left out, and so are items without a training rating."""
    scores = scores.astype(np.float64)
    scores[seen.nonzero()] = -np.inf
    scores[:, np.asarray(seen.getnnz(axis=0)).ravel() == 0] = -np.inf
    best = np.argsort(-scores, axis=1, kind="stable")[:, :K]
    gains = 1 / np.log2(np.arange(K) + 2)
    values = []
    for user in range(users):
        relevant = set(held.indices[held.indptr[user] : held.indptr[user + 1]])
        if relevant:
            gain = sum(g for g, item in zip(gains, best[user]) if item in relevant)
            values.append(gain / gains[: min(K, len(relevant))].sum())
    return float(np.mean(values))


def ease(seen, strength):
    x = (seen > 0).astype(np.float64)
    gram = (x.T @ x).toarray()
    gram[np.diag_indices_from(gram)] += strength
    inverse = np.linalg.inv(gram)
    weights = inverse / -np.diag(inverse)
    weights[np.diag_indices_from(weights)] = 0
    return x @ weights


def als(seen, factors, alpha, strength):
    confidence = seen.copy()
    confidence.data = (1 + alpha * seen.data).astype(np.float32)
    model = AlternatingLeastSquares(
        factors=factors, regularization=strength, alpha=1.0, iterations=15, num_threads=1, random_state=SEED
    )
    model.fit(confidence, show_progress=False)
    return model.user_factors @ model.item_factors.T


def chosen(method, settings):
    """The NDCG on the test ratings with the settings that are best on a tenth of the training ratings."""
    mask = np.random.default_rng(SEED).random(train_count) < 0.1
    inner, held = matrix(train[:, ~mask]), matrix(train[:, mask])
    best = max(settings, key=lambda setting: ndcg(method(inner, *setting), inner, held))
    seen = matrix(train)
    return {"ndcg": ndcg(method(seen, *best), seen, matrix(test)), "settings": " ".join(map(str, best))}


result = {
    "version": __version__,
    "implicit": chosen(als, list(product([32, 50, 100], [0.3, 1, 3], [10, 30, 60]))),
    "ease": chosen(ease, [(strength,) for strength in [100, 200, 300, 500, 800, 1200]]),
}
print(json.dumps(result))
