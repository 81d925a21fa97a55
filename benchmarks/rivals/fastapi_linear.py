"""FastAPI with ONNX Runtime, as most people write it: one request is one run. Prints its port."""

import socket
import sys

import fastapi
import numpy
import onnxruntime
import uvicorn

session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
app = fastapi.FastAPI()


@app.post("/infer")
async def infer(request: fastapi.Request) -> fastapi.Response:
    values = numpy.frombuffer(await request.body(), dtype=numpy.float32).reshape(1, -1)
    (scores,) = session.run(None, {"x": values})
    return fastapi.Response(scores.tobytes(), media_type="application/octet-stream")


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(1024)
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
