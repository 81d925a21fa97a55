/**
 * Encoder of ONNX models: the messages of `onnx.proto` (IR version 8) that a graph needs, in the
 * protobuf wire format. A message is a sequence of fields, each a tag (number, wire type) and a value.
 */

/** Element types of tensors, with their numbers in `TensorProto.DataType`. */
const ONNX_TYPES = { float32: 1, int32: 6, int64: 7, string: 8, bool: 9, float16: 10 } as const

/** Name of an element type. */
export type OnnxType = keyof typeof ONNX_TYPES

/** An input or output of a graph: name, type and dimensions (a text is a variable dimension). */
export interface OnnxValue {
  readonly name: string
  readonly type: OnnxType
  readonly shape: readonly (number | string)[]
}

/** A constant of the graph. */
export interface OnnxConstant {
  readonly name: string
  readonly shape: readonly number[]
  readonly values: Float32Array | Int32Array | BigInt64Array
}

/** Attribute of an operation: a whole number, a list of them, a text, or the graph of a branch. */
export type OnnxAttribute = number | readonly number[] | string | OnnxGraph

/** One operation. */
export interface OnnxNode {
  readonly operation: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly attributes: Readonly<Record<string, OnnxAttribute>>
}

/** A complete graph. */
export interface OnnxGraph {
  readonly inputs: readonly OnnxValue[]
  readonly outputs: readonly OnnxValue[]
  readonly constants: readonly OnnxConstant[]
  readonly nodes: readonly OnnxNode[]
}

const IR_VERSION = 8
/** Version of the operator set. From 13 on, `ReduceSum` and `Unsqueeze` have an input for axes. */
const OPSET = 17

/** The bytes of a model with one graph. */
export function encodeOnnxModel(graph: OnnxGraph): Uint8Array {
  const opset = [...varintField(2, OPSET)]
  return Uint8Array.from([
    ...varintField(1, IR_VERSION),
    ...textField(2, 'weir'),
    ...messageField(7, encodeGraph(graph)),
    ...messageField(8, opset),
  ])
}

function encodeGraph({ nodes, constants, inputs, outputs }: OnnxGraph): number[] {
  return [
    ...nodes.flatMap((node) => messageField(1, encodeNode(node))),
    ...textField(2, 'graph'),
    ...constants.flatMap((constant) => messageField(5, encodeConstant(constant))),
    ...inputs.flatMap((value) => messageField(11, encodeValue(value))),
    ...outputs.flatMap((value) => messageField(12, encodeValue(value))),
  ]
}

function encodeNode({ operation, inputs, outputs, attributes }: OnnxNode): number[] {
  return [
    ...inputs.flatMap((name) => textField(1, name)),
    ...outputs.flatMap((name) => textField(2, name)),
    ...textField(4, operation),
    ...Object.entries(attributes).flatMap(([name, value]) =>
      messageField(5, [...textField(1, name), ...encodeAttribute(value)]),
    ),
  ]
}

function encodeAttribute(value: OnnxAttribute): number[] {
  const [ONE, TEXT, GRAPH, LIST] = [2, 3, 5, 7]
  if (typeof value === 'number') return [...varintField(3, value), ...varintField(20, ONE)]
  if (typeof value === 'string') return [...textField(4, value), ...varintField(20, TEXT)]
  if ('nodes' in value) {
    return [...messageField(6, encodeGraph(value)), ...varintField(20, GRAPH)]
  }
  return [...value.flatMap((number) => varintField(8, number)), ...varintField(20, LIST)]
}

function encodeConstant({ name, shape, values }: OnnxConstant): number[] {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
  return [
    ...shape.flatMap((size) => varintField(1, size)),
    ...varintField(2, ONNX_TYPES[typeOf(values)]),
    ...textField(8, name),
    ...messageField(9, [...bytes]),
  ]
}

function typeOf(values: OnnxConstant['values']): OnnxType {
  if (values instanceof Float32Array) return 'float32'
  return values instanceof Int32Array ? 'int32' : 'int64'
}

function encodeValue({ name, type, shape }: OnnxValue): number[] {
  const dimensions = shape.flatMap((size) =>
    messageField(1, typeof size === 'number' ? varintField(1, size) : textField(2, size)),
  )
  const tensor = [...varintField(1, ONNX_TYPES[type]), ...messageField(2, dimensions)]
  return [...textField(1, name), ...messageField(2, messageField(1, tensor))]
}

/** Wire types of the fields. */
const VARINT = 0
const LENGTH_PREFIXED = 2

function varintField(field: number, value: number): number[] {
  return [...varint(field * 8 + VARINT), ...varint(value)]
}

function messageField(field: number, bytes: readonly number[]): number[] {
  return [...varint(field * 8 + LENGTH_PREFIXED), ...varint(bytes.length), ...bytes]
}

function textField(field: number, text: string): number[] {
  return messageField(field, [...new TextEncoder().encode(text)])
}

/** Seven bits a byte, the lowest first; negative numbers as 64 bits of two's complement. */
function varint(value: number): number[] {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, BigInt(value))
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128)
  bytes.push(Number(rest))
  return bytes
}
