import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import {
  copierOf,
  type EvolvingSerializer,
  isKeptDecoded,
  readerOfHolder,
  type Serializer,
  type ValueCopier,
  type ValueReader,
  withCopier,
} from '../../core/serializer.ts'

/*
 * The slices of a key in state, by ascending start:
 *
 *   ( | start: int64 little-endian, ms | length: varuint | accumulator | )*
 *
 * A record with its slice, an element of a list:
 *
 *   | start: int64 little-endian, ms | record |
 */

/** Starts of slices and their accumulators in turn, by ascending start. */
export type Slices = unknown[]

const ARRAY_BYTES = 56
const SLICE_BYTES = 16
const RECORD_BYTES = 40

/** Position of the first slice that starts at `start` or later; the end where there is none. */
export function positionOf(slices: Slices, start: number): number {
  let at = slices.length
  while (at > 0 && (slices[at - 2] as number) >= start) at -= 2
  return at
}

/** Serializer of slices whose accumulators have the given one. */
export function slicesSerializer(sums: Serializer<unknown>): Serializer<Slices> {
  const scratch = new ByteWriter(256)
  const name = 'slices/1'
  const serializer: EvolvingSerializer<Slices> = {
    id: `${name}(${sums.id})`,
    write(slices, writer) {
      for (let i = 0; i < slices.length; i += 2) {
        writer.int53(slices[i] as number)
        scratch.reset()
        sums.write(slices[i + 1], scratch)
        writer.varuint(scratch.length)
        writer.copy(scratch.bytes, 0, scratch.length)
      }
    },
    read: slicesReader((reader) => sums.read(reader)),
    readerOf: (storedId) => readerOfHolder(sums, { name, storedId }, slicesReader),
  }
  return withCopier(serializer, new SlicesCopier(sums))
}

function slicesReader(readSum: ValueReader<unknown>): ValueReader<Slices> {
  return (reader) => {
    const slices: Slices = []
    while (reader.remaining > 0) {
      slices.push(reader.int53(), readSum(new ByteReader(reader.sized())))
    }
    return slices
  }
}

/** Copies slices whose accumulators can be copied. */
class SlicesCopier implements ValueCopier<Slices> {
  readonly shares = false
  bytes = 0
  private readonly id: string
  private readonly sums: ValueCopier<unknown> | undefined

  constructor(sums: Serializer<unknown>) {
    this.id = sums.id
    this.sums = copierOf(sums)
  }

  copy(slices: Slices): Slices | undefined {
    const copy = slices.slice()
    let bytes = ARRAY_BYTES + SLICE_BYTES * (slices.length / 2)
    for (let i = 1; i < copy.length; i += 2) {
      if (isKeptDecoded(this.id, copy[i])) continue
      copy[i] = this.sums?.copy(copy[i])
      if (copy[i] === undefined) return undefined
      bytes += this.sums!.bytes
    }
    this.bytes = bytes
    return copy
  }

  measure(slices: Slices): number {
    let bytes = ARRAY_BYTES + SLICE_BYTES * (slices.length / 2)
    for (let i = 1; i < slices.length; i += 2) {
      if (typeof slices[i] === 'object') bytes += this.sums!.measure(slices[i])
    }
    return bytes
  }
}

/** A record with the slice that it is in. */
export class SlicedRecord<T> {
  /** Start of the slice, ms. */
  readonly start: number
  readonly value: T
  /** Whether `{ ...value }` is a copy. */
  readonly isFlat: boolean

  constructor(start: number, value: T, isFlat: boolean) {
    this.start = start
    this.value = value
    this.isFlat = isFlat
  }
}

/** Serializer of records with their slices, from that of the records. */
export function slicedRecordSerializer<T>(values: Serializer<T>): Serializer<SlicedRecord<T>> {
  const name = 'sliced/1'
  const wrap = (read: ValueReader<T>): ValueReader<SlicedRecord<T>> => {
    return (reader) => new SlicedRecord(reader.int53(), read(reader), false)
  }
  const serializer: EvolvingSerializer<SlicedRecord<T>> = {
    id: `${name}(${values.id})`,
    write({ start, value }, writer) {
      writer.int53(start)
      values.write(value, writer)
    },
    read: wrap((reader) => values.read(reader)),
    readerOf: (storedId) => readerOfHolder(values, { name, storedId }, wrap),
  }
  const copier = copierOf(values)
  return copier === undefined
    ? serializer
    : withCopier(serializer, new SlicedRecordCopier(values.id, copier))
}

/** Copies records with their slices where the record can be copied. */
class SlicedRecordCopier<T> implements ValueCopier<SlicedRecord<T>> {
  readonly shares: boolean
  readonly sharer?: ValueCopier<SlicedRecord<T>>
  bytes = 0
  private readonly id: string
  private readonly copier: ValueCopier<T>

  /** `id`: that of the records' serializer. */
  constructor(id: string, copier: ValueCopier<T>) {
    this.id = id
    this.copier = copier
    this.shares = copier.shares
    if (copier.sharer !== undefined) this.sharer = new SlicedRecordCopier(id, copier.sharer)
  }

  copy({ start, value }: SlicedRecord<T>): SlicedRecord<T> | undefined {
    const { copier } = this
    if (isKeptDecoded(this.id, value)) {
      this.bytes = RECORD_BYTES + (typeof value === 'string' ? value.length : 0)
      return new SlicedRecord(start, value, false)
    }
    const copy = copier.copy(value)
    if (copy === undefined) return undefined
    this.bytes = RECORD_BYTES + copier.bytes
    return new SlicedRecord(start, copy, copier.isFlat === true)
  }

  measure({ value }: SlicedRecord<T>): number {
    return RECORD_BYTES + (typeof value === 'object' ? this.copier.measure(value) : 0)
  }
}
