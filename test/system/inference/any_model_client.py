"""Calls a gateway in front of "weir run models" with tritonclient as its users do; prints one JSON object."""
import json
import sys

import numpy as np
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

client = triton.InferenceServerClient(sys.argv[1], network_timeout=60, connection_timeout=60)
metadata = client.get_model_metadata("angle")
result = {
    "ready": client.is_server_ready() and client.is_model_ready("angle"),
    "platform": metadata["platform"],
    "inputs": metadata["inputs"],
    "config": client.get_model_config("angle")["input"][0]["data_type"],
    "index": client.get_model_repository_index(),
}
pixels = np.full((2, 3, 48, 192), 0.5, dtype=np.float32)


def run(binary, classes=0, name="angle", version=""):
    image = triton.InferInput("x", pixels.shape, "FP32")
    image.set_data_from_numpy(pixels, binary_data=binary)
    wanted = triton.InferRequestedOutput(OUTPUT, binary_data=binary, class_count=classes)
    return client.infer(name, [image], outputs=[wanted], model_version=version).as_numpy(OUTPUT)


OUTPUT = metadata["outputs"][0]["name"]
result["binary"] = run(True).tolist()
result["json"] = run(False).tolist()
result["classes"] = [text.decode().split(":")[1] for text in run(True, classes=2)[0]]
result["version"] = run(True, version="1").tolist()
try:
    run(True, name="angel")
except InferenceServerException as error:
    result["error"] = error.message()
client.unload_model("angle")
result["unloaded"] = [m["state"] for m in client.get_model_repository_index() if m["name"] == "angle"]
client.load_model("angle")
result["loaded"] = run(True).tolist()
stats = client.get_inference_statistics("angle")["model_stats"][0]
result["stats"] = stats["inference_count"]
print(json.dumps(result))
