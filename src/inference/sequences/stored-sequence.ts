import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { WeirError } from '../../core/errors.ts'
import { DATATYPE_BYTES, type Tensor, type TensorDatatype } from '../port/tensor.ts'
import type { SequenceStep } from './step.ts'

/*
 * What a model carries for one sequence, as an entry of a checkpoint. Numbers are little-endian; text and bytes are
 * preceded by their length as varuint, and "n *" is a varuint count and then that many.
 *
 *   key     model text | id of the sequence text
 *   value   expiry i53 (ms since 1970) | format u8 (1) | flags u8 (1: no later answer can be lost) | step i53 |
 *           beginning text | version text | n * tensor
 *   tensor  name text | datatype text | n * size i53 | bytes
 */

/** Version of the format that is written. */
const FORMAT = 1
/** Name and format of the state in a checkpoint. */
export const STORED_SEQUENCES = {
  name: 'sequences',
  kind: 'sequence',
  format: `sequence/${FORMAT}`,
} as const
const WHOLE = 1

/** What a model carries for one sequence, as a checkpoint has it. */
export interface StoredSequence extends SequenceStep {
  readonly model: string
  readonly id: string
  /** Version and settings that it belongs to: it means nothing to others. */
  readonly version: string
  /** No later answer can be lost: the process ended after its last one. */
  readonly isWhole: boolean
  /** When it is forgotten, ms since 1970. */
  readonly expiresAtMs: number
  readonly carried: readonly Tensor[]
}

/** Key of a sequence in a checkpoint. */
export function encodeSequenceKey({ model, id }: Pick<StoredSequence, 'model' | 'id'>): Uint8Array {
  const writer = new ByteWriter(64)
  writer.text(model)
  writer.text(id)
  return writer.toBytes()
}

/** Writes the value of a sequence behind what the writer has. */
export function writeSequence(writer: ByteWriter, sequence: StoredSequence): void {
  writer.int53(sequence.expiresAtMs)
  writer.uint8(FORMAT)
  writer.uint8(sequence.isWhole ? WHOLE : 0)
  writer.int53(sequence.step)
  writer.text(sequence.beginning)
  writer.text(sequence.version)
  writer.varuint(sequence.carried.length)
  for (const { name, datatype, shape, data } of sequence.carried) {
    writer.text(name)
    writer.text(datatype)
    writer.varuint(shape.length)
    for (const size of shape) writer.int53(size)
    writer.sized(data)
  }
}

/** Reads an entry of a checkpoint; nothing of it refers to the bytes. Throws MALFORMED_DATA, UNSUPPORTED_VERSION. */
export function readSequence(key: Uint8Array, value: Uint8Array): StoredSequence {
  const keys = new ByteReader(key)
  const [model, id] = [keys.text(), keys.text()]
  const reader = new ByteReader(value)
  const expiresAtMs = reader.int53()
  requireFormat(reader.uint8())
  const isWhole = (reader.uint8() & WHOLE) !== 0
  const step = reader.int53()
  const [beginning, version] = [reader.text(), reader.text()]
  const carried = Array.from({ length: count(reader) }, () => readTensor(reader))
  if (keys.remaining > 0 || reader.remaining > 0) {
    throw malformed(`${keys.remaining + reader.remaining} bytes follow a sequence`)
  }
  return { model, id, version, step, beginning, isWhole, expiresAtMs, carried }
}

function requireFormat(format: number): void {
  if (format === FORMAT) return
  throw new WeirError(
    'UNSUPPORTED_VERSION',
    `format ${format} of a sequence is not known; this build reads ${FORMAT}, use the build that wrote it`,
  )
}

function readTensor(reader: ByteReader): Tensor {
  const name = reader.text()
  const datatype = datatypeOf(reader.text())
  const shape = Array.from({ length: count(reader) }, () => reader.int53())
  const data = reader.sized().slice()
  const bytes = shape.reduce((product, size) => product * size, DATATYPE_BYTES[datatype])
  if (data.length === bytes) return { name, datatype, shape, data }
  throw malformed(`tensor "${name}" has ${data.length} bytes, and its shape ${bytes}`)
}

function datatypeOf(text: string): TensorDatatype {
  if (Object.hasOwn(DATATYPE_BYTES, text)) return text as TensorDatatype
  throw malformed(`no datatype is named "${text}"`)
}

/** A count that the rest can hold, so that a wrong one takes no memory. */
function count(reader: ByteReader): number {
  const n = reader.varuint()
  if (n <= reader.remaining) return n
  throw malformed(`a count of ${n} is more than the bytes of a sequence`)
}

function malformed(sentence: string): WeirError {
  return new WeirError('MALFORMED_DATA', sentence)
}
