"""Calls a gateway with tritonclient as its users do; prints one JSON object."""
import json
import sys

import numpy as np
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

client = triton.InferenceServerClient(sys.argv[1])
result = {
    "live": client.is_server_live(),
    "ready": client.is_server_ready(),
    "model_ready": client.is_model_ready("ALS_MODEL"),
    "server": client.get_server_metadata()["name"],
    "inputs": [i["name"] for i in client.get_model_metadata("ALS_MODEL")["inputs"]],
    "config": client.get_model_config("ALS_MODEL")["input"][0]["data_type"],
    "index": client.get_model_repository_index(),
}


def pairs(binary):
    user = triton.InferInput("user", [2], "BYTES")
    user.set_data_from_numpy(np.array(["1", "nobody"], dtype=object), binary_data=binary)
    item = triton.InferInput("item", [2], "BYTES")
    item.set_data_from_numpy(np.array(["50", "50"], dtype=object), binary_data=binary)
    return [user, item]


for name, binary in (("binary", True), ("json", False)):
    outputs = [
        triton.InferRequestedOutput("score", binary_data=binary),
        triton.InferRequestedOutput("user_cold", binary_data=binary),
    ]
    answer = client.infer("ALS_MODEL", pairs(binary), outputs=outputs, request_id="r7")
    result[name] = {
        "score": answer.as_numpy("score").tolist(),
        "cold": answer.as_numpy("user_cold").tolist(),
        "id": answer.get_response()["id"],
    }

# Without outputs the client asks for all of them as bytes.
answer = client.infer("ALS_MODEL", pairs(True), model_version="1")
result["all"] = answer.as_numpy("item_cold").tolist()
compressed = client.infer(
    "ALS_MODEL", pairs(True), request_compression_algorithm="gzip", response_compression_algorithm="gzip"
)
result["compressed"] = compressed.as_numpy("score").tolist()

index = triton.InferInput("index", [2], "INT64")
index.set_data_from_numpy(np.array([3, 7], dtype=np.int64))
value = triton.InferInput("value", [2], "FP32")
value.set_data_from_numpy(np.array([1, 2], dtype=np.float32))
result["decision"] = client.infer("SVM_MODEL", [index, value]).as_numpy("decision").tolist()

pending = [client.async_infer("ALS_MODEL", pairs(True)) for _ in range(20)]
result["async"] = [p.get_result().as_numpy("score").tolist() for p in pending][-1]
try:
    client.infer("NOPE", pairs(True))
except InferenceServerException as error:
    result["error"] = error.message()
stats = client.get_inference_statistics("ALS_MODEL")["model_stats"][0]
result["stats"] = [stats["inference_count"], stats["execution_count"]]
print(json.dumps(result))
