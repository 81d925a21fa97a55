# Runs a program of the guide, which converts a model, and prints what the library itself predicts for its rows.
#   python predictions.py PROGRAM
import json
import runpy
import sys

made = runpy.run_path(sys.argv[1])
model, rows, converted = made["model"], made["rows"], made["converted"]
names = [tensor.name for tensor in converted.graph.input]
if hasattr(rows, "columns"):
    inputs = {name: rows[[name]].values.tolist() for name in names}
else:
    inputs = {names[0]: rows.tolist()}
predicted = [model.predict(rows).tolist()]
if hasattr(model, "predict_proba"):
    predicted.append(model.predict_proba(rows).tolist())
print(json.dumps({"inputs": inputs, "predicted": predicted}))
