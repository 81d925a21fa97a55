import {
  type ByteSource,
  fieldsOf,
  numbersAt,
  type ProtobufField,
  textAt,
} from './protobuf-fields.ts'

/** A constant of a graph; its elements are there only when they are few numbers. */
export interface GraphConstant {
  readonly name: string
  readonly shape: readonly number[]
  readonly values: readonly number[] | undefined
}

/** Attribute of a node; what its kind does not have is empty. */
export interface GraphAttribute {
  readonly number: number | undefined
  readonly numbers: readonly number[]
  readonly text: string
  /** Number of texts in a list. */
  readonly texts: number
  readonly constant: GraphConstant | undefined
  readonly graph: Graph | undefined
}

/** One operation. An empty name is an input that is left out. */
export interface GraphNode {
  readonly operation: string
  /** Empty for the operators of ONNX itself. */
  readonly domain: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly attributes: ReadonlyMap<string, GraphAttribute>
}

/** Input or output of a graph: its dimensions are numbers, names, or unknown ('' ); undefined where none are given. */
export interface GraphValue {
  readonly name: string
  readonly shape: readonly (number | string)[] | undefined
}

/** Graph of a model or of a branch or loop. */
export interface Graph {
  readonly nodes: readonly GraphNode[]
  readonly constants: readonly GraphConstant[]
  readonly inputs: readonly GraphValue[]
  readonly outputs: readonly GraphValue[]
}

/** Graph of a model file, with the version of each operator set by its domain. */
export interface ModelGraph {
  readonly graph: Graph
  readonly opsets: ReadonlyMap<string, number>
  /** Files beside the model that have its weights, as paths from its folder. */
  readonly files: ReadonlySet<string>
}

/** Most elements of a constant that are read: shapes, axes and scales have few. */
export const MOST_VALUES = 64
const FLOAT = 1
/** Numbers of `TensorProto.DataType`, with the bytes of an element in `raw_data`. */
const WHOLE_BYTES: Readonly<Record<number, number>> = { 2: 1, 3: 1, 6: 4, 7: 8, 9: 1 }

/** Reads the graph of an ONNX file without its weights. Throws MALFORMED_DATA. */
export function readModelGraph(source: ByteSource): ModelGraph {
  const reader = new GraphReader(source)
  const opsets = new Map<string, number>()
  let graph: Graph = { nodes: [], constants: [], inputs: [], outputs: [] }
  for (const field of fieldsOf(source, 0, source.length)) {
    if (field.number === 7) graph = reader.graph(field)
    if (field.number === 8) {
      const { domain, version } = reader.opset(field)
      opsets.set(domain, version)
    }
  }
  return { graph, opsets, files: reader.files }
}

/** `ai.onnx` is another name of the empty domain. */
const domainOf = (text: string): string => (text === 'ai.onnx' ? '' : text)

class GraphReader {
  /** As `ModelGraph.files`. */
  readonly files = new Set<string>()
  private readonly source: ByteSource

  constructor(source: ByteSource) {
    this.source = source
  }

  opset(field: ProtobufField): { readonly domain: string; readonly version: number } {
    let [domain, version] = ['', 1]
    for (const one of this.fields(field)) {
      if (one.number === 1) domain = domainOf(this.text(one))
      if (one.number === 2) version = one.value
    }
    return { domain, version }
  }

  graph(field: ProtobufField): Graph {
    const [nodes, constants]: [GraphNode[], GraphConstant[]] = [[], []]
    const [inputs, outputs]: [GraphValue[], GraphValue[]] = [[], []]
    for (const one of this.fields(field)) {
      if (one.number === 1) nodes.push(this.node(one))
      if (one.number === 5) constants.push(this.constant(one))
      if (one.number === 11) inputs.push(this.value(one))
      if (one.number === 12) outputs.push(this.value(one))
    }
    return { nodes, constants, inputs, outputs }
  }

  private node(field: ProtobufField): GraphNode {
    const [inputs, outputs]: [string[], string[]] = [[], []]
    const attributes = new Map<string, GraphAttribute>()
    let [operation, domain] = ['', '']
    for (const one of this.fields(field)) {
      if (one.number === 1) inputs.push(this.text(one))
      if (one.number === 2) outputs.push(this.text(one))
      if (one.number === 4) operation = this.text(one)
      if (one.number === 7) domain = domainOf(this.text(one))
      if (one.number === 5) {
        const [name, attribute] = this.attribute(one)
        attributes.set(name, attribute)
      }
    }
    return { operation, domain, inputs, outputs, attributes }
  }

