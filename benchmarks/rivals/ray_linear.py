"""Ray Serve with batching, on the bytes of a request. Prints its port."""

import os
import sys

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

import numpy
import onnxruntime
import ray
from ray import serve
from serving_command import free_port, wait_for_end
from starlette.requests import Request
from starlette.responses import Response


@serve.deployment(max_ongoing_requests=1024, ray_actor_options={"num_cpus": 0})
class Linear:
    def __init__(self, file: str) -> None:
        self.session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])

    @serve.batch(max_batch_size=128, batch_wait_timeout_s=0.001)
    async def run(self, values: list[numpy.ndarray]) -> list[numpy.ndarray]:
        return list(self.session.run(None, {"x": numpy.stack(values)})[0])

    async def __call__(self, request: Request) -> Response:
        scores = await self.run(numpy.frombuffer(await request.body(), dtype=numpy.float32))
        return Response(scores.tobytes(), media_type="application/octet-stream")


ray.init(address="local", include_dashboard=False, log_to_driver=False, logging_level="error")
port = free_port()
serve.start(
    http_options={"host": "127.0.0.1", "port": port},
    logging_config={"enable_access_log": False, "log_level": "ERROR"},
)
serve.run(Linear.bind(sys.argv[1]), name="linear", route_prefix="/infer")
print(port, flush=True)
sys.stdout = sys.stderr
wait_for_end()
serve.shutdown()
ray.shutdown()
