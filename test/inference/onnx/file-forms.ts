import { seededRandom } from '../../../src/core/random.ts'
import {
  DATATYPE_BYTES,
  type Tensor,
  type TensorDatatype,
} from '../../../src/inference/port/tensor.ts'
import { randomFloats, SmallGraph } from './graphs.ts'

/** A file of one form, and inputs of a request; one that is refused has none. */
export interface FileForm {
  readonly bytes: Uint8Array
  readonly inputs: (seed: number) => readonly Tensor[]
}

/** Element types by the name of the protocol, with their numbers in ONNX. */
const TYPES = {
  UINT8: 2,
  INT8: 3,
  UINT16: 4,
  INT16: 5,
  INT32: 6,
  INT64: 7,
  BOOL: 9,
  FP16: 10,
  FP64: 11,
  UINT32: 12,
  UINT64: 13,
} as const satisfies Partial<Record<TensorDatatype, number>>
const COMPLEX = 14
const BRAIN = 16
const OPSETS = [7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24]

/** Requests of so many rows, as random as the seed. */
const rows =
  (name: string, width: number, most = 3) =>
  (seed: number): Tensor[] => [randomFloats(seededRandom(seed), name, 1 + (seed % most), width)]

/** A graph of the input x [batch, 4], written into a file. */
function ofRows(
  write: (graph: SmallGraph, x: string) => string,
  { name = 'x', batch = 'batch' as string | number, output = 'y' } = {},
): Uint8Array {
  const graph = new SmallGraph(seededRandom(7))
  graph.output(output, write(graph, graph.input(name, [batch, 4])), [batch, 3])
  return graph.bytes()
}

const linear = (graph: SmallGraph, x: string): string =>
  graph.add('Relu', [
    graph.add('Add', [graph.add('MatMul', [x, graph.weights(4, 3)]), graph.weights(3)]),
  ])

/** The file with another operator set, whose version is its last byte. */
function ofOpset(version: number): Uint8Array {
  const bytes = ofRows(linear)
  bytes[bytes.length - 1] = version
  return bytes
}

/** A file that gives back its input, [batch] of a type: the field of the type is written in place of that of 16 bits. */
function ofType(type: number): Uint8Array {
  const graph = new SmallGraph(seededRandom(7))
  graph.output('y', graph.input('x', ['batch'], 'float16'), ['batch'], 'float16')
  const bytes = graph.bytes()
  for (let at = 0; at < bytes.length - 2; at++) {
    const isType = bytes[at] === 0x08 && bytes[at + 1] === TYPES.FP16 && bytes[at + 2] === 0x12
    if (isType) bytes[at + 1] = type
  }
  return bytes
}

/** Random bytes of a type; of truth values 0 and 1. */
const elements =
  (datatype: keyof typeof TYPES) =>
  (seed: number): Tensor[] => {
    const random = seededRandom(seed)
    const shape = [1 + (seed % 3)]
    const data = Uint8Array.from({ length: shape[0]! * DATATYPE_BYTES[datatype] }, () =>
      datatype === 'BOOL' ? random.below(2) : random.below(0x40),
    )
    return [{ name: 'x', datatype, shape, data }]
  }

function manyInputs(count: number): FileForm {
  const graph = new SmallGraph(seededRandom(7))
  const names = Array.from({ length: count }, (_, i) => graph.input(`x${i}`, ['batch', 1]))
  graph.output('y', graph.add('Concat', names, { axis: 1 }), ['batch', count])
  const inputs = (seed: number) =>
    names.map((name, i) => randomFloats(seededRandom(seed * count + i), name, 1 + (seed % 3), 1))
  return { bytes: graph.bytes(), inputs }
}

function scalar(): FileForm {
  const graph = new SmallGraph(seededRandom(7))
  graph.output('y', graph.add('Mul', [graph.input('x', []), graph.number(2)]), [])
  return { bytes: graph.bytes(), inputs: (seed) => [randomFloats(seededRandom(seed), 'x')] }
}

/** Weights of eight bits around a layer, as quantisation tools write them. */
function quantised(): FileForm {
  const write = (graph: SmallGraph, x: string): string => {
    const scale = graph.number(0.05)
    const zero = graph.add('Cast', [graph.integer(0)], { to: 3 })
    const coarse = (value: string): string =>
      graph.add('DequantizeLinear', [
        graph.add('QuantizeLinear', [value, scale, zero]),
        scale,
        zero,
      ])
    return coarse(graph.add('MatMul', [coarse(x), coarse(graph.weights(4, 3))]))
  }
  return { bytes: ofRows(write), inputs: rows('x', 4) }
}

/** Files of forms that the files of other people have, by a name for people. */
export const FILE_FORMS: Readonly<Record<string, () => FileForm>> = {
  ...Object.fromEntries(
    OPSETS.map((version) => [
      `operator set ${version}`,
      () => ({ bytes: ofOpset(version), inputs: rows('x', 4) }),
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(TYPES).map(([datatype, type]) => [
      `elements of ${datatype}`,
      () => ({ bytes: ofType(type), inputs: elements(datatype as keyof typeof TYPES) }),
    ]),
  ),
  'elements of bfloat16': () => ({ bytes: ofType(BRAIN), inputs: () => [] }),
  'complex numbers': () => ({ bytes: ofType(COMPLEX), inputs: () => [] }),
  'a batch of 1': () => ({ bytes: ofRows(linear, { batch: 1 }), inputs: rows('x', 4, 1) }),
  'a batch of 8': () => ({
    bytes: ofRows(linear, { batch: 8 }),
    inputs: (seed) => [randomFloats(seededRandom(seed), 'x', 8, 4)],
  }),
  'a number': scalar,
  '200 inputs': () => manyInputs(200),
  'names with a slash, a colon and other scripts': () => ({
    bytes: ofRows(linear, { name: 'serving/дом:0', output: 'été/y:0' }),
    inputs: rows('serving/дом:0', 4),
  }),
  'quantised to eight bits, with scales in the file': quantised,
}
