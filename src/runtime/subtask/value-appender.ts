import { ByteWriter } from '../../core/byte-writer.ts'
import { murmur3 } from '../../core/hash/murmur3.ts'
import {
  copierOf,
  isKeptDecoded,
  type Serializer,
  type ValueCopier,
} from '../../core/serializer.ts'
import { ShapeReader } from '../../core/shapes/reader.ts'
import { ShapeWriter } from '../../core/shapes/writer.ts'
import type { OutputChannel } from '../channel/output.ts'
import type { OwnRecords } from '../channel/own-records.ts'

/**
 * Appends the values of one edge to channels. A serializer with a copier is the default one of plain data:
 * then a receiver of the same thread gets copies, and one of another thread values without the names of
 * their fields. All else is the serializer's bytes.
 */
export class ValueAppender {
  private readonly serializer: Serializer<unknown>
  private readonly copier: ValueCopier<unknown> | undefined
  private readonly bytes = new ByteWriter(1024)

  constructor(serializer: Serializer<unknown>) {
    this.serializer = serializer
    this.copier = copierOf(serializer)
  }

  /** Appends a record; a key length of -1 means that the edge has no key. Returns the size of the value. */
  append(
    channel: OutputChannel,
    key: Uint8Array,
    keyLength: number,
    value: unknown,
    timestamp: number,
  ): number {
    const { copier, bytes } = this
    const { own } = channel
    if (own !== undefined) {
      const size = this.add(own, value, timestamp)
      if (keyLength >= 0) own.setKey(key, 0, keyLength, murmur3(key, 0, keyLength))
      channel.added()
      return size
    }
    if (channel.isLocal && copier !== undefined) {
      const copy = copier.copy(value)
      if (copy !== undefined) {
        channel.appendObject(key, keyLength, copy, copier.bytes, timestamp)
        return copier.bytes
      }
    }
    bytes.length = 0
    if (copier === undefined || channel.isLocal) this.serializer.write(value, bytes)
    else this.writerOf(channel).write(value, bytes)
    channel.append(key, keyLength, bytes.bytes, bytes.length, timestamp)
    return bytes.length
  }

  /** Adds a record without its key to those of the own slot; returns the size of the value. */
  add(own: OwnRecords, value: unknown, timestamp: number): number {
    const { copier, bytes } = this
    if (isKeptDecoded(this.serializer.id, value)) {
      const size = typeof value === 'string' ? value.length : 8
      own.add(value, size, timestamp)
      return size
    }
    const copy = copier?.copy(value)
    if (copy !== undefined) {
      own.add(copy, copier!.bytes, timestamp)
      return copier!.bytes
    }
    bytes.length = 0
    this.serializer.write(value, bytes)
    own.addEncoded(bytes.bytes, bytes.length, timestamp)
    return bytes.length
  }

  private writerOf(channel: OutputChannel): ShapeWriter {
    channel.shapes ??= new ShapeWriter(this.serializer)
    return channel.shapes
  }
}

/**
 * What reads the values of one channel: the serializer, or a reader of the channel. `isPlain`: whether
 * all bytes are the serializer's, as to the own slot and to all receivers of a broadcast.
 */
export function valueReaderOf(
  serializer: Serializer<unknown>,
  isPlain: boolean,
): Pick<Serializer<unknown>, 'read'> {
  return isPlain || copierOf(serializer) === undefined ? serializer : new ShapeReader(serializer)
}
