"""Triton with its dynamic batcher, from the wheel of PyTriton: ONNX Runtime in its Python backend. Prints its port."""

import sys

import numpy
import onnxruntime
from pytriton.decorators import batch
from pytriton.model_config import DynamicBatcher, ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig
from serving_command import free_port, wait_for_end

session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])


@batch
def infer(x: numpy.ndarray) -> list[numpy.ndarray]:
    return session.run(None, {"x": x})


port = free_port()
ports = {"http_port": port, "grpc_port": free_port(), "metrics_port": free_port()}
config = TritonConfig(http_address="127.0.0.1", grpc_address="127.0.0.1", **ports)
with Triton(config=config) as triton:
    triton.bind(
        model_name="linear",
        infer_func=infer,
        inputs=[Tensor(name="x", dtype=numpy.float32, shape=(784,))],
        outputs=[Tensor(name="y", dtype=numpy.float32, shape=(10,))],
        config=ModelConfig(
            batching=True,
            max_batch_size=128,
            batcher=DynamicBatcher(max_queue_delay_microseconds=0),
        ),
    )
    triton.run()
    print(port, flush=True)
    wait_for_end()
