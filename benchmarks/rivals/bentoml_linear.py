"""BentoML with adaptive batching: the service, and the command that serves it. Prints its port."""

import os
import sys

import bentoml
import numpy
import onnxruntime

MODEL = "WEIR_BENCH_MODEL"


@bentoml.service(
    workers=1,
    traffic={"timeout": 30, "max_concurrency": 1024},
    logging={"access": {"enabled": False}},
)
class Linear:
    def __init__(self) -> None:
        self.session = onnxruntime.InferenceSession(
            os.environ[MODEL], providers=["CPUExecutionProvider"]
        )

    @bentoml.api(batchable=True, max_batch_size=128, max_latency_ms=1000)
    def infer(self, x: numpy.ndarray) -> numpy.ndarray:
        return self.session.run(None, {"x": x.astype(numpy.float32)})[0]


if __name__ == "__main__":
    from serving_command import free_port, serve

    os.environ[MODEL] = sys.argv[1]
    os.environ["BENTOML_DO_NOT_TRACK"] = "True"
    port = free_port()
    folder = os.path.dirname(os.path.abspath(__file__))
    command = [sys.executable, "-m", "bentoml", "serve", "bentoml_linear:Linear"]
    options = ["--working-dir", folder, "--host", "127.0.0.1", "--port", str(port)]
    serve(command + options, port, "/readyz")
