import {
  encodeOnnxModel,
  type OnnxConstant,
  type OnnxNode,
  type OnnxType,
  type OnnxValue,
} from './onnx-encoder.ts'

/** Name of a value inside a graph under construction. */
export type GraphValue = string & { readonly graphValue: unique symbol }

/** Builder of an ONNX graph; its values are named by number. */
export class OnnxGraphBuilder {
  private readonly nodes: OnnxNode[] = []
  private readonly inputs: OnnxValue[] = []
  private readonly outputs: OnnxValue[] = []
  private readonly constants: OnnxConstant[] = []

  /** Declares an input; a text in its shape is a dimension that may differ between runs. */
  input(name: string, shape: readonly (number | string)[], type: OnnxType = 'float32'): GraphValue {
    this.inputs.push({ name, type, shape })
    return name as GraphValue
  }

  /** A constant of float32 values. */
  constant(shape: readonly number[], values: ArrayLike<number>): GraphValue {
    return this.addConstant(shape, Float32Array.from(values))
  }

  /** A constant row of whole numbers, for axes and indexes. */
  integers(...values: number[]): GraphValue {
    return this.addConstant([values.length], BigInt64Array.from(values, BigInt))
  }

  /** Adds an operation with one output. */
  add(
    operation: string,
    inputs: readonly GraphValue[],
    attributes: OnnxNode['attributes'] = {},
  ): GraphValue {
    const output = `v${this.nodes.length}` as GraphValue
    this.nodes.push({ operation, inputs, outputs: [output], attributes })
    return output
  }

  /** Divides a value along an axis into parts of these sizes. */
  split(value: GraphValue, axis: number, sizes: readonly number[]): GraphValue[] {
    const outputs = sizes.map((_, part) => `v${this.nodes.length}_${part}` as GraphValue)
    const inputs = [value, this.integers(...sizes)]
    this.nodes.push({ operation: 'Split', inputs, outputs, attributes: { axis } })
    return outputs
  }

  /** Elements `from` to `to` of a value along an axis. */
  slice(value: GraphValue, axis: number, from: number, to: number): GraphValue {
    const range = [this.integers(from), this.integers(to), this.integers(axis)]
    return this.add('Slice', [value, ...range])
  }

  /** A value with other dimensions: 0 keeps the one at its place, -1 is what is left. */
  reshape(value: GraphValue, dimensions: readonly number[]): GraphValue {
    return this.add('Reshape', [value, this.integers(...dimensions)])
  }

  /** A value with its axes in another order. */
  transpose(value: GraphValue, axes: readonly number[]): GraphValue {
    return this.add('Transpose', [value], { perm: axes })
  }

  /** Declares a named output. */
  output(
    name: string,
    value: GraphValue,
    { shape, type = 'float32' }: Partial<OnnxValue> & Pick<OnnxValue, 'shape'>,
  ): void {
    this.nodes.push({ operation: 'Identity', inputs: [value], outputs: [name], attributes: {} })
    this.outputs.push({ name, type, shape })
  }

  /** The bytes of the model. */
  build(): Uint8Array {
    const { inputs, outputs, constants, nodes } = this
    return encodeOnnxModel({ inputs, outputs, constants, nodes })
  }

  private addConstant(shape: readonly number[], values: OnnxConstant['values']): GraphValue {
    const name = `c${this.constants.length}` as GraphValue
    this.constants.push({ name, shape, values })
    return name
  }
}
