"""MLServer with adaptive batching: a runtime for ONNX, and the command that serves it. Prints its port."""

import json
import os
import sys
import tempfile

import onnxruntime
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceRequest, InferenceResponse


class LinearRuntime(MLModel):
    async def load(self) -> bool:
        file = self.settings.parameters.uri
        self.session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        values = NumpyCodec.decode_input(payload.inputs[0])
        (scores,) = self.session.run(None, {"x": values})
        outputs = [NumpyCodec.encode_output("y", scores)]
        return InferenceResponse(model_name=self.name, outputs=outputs)


def write(path: str, settings: dict) -> None:
    with open(path, "w") as file:
        json.dump(settings, file)


if __name__ == "__main__":
    from serving_command import free_port, serve

    port = free_port()
    folder = tempfile.mkdtemp()
    ports = {"http_port": port, "grpc_port": free_port(), "metrics_port": free_port()}
    model = {
        "name": "linear",
        "implementation": "mlserver_linear.LinearRuntime",
        "max_batch_size": 128,
        "max_batch_time": 0.001,
        "parameters": {"uri": os.path.abspath(sys.argv[1])},
    }
    # With a worker process of its own, that process died at its start where this was tried; the cause was not found.
    settings = {**ports, "host": "127.0.0.1", "parallel_workers": 0, "debug": False}
    write(os.path.join(folder, "settings.json"), settings)
    write(os.path.join(folder, "model-settings.json"), model)
    os.environ["PYTHONPATH"] = os.path.dirname(os.path.abspath(__file__))
    os.chdir(folder)
    start = "from mlserver.cli import main; main()"
    serve([sys.executable, "-c", start, "start", folder], port, "/v2/models/linear/ready")