  private attribute(field: ProtobufField): readonly [string, GraphAttribute] {
    let name = ''
    let [number, text]: [number | undefined, string] = [undefined, '']
    let [constant, graph]: [GraphConstant | undefined, Graph | undefined] = [undefined, undefined]
    const numbers: number[] = []
    let texts = 0
    for (const one of this.fields(field)) {
      if (one.number === 1) name = this.text(one)
      if (one.number === 2) number = this.float(one.from)
      if (one.number === 3) number = one.value
      if (one.number === 4) text = this.text(one)
      if (one.number === 5) constant = this.constant(one)
      if (one.number === 6) graph = this.graph(one)
      if (one.number === 7) numbers.push(...this.floats(one))
      if (one.number === 8) numbers.push(...this.numbers(one))
      if (one.number === 9) texts++
      // Trees have a million numbers, and no rule asks for them.
      if (numbers.length > MOST_VALUES) break
    }
    return [name, { number, numbers, text, texts, constant, graph }]
  }

  private constant(field: ProtobufField): GraphConstant {
    const shape: number[] = []
    const given: number[] = []
    let [name, type] = ['', 0]
    let raw: ProtobufField | undefined
    for (const one of this.fields(field)) {
      if (one.number === 1) shape.push(...this.numbers(one))
      if (one.number === 2) type = one.value
      if (one.number === 8) name = this.text(one)
      if (one.number === 9) raw = one
      if (one.number === 13) this.noteFile(one)
      if (given.length > MOST_VALUES) continue
      if (one.number === 4) given.push(...this.floats(one))
      if (one.number === 5 || one.number === 7) given.push(...this.numbers(one))
    }
    const values = raw === undefined ? given : this.rawValues(raw, type)
    const count = shape.reduce((product, size) => product * size, 1)
    return { name, shape, values: values.length === count ? values : undefined }
  }

  /** An entry about weights outside the file: `location` names the file. */
  private noteFile(field: ProtobufField): void {
    let [key, value] = ['', '']
    for (const one of this.fields(field)) {
      if (one.number === 1) key = this.text(one)
      if (one.number === 2) value = this.text(one)
    }
    if (key === 'location') this.files.add(value)
  }

  private rawValues({ from, to }: ProtobufField, type: number): number[] {
    const each = type === FLOAT ? 4 : (WHOLE_BYTES[type] ?? 0)
    const count = each === 0 ? 0 : (to - from) / each
    if (count > MOST_VALUES) return []
    const view = this.view(from, to - from)
    return Array.from({ length: count }, (_, i) => {
      if (type === FLOAT) return view.getFloat32(i * 4, true)
      if (each === 8) return Number(view.getBigInt64(i * 8, true))
      if (each === 4) return view.getInt32(i * 4, true)
      return type === 3 ? view.getInt8(i) : view.getUint8(i)
    })
  }

  private value(field: ProtobufField): GraphValue {
    let name = ''
    let shape: GraphValue['shape']
    for (const one of this.fields(field)) {
      if (one.number === 1) name = this.text(one)
      if (one.number === 2) shape = this.shapeOfType(one)
    }
    return { name, shape }
  }

  private shapeOfType(field: ProtobufField): GraphValue['shape'] {
    for (const type of this.fields(field)) {
      if (type.number !== 1) continue
      for (const one of this.fields(type)) {
        if (one.number === 2) return [...this.fields(one)].map((size) => this.size(size))
      }
    }
    return undefined
  }

  private size(field: ProtobufField): number | string {
    for (const one of this.fields(field)) {
      if (one.number === 1) return one.value
      if (one.number === 2) return this.text(one)
    }
    return ''
  }

  private fields({ from, to }: ProtobufField): Generator<ProtobufField> {
    return fieldsOf(this.source, from, to)
  }

  private text(field: ProtobufField): string {
    return textAt(this.source, field)
  }

  private numbers(field: ProtobufField): number[] {
    return numbersAt(this.source, field, MOST_VALUES)
  }

  private float(at: number): number {
    return this.view(at, 4).getFloat32(0, true)
  }

  private floats({ from, to }: ProtobufField): number[] {
    const length = Math.min((to - from) / 4, MOST_VALUES + 1)
    return Array.from({ length }, (_, i) => this.float(from + 4 * i))
  }

  private view(at: number, length: number): DataView {
    const bytes = this.source.read(at, length)
    return new DataView(bytes.buffer, bytes.byteOffset, length)
  }
}
