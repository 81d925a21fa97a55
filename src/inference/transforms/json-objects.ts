import { messageOf, WeirError } from '../../core/errors.ts'
import { nearestWord } from '../../core/text/nearest-word.ts'
import { jsonOfRaw, rawOfJson } from '../../wire/inference/json-tensor.ts'
import { parseExactly, stringifyExactly } from '../../wire/inference/json-values.ts'
import { itemAxisOf, type TensorSpec } from '../port/signature.ts'
import type { Tensor } from '../port/tensor.ts'
import type { JsonTransform } from '../port/transforms.ts'
import { elementsOfBytes, stringsToBytes } from '../runners/byte-strings.ts'

type Fields = Readonly<Record<string, unknown>>

/** Name of the input and of the output of a model that takes and gives objects. */
export const JSON_TENSOR = 'json'

const strict = new TextDecoder('utf-8', { fatal: true })

/** Objects of JSON as the inputs of a model, and its outputs as objects. */
export class JsonObjects {
  /** What takes the place of the inputs, and of the outputs: one object an item. */
  readonly spec: TensorSpec = {
    name: JSON_TENSOR,
    datatype: 'BYTES',
    shape: [-1],
    itemAxis: 0,
    takes: 'json',
  }
  private readonly inputs: readonly TensorSpec[]
  private readonly outputs: readonly TensorSpec[]
  private readonly columns: JsonTransform['columns']
  private readonly fields: readonly string[]

  /** `inputs` and `outputs`: the tensors of the model with its other transforms. Throws INVALID_ARGUMENT. */
  constructor(
    {
      inputs,
      outputs,
    }: { readonly inputs: readonly TensorSpec[]; readonly outputs: readonly TensorSpec[] },
    { columns }: JsonTransform,
  ) {
    this.inputs = inputs
    this.outputs = outputs
    this.columns = columns
    for (const [name, names] of Object.entries(columns)) requireColumns(name, names, inputs)
    this.fields = inputs.flatMap(({ name }) => columnsOf(columns, name) ?? [name])
    const twice = this.fields.find((name, i) => this.fields.indexOf(name) !== i)
    if (twice !== undefined) throw invalid(`two inputs take the field "${twice}"`)
  }

  /** The inputs of each object, each for one item. Throws INVALID_ARGUMENT. */
  rows({ data }: Tensor): Tensor[][] {
    return elementsOfBytes(data).map((bytes, i) => {
      const fields = objectOf(bytes, i)
      this.requireFields(fields, i)
      return this.inputs.map((spec) => this.tensorOf(spec, fields, i))
    })
  }

  /** An object for each row of outputs; a row has the tensors of one item. */
  objects(rows: readonly (readonly Tensor[])[]): Tensor {
    const texts = rows.map((tensors) => {
      const fields = tensors.map((tensor, i) => [tensor.name, jsonOfItem(tensor, this.outputs[i]!)])
      return stringifyExactly(Object.fromEntries(fields))
    })
    const data = stringsToBytes(texts)
    return { name: JSON_TENSOR, datatype: 'BYTES', shape: [texts.length], data }
  }

  private requireFields(fields: Fields, index: number): void {
    const { fields: known } = this
    for (const name of Object.keys(fields)) {
      if (known.includes(name)) continue
      const nearest = nearestWord(name, known)
      const hint =
        nearest === undefined ? `the fields are ${known.join(', ')}` : `did you mean "${nearest}"?`
      throw invalid(
        `object ${index} has the field "${name.slice(0, 40)}", which the model does not take; ${hint}`,
      )
    }
    const missing = known.find((name) => !Object.hasOwn(fields, name))
    if (missing !== undefined) throw invalid(`object ${index} has no field "${missing}"`)
  }

