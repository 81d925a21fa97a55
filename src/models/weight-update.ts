import type { ByteReader } from '../core/byte-reader.ts'
import type { ByteWriter } from '../core/byte-writer.ts'
import type { Serializer } from '../core/serializer.ts'

/**
 * What happens to a block of weights:
 *
 *   row      all weights are these
 *   some     the weights at these places are these
 *   step     learn: weights are derivative and rate of the loss, then the values at these places
 *   remove   the block has no weights any more
 *   open     the slot is to know the version, though it may have no block of it
 *   drop     the version was retired: all its blocks go
 */
export type WeightUpdateKind = 'row' | 'some' | 'remove' | 'open' | 'step' | 'drop'

const KINDS: readonly WeightUpdateKind[] = ['row', 'some', 'remove', 'open', 'step', 'drop']

/** A change of a weight block on its way from a topic to the block's owner. */
export interface WeightUpdate {
  /** Number of the block in decimal; empty after a shuffle, where it is the record's key. */
  readonly key: Uint8Array
  readonly version: number
  readonly kind: WeightUpdateKind
  /** Places inside the block, of `some`. */
  readonly places: Uint16Array
  /** As many weights as the block has, or as there are places, of `step` two more. */
  readonly weights: Float32Array
}

const NO_KEY = new Uint8Array(0)
/** For updates that name no places. */
export const NO_PLACES = new Uint16Array(0)
/** For updates that hold no weights. */
export const NO_WEIGHTS = new Float32Array(0)

/**
 * Weight updates between slots. The update read is valid until the next read: its arrays lie in
 * buffers that every read fills anew.
 *
 *   | version u32 | kind u8 | 0 | count u16 | count x place u16 | weights float32, the rest |
 */
export class WeightUpdateSerializer implements Serializer<WeightUpdate> {
  readonly id = 'weight-update/1'
  private weights = new Float32Array(0)
  private places = new Uint16Array(0)

  write(update: WeightUpdate, writer: ByteWriter): void {
    writer.uint32(update.version)
    writer.uint8(KINDS.indexOf(update.kind))
    writer.uint8(0)
    writer.uint16(update.places.length)
    writer.raw(bytesOf(update.places))
    writer.raw(bytesOf(update.weights))
  }

  read(reader: ByteReader): WeightUpdate {
    const version = reader.uint32()
    const kind = KINDS[reader.uint8()]!
    reader.uint8()
    const count = reader.uint16()
    if (this.places.length !== count) this.places = new Uint16Array(count)
    bytesOf(this.places).set(reader.raw(count * 2))
    const length = reader.remaining >> 2
    if (this.weights.length !== length) this.weights = new Float32Array(length)
    bytesOf(this.weights).set(reader.raw(length * 4))
    return { key: NO_KEY, version, kind, places: this.places, weights: this.weights }
  }
}

function bytesOf(array: Uint16Array | Float32Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
}
