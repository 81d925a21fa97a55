"""Calls the gRPC port of "weir run models" with tritonclient as its users do; prints one JSON object."""
import json
import queue
import sys

import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

client = triton.InferenceServerClient(sys.argv[1])


def inputs(*rows):
    values = np.array(rows, dtype=np.float32)
    x = triton.InferInput("x", values.shape, "FP32")
    x.set_data_from_numpy(values)
    return [x]


metadata = client.get_model_metadata("linear")
answer = client.infer("linear", inputs([1, 2], [3, 4]), request_id="r7")
result = {
    "live": client.is_server_live(),
    "ready": client.is_server_ready(),
    "model_ready": client.is_model_ready("linear"),
    "server": client.get_server_metadata().name,
    "inputs": [[x.name, x.datatype, list(x.shape)] for x in metadata.inputs],
    "index": [[m.name, m.version, m.state] for m in client.get_model_repository_index().models],
    "infer": answer.as_numpy("y").tolist(),
    "id": answer.get_response().id,
}
try:
    client.infer("nope", inputs([1, 2]))
except InferenceServerException as error:
    result["error"] = error.message()

answers = queue.Queue()
client.start_stream(lambda result, error: answers.put((result, error)))
client.async_stream_infer("linear", inputs([1, 2]))
client.async_stream_infer("linear", inputs([3, 4]))
result["stream"] = [answers.get(timeout=60)[0].as_numpy("y").tolist() for _ in range(2)]
client.stop_stream()


def part_of(answer):
    word, index = answer.as_numpy("text_output"), answer.as_numpy("index")
    return [
        None if word is None else word[0].decode(),
        None if index is None else int(index[0]),
        answer.get_response().parameters["triton_final_response"].bool_param,
    ]


text = triton.InferInput("text_input", [1], "BYTES")
text.set_data_from_numpy(np.array([b"ping"], dtype=np.object_))
count = triton.InferInput("count", [1], "INT32")
count.set_data_from_numpy(np.array([3], dtype=np.int32))
client.start_stream(lambda result, error: answers.put((result, error)))
client.async_stream_infer("words", [text, count], enable_empty_final_response=True)
result["parts"] = [part_of(answers.get(timeout=60)[0]) for _ in range(4)]
client.stop_stream()

client.unload_model("linear")
result["unloaded"] = client.is_model_ready("linear")
client.load_model("linear")
result["loaded"] = client.infer("linear", inputs([1, 2])).as_numpy("y").tolist()
print(json.dumps(result))
