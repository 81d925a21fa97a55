# Runs programs of the guide, which convert a model each, and prints for each what the library itself predicts for its
# rows, in a line of JSON. One process runs them all: the libraries take seconds to load.
#   python predictions.py PROGRAM...
import json
import runpy
import sys


def predictions(program):
    made = runpy.run_path(program)
    model, rows, converted = made["model"], made["rows"], made["converted"]
    names = [tensor.name for tensor in converted.graph.input]
    if hasattr(rows, "columns"):
        inputs = {name: rows[[name]].values.tolist() for name in names}
    else:
        inputs = {names[0]: rows.tolist()}
    predicted = [model.predict(rows).tolist()]
    if hasattr(model, "predict_proba"):
        predicted.append(model.predict_proba(rows).tolist())
    return {"inputs": inputs, "predicted": predicted}


for program in sys.argv[1:]:
    print(json.dumps(predictions(program)))
