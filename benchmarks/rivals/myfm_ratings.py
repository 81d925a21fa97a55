"""Test error of Bayesian factorisation machines of the `myfm` library, as one JSON line.

myfm_ratings.py TRAIN TEST FACTORS SWEEPS BURN_IN

Both files have a user, an item and a rating in each line, with tabs. Users and items are the only features, so that
the model is that of Bayesian matrix factorisation with biases; the mean of the predictions of all kept sweeps is
clipped to the ratings of the training data. What the training data does not have has no feature.
"""

import json
import sys
from importlib.metadata import version

import numpy as np
from myfm import MyFMRegressor
from scipy.sparse import csr_matrix

train_path, test_path, *numbers = sys.argv[1:]
factors, sweeps, burn_in = map(int, numbers)


def read(path):
    with open(path, encoding="utf8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    return [line[:2] for line in lines], np.array([float(line[2]) for line in lines])


train, ratings = read(train_path)
test, held = read(test_path)
users = {user: i for i, user in enumerate(sorted({user for user, _ in train}))}
items = {item: len(users) + i for i, item in enumerate(sorted({item for _, item in train}))}


def features(pairs):
    places = [(row, at) for row, (user, item) in enumerate(pairs) for at in (users.get(user), items.get(item)) if at is not None]
    rows, columns = zip(*places)
    return csr_matrix((np.ones(len(places)), (rows, columns)), shape=(len(pairs), len(users) + len(items)))


model = MyFMRegressor(rank=factors, random_seed=1)
model.fit(
    features(train),
    ratings,
    n_iter=sweeps,
    n_kept_samples=sweeps - burn_in,
    group_shapes=[len(users), len(items)],
)
predicted = np.clip(model.predict(features(test)), ratings.min(), ratings.max())
print(json.dumps({"version": version("myfm"), "mse": float(np.mean((predicted - held) ** 2))}))
