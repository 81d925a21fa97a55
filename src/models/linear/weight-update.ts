import type { ByteReader } from '../../core/byte-reader.ts'
import type { ByteWriter } from '../../core/byte-writer.ts'
import type { Serializer } from '../../core/serializer.ts'
import type { LinearStep } from './step.ts'

/** What every weight update has. */
interface OfBlock {
  /** Number of the block in decimal; empty after a shuffle, where it is the record's key. */
  readonly key: Uint8Array
  readonly version: number
}

/** A change of a block of weights on its way from a topic to the block's owner. */
export type WeightUpdate =
  /** All weights of the block, [range], and what learning keeps beside them, [2 range], where it was published. */
  | (OfBlock & {
      readonly kind: 'row'
      readonly weights: Float32Array
      readonly memory?: Float32Array | undefined
    })
  /** The weights at some indices of the block. */
  | (OfBlock & {
      readonly kind: 'some'
      readonly indices: Uint16Array
      readonly weights: Float32Array
    })
  /** A step of learning at some indices of the block. `ticket`: of the count of its blocks; 0 where it is not counted. */
  | (OfBlock & { readonly kind: 'step'; readonly ticket: number } & LinearStep)
  /** The block is deleted. */
  | (OfBlock & { readonly kind: 'remove' })
  /** The slot is to know the version, though it may have no block of it. */
  | (OfBlock & { readonly kind: 'open' })
  /** The version was retired: all its blocks are deleted. */
  | (OfBlock & { readonly kind: 'retire' })

const KINDS = ['row', 'some', 'remove', 'open', 'step', 'retire', 'counted-step'] as const
const NO_KEY = new Uint8Array(0)

/**
 * Weight updates between slots. The update read is valid until the next read: its arrays are buffers
 * that every read fills again.
 *
 *   | version u32 | kind u8 | and, by kind:
 *     row    | floats of the memory u32 | memory float32 | weights float32, the rest |
 *     some   | count u16 | count x index u16 | count x weight float32 |
 *     step   | derivative float32 | rate float32 | count u16 | count x index u16 | count x value float32 |
 *     counted-step | ticket u32 | as a step |
 *
 * A step without a ticket is a `step`, as earlier builds wrote all: a checkpoint may hold such records.
 */
export class WeightUpdateSerializer implements Serializer<WeightUpdate> {
  readonly id = 'weight-update/3'
  private floats = new Float32Array(0)
  private memory = new Float32Array(0)
  private indices = new Uint16Array(0)

  write(update: WeightUpdate, writer: ByteWriter): void {
    writer.uint32(update.version)
    const isCounted = update.kind === 'step' && update.ticket !== 0
    writer.uint8(KINDS.indexOf(isCounted ? 'counted-step' : update.kind))
    if (isCounted) writer.uint32(update.ticket)
    switch (update.kind) {
      case 'row':
        writer.uint32(update.memory?.length ?? 0)
        if (update.memory !== undefined) writer.raw(bytesOf(update.memory))
        writer.raw(bytesOf(update.weights))
        return
      case 'some':
        writeIndices(update.indices, writer)
        writer.raw(bytesOf(update.weights))
        return
      case 'step':
        writer.float32(update.derivative)
        writer.float32(update.rate)
        writeIndices(update.indices, writer)
        writer.raw(bytesOf(update.values))
    }
  }

  read(reader: ByteReader): WeightUpdate {
    const version = reader.uint32()
    const kind = KINDS[reader.uint8()]!
    const key = NO_KEY
    switch (kind) {
      case 'row': {
        const memory = this.readMemory(reader)
        return { kind, key, version, memory, weights: this.readFloats(reader) }
      }
      case 'some': {
        const indices = this.readIndices(reader)
        return { kind, key, version, indices, weights: this.readFloats(reader) }
      }
      case 'step':
      case 'counted-step': {
        const ticket = kind === 'step' ? 0 : reader.uint32()
        const derivative = reader.float32()
        const rate = reader.float32()
        const indices = this.readIndices(reader)
        const values = this.readFloats(reader)
        return { kind: 'step', key, version, ticket, derivative, rate, indices, values }
      }
      default:
        return { kind, key, version }
    }
  }

  private readMemory(reader: ByteReader): Float32Array | undefined {
    const length = reader.uint32()
    if (length === 0) return undefined
    if (this.memory.length !== length) this.memory = new Float32Array(length)
    bytesOf(this.memory).set(reader.raw(length * 4))
    return this.memory
  }

  private readIndices(reader: ByteReader): Uint16Array {
    const count = reader.uint16()
    if (this.indices.length !== count) this.indices = new Uint16Array(count)
    bytesOf(this.indices).set(reader.raw(count * 2))
    return this.indices
  }

  private readFloats(reader: ByteReader): Float32Array {
    const length = reader.remaining >> 2
    if (this.floats.length !== length) this.floats = new Float32Array(length)
    bytesOf(this.floats).set(reader.raw(length * 4))
    return this.floats
  }
}

function writeIndices(indices: Uint16Array, writer: ByteWriter): void {
  writer.uint16(indices.length)
  writer.raw(bytesOf(indices))
}

function bytesOf(array: Uint16Array | Float32Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
}
