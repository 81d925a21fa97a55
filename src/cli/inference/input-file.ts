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
 * Words of the command line as the only input of a model, an item a word: the word itself for a model that takes texts or
 * objects, otherwise the bytes of the file that it names. Throws FILE_NOT_FOUND, SIGNATURE_MISMATCH for a model with other
 * inputs.
 */
export async function plainInputs(
  words: readonly string[],
  signature: readonly TensorSignature[],
): Promise<RawTensor[]> {
  const [input, ...others] = signature
  if (input?.datatype !== 'BYTES' || input.shape.length !== 1 || others.length > 0) {
    const inputs = signature.map(
      ({ name, datatype, shape }) => `${name} ${datatype} [${shape.join(', ')}]`,
    )
    const message = `the model takes no files or texts as they are (its inputs are ${inputs.join('; ')}); use --input, or declare a transform of its input`
    throw new WeirError('SIGNATURE_MISMATCH', message)
  }
  const parts: Buffer[] = []
  const isText = input.takes === 'text' || input.takes === 'json'
  for (const word of words) {
    const bytes = isText ? Buffer.from(word) : await bytesOfFile(word)
    const length = Buffer.alloc(4)
    length.writeUInt32LE(bytes.length)
    parts.push(length, bytes)
  }
  return [
    { name: input.name, datatype: 'BYTES', shape: [words.length], data: Buffer.concat(parts) },
  ]
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