  private tensorOf(spec: TensorSpec, fields: Fields, index: number): Tensor {
    const columns = columnsOf(this.columns, spec.name)
    const value = columns === undefined ? fields[spec.name] : columns.map((name) => fields[name])
    const axis = itemAxisOf(spec)
    const sizes = spec.shape.filter((_, d) => d !== axis)
    const isOne = !Array.isArray(value) && sizes.every((size) => size === 1)
    const shape = isOne ? sizes : shapeOf(value)
    const fits =
      shape.length === sizes.length && sizes.every((size, d) => size === -1 || size === shape[d])
    if (!fits) {
      const message = `object ${index}: "${spec.name}" has the shape [${shape.join(', ')}]; the model takes [${sizes.join(', ')}], where -1 is any size`
      throw invalid(message)
    }
    const elements = (Array.isArray(value) ? value : [value]) as readonly unknown[]
    const { name, datatype } = spec
    const flat = rawOfJson({
      name,
      datatype,
      shape: shape.length === 0 ? [1] : shape,
      data: elements,
    })
    const whole = axis === null ? shape : shape.toSpliced(axis, 0, 1)
    return { ...(spec.takes === 'image' ? decoded(flat) : flat), shape: whole }
  }
}

const columnsOf = (
  columns: JsonTransform['columns'],
  name: string,
): readonly string[] | undefined => (Object.hasOwn(columns, name) ? columns[name] : undefined)

function requireColumns(
  name: string,
  names: readonly string[],
  inputs: readonly TensorSpec[],
): void {
  const spec = inputs.find((one) => one.name === name)
  if (spec === undefined) {
    const known = inputs.map((one) => one.name)
    const nearest = nearestWord(name, known) ?? known.join(', ')
    throw invalid(`the model has no input "${name}" for columns; did you mean ${nearest}?`)
  }
  const { shape } = spec
  const isRow = shape.length === 2 && itemAxisOf(spec) === 0
  if (isRow && (shape[1] === -1 || shape[1] === names.length)) return
  throw invalid(
    `"${name}" has the shape [${shape.join(', ')}], and columns has ${names.length} fields`,
  )
}

function objectOf(bytes: Uint8Array, index: number): Fields {
  let value: unknown
  try {
    value = parseExactly(strict.decode(bytes))
  } catch (cause) {
    throw invalid(`object ${index} is no JSON: ${messageOf(cause)}`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  throw invalid(`item ${index} is no object of JSON, such as {"name": value}`)
}

/** Sizes of nested lists; a value is a scalar. */
function shapeOf(value: unknown): number[] {
  return Array.isArray(value)
    ? [value.length, ...(value.length === 0 ? [] : shapeOf(value[0]))]
    : []
}

/** The bytes that the texts of a tensor stand for. Throws INVALID_ARGUMENT. */
function decoded({ name, data, ...tensor }: Tensor): Tensor {
  const parts = elementsOfBytes(data).flatMap((text) => {
    const base64 = Buffer.from(text).toString('latin1')
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) throw invalid(`"${name}" is an image in Base64`)
    const bytes = Buffer.from(base64, 'base64')
    const length = Buffer.alloc(4)
    length.writeUInt32LE(bytes.length)
    return [length, bytes]
  })
  return { ...tensor, name, data: Buffer.concat(parts) }
}

/** The elements of one item as JSON has them: nested by dimension, and a value where the model says that there is one. */
function jsonOfItem(tensor: Tensor, spec: TensorSpec): unknown {
  const axis = itemAxisOf(spec)
  const flat = jsonOfRaw(tensor)
  if (spec.shape.every((size, d) => d === axis || size === 1)) return flat[0]
  const shape = tensor.shape.filter((_, d) => d !== axis)
  return nested(flat, shape)
}

function nested(flat: readonly unknown[], shape: readonly number[]): unknown {
  const [size, ...rest] = shape
  if (size === undefined) return flat[0]
  const each = rest.reduce((product, one) => product * one, 1)
  return Array.from({ length: size }, (_, i) => nested(flat.slice(i * each, (i + 1) * each), rest))
}

const invalid = (why: string): WeirError => new WeirError('INVALID_ARGUMENT', `json: ${why}`)
