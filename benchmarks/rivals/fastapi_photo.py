"""FastAPI with ONNX Runtime and Pillow: a JPEG to a label. Threads of the pool decode and run. Prints its port."""

import io
import socket
import sys

import fastapi
import fastapi.concurrency
import numpy
import onnxruntime
import uvicorn
from PIL import Image, ImageOps

session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
app = fastapi.FastAPI()
SIZE = 224
MEAN = numpy.array([0.485, 0.456, 0.406], dtype=numpy.float32)
STD = numpy.array([0.229, 0.224, 0.225], dtype=numpy.float32)


def label_of(photo: bytes) -> dict[str, object]:
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(photo))).convert("RGB")
    image = ImageOps.fit(image, (SIZE, SIZE))
    pixels = (numpy.asarray(image, dtype=numpy.float32) / 255 - MEAN) / STD
    (scores,) = session.run(None, {"x": pixels.transpose(2, 0, 1)[None]})
    best = int(scores[0].argmax())
    return {"label": f"class {best}", "score": float(scores[0, best])}


@app.post("/photo")
async def infer_photo(request: fastapi.Request) -> dict[str, object]:
    return await fastapi.concurrency.run_in_threadpool(label_of, await request.body())


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(1024)
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
