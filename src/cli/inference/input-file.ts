import { readFile } from 'node:fs/promises'
import { asWeirError, messageOf, WeirError } from '../../core/errors.ts'
import { rawOfJson } from '../../wire/inference/json-tensor.ts'
import { parseExactly } from '../../wire/inference/json-values.ts'
import type { TensorSignature } from '../../wire/inference/models.ts'
import { isDatatype, type RawTensor } from '../../wire/inference/tensor.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * Reads the inputs of a model from a JSON file: either a body of the Open Inference Protocol,
 * `{"inputs": [{"name", "datatype", "shape", "data"}]}`, or values by input, `{"x": [[1, 2]]}`, whose datatype
 * is that of the model and whose shape that of the nesting. Throws FILE_NOT_FOUND, MALFORMED_DATA,
 * INVALID_ARGUMENT.
 */
export async function readInputFile(
  file: string,
  signature: readonly TensorSignature[],
): Promise<RawTensor[]> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    throw asWeirError(error, 'STORAGE_FAILED', `cannot read ${file}`)
  }
  return inputsOf(parse(text, file), signature, file)
}

/**
 * Words of the command line as the inputs of a model, a word for each input of an item: the word itself for a model that takes
 * texts, pairs of texts or objects, otherwise the bytes of the file that it names. Throws FILE_NOT_FOUND, SIGNATURE_MISMATCH for
 * a model with other inputs, and for words that are no whole number of items.
 */
export async function plainInputs(
  words: readonly string[],
  signature: readonly TensorSignature[],
): Promise<RawTensor[]> {
  const inputs = requirePlain(signature)
  const items = words.length / inputs.length
  if (!Number.isInteger(items)) {
    const names = inputs.map(({ name }) => name).join(' and ')
    const message = `the model takes ${inputs.length} texts for each item (${names}), and ${words.length} were given`
    throw new WeirError('SIGNATURE_MISMATCH', message)
  }
  return await Promise.all(
    inputs.map(async ({ name, takes }, i) => {
      const own = words.filter((_, at) => at % inputs.length === i)
      const isText = takes === 'text' || takes === 'json'
      const elements = own.map((word) => (isText ? Buffer.from(word) : bytesOfFile(word)))
      const data = withLengths(await Promise.all(elements))
      return { name, datatype: 'BYTES' as const, shape: [items], data }
    }),
  )
}

/** The inputs of a model that takes bytes as they are: one, or several texts. Throws SIGNATURE_MISMATCH. */
function requirePlain(signature: readonly TensorSignature[]): readonly TensorSignature[] {
  const isOne = signature.length === 1 || signature.every(({ takes }) => takes === 'text')
  const isPlain = signature.every(
    ({ datatype, shape }) => datatype === 'BYTES' && shape.length === 1,
  )
  if (signature.length > 0 && isOne && isPlain) return signature
  const inputs = signature.map(
    ({ name, datatype, shape }) => `${name} ${datatype} [${shape.join(', ')}]`,
  )
  const message = `the model takes no files or texts as they are (its inputs are ${inputs.join('; ')}); use --input, or declare a transform of its input`
  throw new WeirError('SIGNATURE_MISMATCH', message)
}

/** Elements of a BYTES tensor: each behind its length, 4 bytes. */
function withLengths(elements: readonly Buffer[]): Buffer {
  const parts = elements.flatMap((bytes) => {
    const length = Buffer.alloc(4)
    length.writeUInt32LE(bytes.length)
    return [length, bytes]
  })
  return Buffer.concat(parts)
}

function bytesOfFile(path: string): Promise<Buffer> {
  return readFile(path).catch((error: unknown) => {
    throw asWeirError(error, 'STORAGE_FAILED', `cannot read ${path}`)
  })
}

function parse(text: string, file: string): Fields {
  try {
    const value = parseExactly(text)
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Fields
  } catch (cause) {
    throw new WeirError('MALFORMED_DATA', `${file} is no JSON: ${messageOf(cause)}`, { cause })
  }
  throw new WeirError('MALFORMED_DATA', `${file} must hold an object: {"NAME": values}`)
}

/** The tensors of a parsed file. Throws INVALID_ARGUMENT. */
export function inputsOf(
  fields: Fields,
  signature: readonly TensorSignature[],
  file: string,
): RawTensor[] {
  const { inputs } = fields
  if (Array.isArray(inputs)) return inputs.map((input) => tensorOf(input as Fields, file))
  return Object.entries(fields).map(([name, data]) => {
    const found = signature.find((tensor) => tensor.name === name)
    if (found === undefined) {
      const known = signature.map((tensor) => tensor.name).join(', ')
      throw new WeirError(
        'SIGNATURE_MISMATCH',
        `${file}: no input is named "${name}"; the inputs are ${known}`,
      )
    }
    const shape = shapeOf(data)
    const list: readonly unknown[] = Array.isArray(data) ? data : [data]
    return rawOfJson({ name, datatype: found.datatype, shape, data: list })
  })
}

function tensorOf({ name, datatype, shape, data }: Fields, file: string): RawTensor {
  if (
    typeof name === 'string' &&
    isDatatype(datatype) &&
    Array.isArray(shape) &&
    Array.isArray(data)
  ) {
    return rawOfJson({ name, datatype, shape, data })
  }
  const message = `${file}: each input has name, datatype (such as FP32), shape and data`
  throw new WeirError('INVALID_ARGUMENT', message)
}

/** Sizes of nested arrays; a value is a scalar. */
function shapeOf(value: unknown): number[] {
  return Array.isArray(value)
    ? [value.length, ...(value.length === 0 ? [] : shapeOf(value[0]))]
    : []
}
