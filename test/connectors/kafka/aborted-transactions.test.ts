import { describe, expect, it } from 'vitest'
import { encodeControlBatch } from '../../../src/batch/control-record.ts'
import { setBaseOffset } from '../../../src/batch/record-batch-format.ts'
import { RecordBatchWriter } from '../../../src/batch/record-batch-writer.ts'
import type { AbortedTransaction } from '../../../src/connectors/kafka/aborted-transactions.ts'
import { KafkaSplit } from '../../../src/connectors/kafka/kafka-split.ts'

const encoder = new TextEncoder()
const PRODUCER = 7

/** A partition's bytes: data batches `text` and markers `commit`, `abort`, each with its offset. */
function partition(...entries: readonly (readonly [number, string, number?])[]): Uint8Array {
  const parts = entries.map(([offset, what, producerId = PRODUCER]) => {
    const batch =
      what === 'commit' || what === 'abort'
        ? encodeControlBatch(what, producerId, 0, 1)
        : dataBatch(what, producerId)
    setBaseOffset(batch, 0, offset)
    return batch
  })
  return Buffer.concat(parts)
}

function dataBatch(value: string, producerId: number): Uint8Array {
  const writer = new RecordBatchWriter()
  writer.append(null, encoder.encode(value), 1)
  return writer.take({ transactional: true, producerId, producerEpoch: 0 })
}

function read(
  records: Uint8Array,
  aborted: readonly AbortedTransaction[],
  from = 0,
): { readonly values: string[]; readonly nextOffset: number } {
  const split = new KafkaSplit(0, from, undefined, 1 << 20, true)
  split.accept(from, { partition: 0, error: 0, limit: -1, logStart: 0, aborted, records }, 5)
  const values: string[] = []
  while (split.openBatch()) {
    while (split.batch.next()) values.push(Buffer.from(split.batch.value()!).toString())
    split.closeBatch()
  }
  return { values, nextOffset: split.nextOffset }
}

describe('the read_committed filter', () => {
  it('keeps what one producer commits between two transactions that it aborts', () => {
    const records = partition(
      [0, 'A'],
      [1, 'abort'],
      [2, 'C'],
      [3, 'commit'],
      [4, 'B'],
      [5, 'abort'],
      [6, 'D'],
      [7, 'commit'],
    )
    const aborted = [
      { producerId: PRODUCER, firstOffset: 4 },
      { producerId: PRODUCER, firstOffset: 0 },
    ]
    expect(read(records, aborted)).toEqual({ values: ['C', 'D'], nextOffset: 8 })
  })

  it('drops an aborted transaction whose marker lies outside the answer', () => {
    const records = partition([0, 'A'], [1, 'B'])
    expect(read(records, [{ producerId: PRODUCER, firstOffset: 0 }]).values).toEqual([])
  })

  it('keeps what follows an abort marker with which the answer begins', () => {
    const records = partition([5, 'abort'], [6, 'C'], [7, 'commit'])
    const aborted = [{ producerId: PRODUCER, firstOffset: 0 }]
    expect(read(records, aborted, 5).values).toEqual(['C'])
  })

  it('does not mix up producers that write at the same time', () => {
    const records = partition(
      [0, 'A', 1],
      [1, 'C', 2],
      [2, 'A', 1],
      [3, 'commit', 2],
      [4, 'abort', 1],
    )
    expect(read(records, [{ producerId: 1, firstOffset: 0 }]).values).toEqual(['C'])
  })
})

describe('a split', () => {
  it('moves over gaps to the offset after the last batch', () => {
    expect(read(partition([3, 'x'], [90, 'y']), []).nextOffset).toBe(91)
  })

  it('leaves a batch that is cut off to the next fetch', () => {
    const whole = partition([0, 'x'], [1, 'y'])
    expect(read(whole.subarray(0, whole.length - 3), [])).toEqual({ values: ['x'], nextOffset: 1 })
  })

  it('ignores the answer to a fetch from an offset that it has left', () => {
    const split = new KafkaSplit(0, 10, undefined, 1 << 20, true)
    const records = partition([0, 'x'])
    const fetched = { partition: 0, error: 0, limit: 5, logStart: 0, aborted: [], records }
    expect(split.accept(0, fetched, 5)).toBe(false)
    expect(split.openBatch()).toBe(false)
  })

  it('says once that the end was seen, when everything before it is delivered', () => {
    const split = new KafkaSplit(0, 0, undefined, 1 << 20, true)
    const records = partition([0, 'x'])
    split.accept(0, { partition: 0, error: 0, limit: 1, logStart: 0, aborted: [], records }, 77)
    expect(split.takeEndSeen()).toBeUndefined()
    expect(split.openBatch()).toBe(true)
    while (split.batch.next());
    split.closeBatch()
    expect(split.openBatch()).toBe(false)
    expect(split.takeEndSeen()).toBe(77)
    expect(split.takeEndSeen()).toBeUndefined()
  })
})
