"""FastAPI with ONNX Runtime, as most people write it: one request is one run. Prints its port."""

import socket
import sys

import fastapi
import numpy
import onnxruntime
import pydantic
import uvicorn

session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
app = fastapi.FastAPI()


class Pixels(pydantic.BaseModel):
    data: list[float]


class Scores(pydantic.BaseModel):
    scores: list[float]


@app.post("/bytes")
async def infer_bytes(request: fastapi.Request) -> fastapi.Response:
    values = numpy.frombuffer(await request.body(), dtype=numpy.float32).reshape(1, -1)
    (scores,) = session.run(None, {"x": values})
    return fastapi.Response(scores.tobytes(), media_type="application/octet-stream")


@app.post("/json")
async def infer_json(pixels: Pixels) -> Scores:
    values = numpy.array([pixels.data], dtype=numpy.float32)
    (scores,) = session.run(None, {"x": values})
    return Scores(scores=scores[0].tolist())


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(1024)
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
