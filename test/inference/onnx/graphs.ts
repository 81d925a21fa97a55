import type { Random } from '../../../src/core/random.ts'
import type { Tensor } from '../../../src/inference/port/tensor.ts'
import {
  encodeOnnxModel,
  type OnnxAttribute,
  type OnnxGraph,
  type OnnxType,
} from '../../../src/training/gpu/onnx-encoder.ts'

type Sizes = readonly (number | string)[]

/** Writer of small graphs for tests: weights are random, and values are named by number. */
export class SmallGraph {
  private readonly graph = { inputs: [], outputs: [], constants: [], nodes: [] } as unknown as {
    -readonly [Key in keyof OnnxGraph]: OnnxGraph[Key][number][]
  }
  readonly random: Random
  private readonly prefix: string

  constructor(random: Random, prefix = '') {
    this.random = random
    this.prefix = prefix
  }

  input(name: string, shape: Sizes, type: OnnxType = 'float32'): string {
    this.graph.inputs.push({ name, shape, type })
    return name
  }

  /** A constant of small random numbers. */
  weights(...shape: number[]): string {
    const count = shape.reduce((product, size) => product * size, 1)
    return this.constant(
      shape,
      Float32Array.from({ length: count }, () => this.random.normal() / 2),
    )
  }

  /** A constant row of whole numbers. */
  integers(...values: number[]): string {
    return this.constant([values.length], BigInt64Array.from(values, BigInt))
  }

  /** A whole number. */
  integer(value: number): string {
    return this.constant([], BigInt64Array.of(BigInt(value)))
  }

  /** A number. */
  number(value: number): string {
    return this.constant([], Float32Array.of(value))
  }

  private constant(shape: readonly number[], values: Float32Array | BigInt64Array): string {
    const name = `${this.prefix}c${this.graph.constants.length}`
    this.graph.constants.push({ name, shape, values })
    return name
  }

  /** The first output of an operation. */
  add(
    operation: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, OnnxAttribute>> = {},
  ): string {
    return this.addAll(operation, inputs, { count: 1, attributes })[0]!
  }

  /** The outputs of an operation. */
  addAll(
    operation: string,
    inputs: readonly string[],
    {
      count,
      attributes = {},
    }: { readonly count: number; readonly attributes?: Readonly<Record<string, OnnxAttribute>> },
  ): string[] {
    const at = this.graph.nodes.length
    const outputs = Array.from({ length: count }, (_, i) => `${this.prefix}v${at}_${i}`)
    this.graph.nodes.push({ operation, inputs, outputs, attributes })
    return outputs
  }

  output(name: string, value: string, shape: Sizes, type: OnnxType = 'float32'): void {
    this.graph.nodes.push({
      operation: 'Identity',
      inputs: [value],
      outputs: [name],
      attributes: {},
    })
    this.graph.outputs.push({ name, shape, type })
  }

  /** The graph of a branch, which has one output. */
  branch(write: (branch: SmallGraph) => string, shape: Sizes): OnnxGraph {
    const inner = new SmallGraph(this.random, `${this.prefix}b${this.graph.nodes.length}_`)
    const value = write(inner)
    inner.output(`${inner.prefix}out`, value, shape)
    return inner.graph
  }

  bytes(): Uint8Array {
    return encodeOnnxModel(this.graph)
  }
}

/** Random floats. */
export function randomFloats(random: Random, name: string, ...shape: number[]): Tensor {
  const count = shape.reduce((product, size) => product * size, 1)
  const values = Float32Array.from({ length: count }, () => random.normal())
  return { name, datatype: 'FP32', shape, data: new Uint8Array(values.buffer) }
}

/** Random whole numbers below a bound. */
export function randomIntegers(
  random: Random,
  { name, below }: { readonly name: string; readonly below: number },
  ...shape: number[]
): Tensor {
  const count = shape.reduce((product, size) => product * size, 1)
  const values = BigInt64Array.from({ length: count }, () => BigInt(random.below(below)))
  return { name, datatype: 'INT64', shape, data: new Uint8Array(values.buffer) }
}
