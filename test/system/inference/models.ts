import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ModelSource } from '../../../src/inference/port/model.ts'
import type { Tensor } from '../../../src/inference/port/tensor.ts'
import { OnnxGraphBuilder } from '../../../src/training/gpu/onnx-graph.ts'

/** Writes a model that multiplies rows of `inputs` floats by a matrix of `factor`s: y = x W, [n, outputs]. */
export function linearModel(
  folder: string,
  { inputs, outputs, factor = 1 }: { inputs: number; outputs: number; factor?: number },
): ModelSource {
  const graph = new OnnxGraphBuilder()
  const x = graph.input('x', ['n', inputs])
  const weights = graph.constant([inputs, outputs], new Float32Array(inputs * outputs).fill(factor))
  graph.output('y', graph.add('MatMul', [x, weights]), { shape: ['n', outputs] })
  const file = join(folder, `linear-${inputs}-${outputs}-${factor}.onnx`)
  writeFileSync(file, graph.build())
  return { kind: 'onnx', file }
}

/** A tensor of floats. */
export function floats(name: string, shape: readonly number[], values: ArrayLike<number>): Tensor {
  const data = new Uint8Array(Float32Array.from(values).buffer)
  return { name, datatype: 'FP32', shape, data }
}

/** The elements of a tensor of floats. */
export function floatsOf({ data }: Tensor): number[] {
  return [...new Float32Array(data.slice().buffer)]
}
