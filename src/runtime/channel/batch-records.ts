import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import { partitionOfPlace, type SourcePosition, sourceOfPlace } from '../../core/position.ts'
import type { Serializer } from '../../core/serializer.ts'
import { RecordBatchReader } from '../../wire/batch/record-batch-reader.ts'
import type { InFlightRecord } from './in-flight-format.ts'
import { type BatchMessage, type PositionRuns, RESTORED } from './message.ts'

/** How the values of a channel are read, and written where they must stand alone. */
export interface ChannelValues {
  /** Reads the values of the channel's records, each once and in order. */
  readonly values: Pick<Serializer<unknown>, 'read'>
  /** Serializer of the edge. */
  readonly serializer: Serializer<unknown>
}

/** The records of a batch that were not processed yet, and the batch from which they are still processed. */
export interface CopiedRecords {
  readonly records: readonly InFlightRecord[]
  readonly batch: BatchMessage
}

/**
 * Copies the records of a batch from index `from` on. Values that can be read only once are read now: the returned
 * batch holds them as objects, and they are copied before an operator may change them.
 */
export function copyRecords(
  batch: BatchMessage,
  from: number,
  { values, serializer }: ChannelValues,
): CopiedRecords {
  const reader = new RecordBatchReader()
  reader.open(new Uint8Array(batch.buffer, 0, batch.length), 0, false)
  const span = new ByteReader(reader.bytes)
  const isReadOnce = values !== serializer && batch.channel !== RESTORED
  const objects = isReadOnce ? [...(batch.objects ?? [])] : batch.objects
  const positions = new PositionCursor(batch.positions)
  const records: InFlightRecord[] = []
  for (let at = 0; reader.next(); at++) {
    positions.moveTo(at)
    if (at < from) continue
    const { keyStart, keyLength, valueStart, valueLength } = reader
    span.span(valueStart, valueStart + Math.max(0, valueLength))
    let object = objects?.[at]
    if (isReadOnce && object === undefined) {
      object = values.read(span)
      ;(objects as unknown[])[at] = object
    }
    const isEncoded = !isReadOnce && object === undefined
    records.push({
      key: keyLength < 0 ? undefined : reader.bytes.slice(keyStart, keyStart + keyLength),
      value: isEncoded
        ? reader.bytes.slice(valueStart, valueStart + valueLength)
        : bytesOf(serializer, object),
      timestamp: reader.timestamp,
      position: positions.of(reader.offset),
    })
  }
  return { records, batch: { ...batch, objects } }
}

function bytesOf(serializer: Serializer<unknown>, value: unknown): Uint8Array {
  const writer = new ByteWriter()
  serializer.write(value, writer)
  return writer.toBytes()
}

/** The source positions of a batch's records, in their order. */
class PositionCursor {
  private readonly runs: PositionRuns
  private at = -3

  constructor(runs: PositionRuns) {
    this.runs = runs
  }

  moveTo(record: number): void {
    while (this.at + 3 < this.runs.length && this.runs[this.at + 3]! <= record) this.at += 3
  }

  of(offset: number): Required<SourcePosition> {
    const place = this.runs[this.at + 1]!
    const partition = partitionOfPlace(place)
    const shift = this.runs[this.at + 2]!
    return { source: sourceOfPlace(place), partition, offset: partition < 0 ? 0 : offset + shift }
  }
}
