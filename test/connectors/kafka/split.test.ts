import { describe, expect, it } from 'vitest'
import type { AbortedTransaction } from '../../../src/connectors/kafka/client/answers/aborted-transactions.ts'
import { KafkaSplit } from '../../../src/connectors/kafka/split.ts'
import { encodeControlBatch } from '../../../src/wire/batch/control-record.ts'
import {
  BATCH_FIELDS,
  setBaseOffset,
  writeInt32,
} from '../../../src/wire/batch/record-batch-format.ts'
import { RecordBatchWriter } from '../../../src/wire/batch/record-batch-writer.ts'

const encoder = new TextEncoder()
const ANSWER = { partition: 0, error: 0, logStart: 0, aborted: [], diverging: false }
const PRODUCER = 7

/** A partition's bytes: data batches `text` and markers `commit`, `abort`, each with its offset. */
function partition(...entries: readonly (readonly [number, string, number?])[]): Uint8Array {
  const parts = entries.map(([offset, what, producerId = PRODUCER]) => {
    const batch =
      what === 'commit' || what === 'abort'
        ? encodeControlBatch(what, { producerId, epoch: 0 }, 1)
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

function splitFrom(nextOffset: number): KafkaSplit {
  return new KafkaSplit({
    partition: 0,
    nextOffset,
    stopOffset: undefined,
    prefetchBytes: 1 << 20,
    verifyChecksums: true,
  })
}

function read(
  records: Uint8Array,
  aborted: readonly AbortedTransaction[],
  from = 0,
): { readonly values: string[]; readonly nextOffset: number } {
  const split = splitFrom(from)
  split.accept(
    from,
    {
      ...{ partition: 0, error: 0, limit: -1, highWatermark: -1, logStart: 0 },
      ...{ aborted, records, diverging: false },
    },
    5,
  )
  const values: string[] = []
  while (split.openBatch()) {
    while (split.batch.next()) values.push(Buffer.from(split.batch.value()!).toString())
    split.closeBatch()
  }
  return { values, nextOffset: split.nextOffset }
}

describe('a split that reads committed records', () => {
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

  it('drops an aborted transaction whose marker is not in the answer', () => {
    const records = partition([0, 'A'], [1, 'B'])
    expect(read(records, [{ producerId: PRODUCER, firstOffset: 0 }]).values).toEqual([])
  })

  it('keeps what follows an abort marker with which the answer begins', () => {
    const records = partition([5, 'abort'], [6, 'C'], [7, 'commit'])
    const aborted = [{ producerId: PRODUCER, firstOffset: 0 }]
    expect(read(records, aborted, 5).values).toEqual(['C'])
  })

  it('does not confuse producers that write at the same time', () => {
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
  it('moves across gaps to the offset after the last batch', () => {
    expect(read(partition([3, 'x'], [90, 'y']), []).nextOffset).toBe(91)
  })

  it('leaves an incomplete batch to the next fetch', () => {
    const whole = partition([0, 'x'], [1, 'y'])
    expect(read(whole.subarray(0, whole.length - 3), [])).toEqual({ values: ['x'], nextOffset: 1 })
  })

  it('ignores the answer to a fetch from an offset that it has left', () => {
    const split = splitFrom(10)
    const records = partition([0, 'x'])
    const fetched = {
      partition: 0,
      error: 0,
      limit: 5,
      highWatermark: 5,
      logStart: 0,
      aborted: [],
      diverging: false,
      records,
    }
    expect(split.accept(0, fetched, 5)).toBe(false)
    expect(split.openBatch()).toBe(false)
  })

  it('reports the end once, when everything before it is delivered', () => {
    const split = splitFrom(0)
    const records = partition([0, 'x'])
    split.accept(
      0,
      {
        ...{ partition: 0, error: 0, limit: 1, highWatermark: 1, logStart: 0 },
        ...{ aborted: [], diverging: false, records },
      },
      77,
    )
    expect(split.takeEndSeen()).toBeUndefined()
    expect(split.pendingOffsets).toBe(1)
    expect(split.openBatch()).toBe(true)
    while (split.batch.next());
    split.closeBatch()
    expect(split.pendingOffsets).toBe(0)
    expect(split.openBatch()).toBe(false)
    expect(split.takeEndSeen()).toBe(77)
    expect(split.takeEndSeen()).toBeUndefined()
  })

  it('counts what is stored behind an undecided transaction as not seen', () => {
    const split = splitFrom(0)
    const fetched = { ...ANSWER, records: new Uint8Array(0) }
    // The transaction began at offset 0, and records up to offset 3 are stored.
    split.accept(0, { ...fetched, limit: 0, highWatermark: 3 }, 100)
    expect(split.takeEndSeen()).toBeUndefined()
    split.accept(0, { ...fetched, limit: 0, highWatermark: 8 }, 200)
    expect(split.takeEndSeen()).toBeUndefined()
    // It is decided; the next one began at offset 5.
    const records = partition([0, 'x'], [1, 'y'], [2, 'z'], [3, 'v'], [4, 'w'])
    split.accept(0, { ...fetched, records, limit: 5, highWatermark: 9 }, 300)
    while (split.openBatch()) {
      while (split.batch.next());
      split.closeBatch()
    }
    expect(split.takeEndSeen()).toBe(100)
    const more = partition([5, 'x'], [6, 'y'], [7, 'z'], [8, 'v'])
    split.accept(5, { ...fetched, records: more, limit: 9, highWatermark: 9 }, 400)
    while (split.openBatch()) {
      while (split.batch.next());
      split.closeBatch()
    }
    expect(split.takeEndSeen()).toBe(400)
  })

  it('reports no end of an answer that may lack stored records', () => {
    const split = splitFrom(0)
    const fetched = { ...ANSWER, records: new Uint8Array(0) }
    expect(split.accept(0, { ...fetched, limit: 0, highWatermark: 0 }, -1)).toBe(false)
    expect(split.takeEndSeen()).toBeUndefined()
  })
})

describe('a split whose log may be truncated', () => {
  /** Batches `[offset, value, epoch]` of one record each. */
  const withEpochs = (...entries: readonly (readonly [number, string, number])[]): Uint8Array =>
    Buffer.concat(
      entries.map(([offset, value, epoch]) => {
        const batch = partition([offset, value])
        writeInt32(batch, BATCH_FIELDS.leaderEpoch, epoch)
        return batch
      }),
    )

  function fetchedUpTo4(): KafkaSplit {
    const split = splitFrom(0)
    const records = withEpochs([0, 'a', 3], [1, 'b', 3], [2, 'c', 5], [3, 'd', 5])
    split.accept(0, { ...ANSWER, records, limit: 4, highWatermark: 4 }, 1)
    return split
  }

  function deliver(split: KafkaSplit, count: number): void {
    for (let i = 0; i < count; i++) {
      expect(split.openBatch()).toBe(true)
      while (split.batch.next());
      split.closeBatch()
    }
  }

  it('knows the leader epochs of the last record that was fetched and of the last that was delivered', () => {
    const split = fetchedUpTo4()
    expect([split.lastFetchedEpoch, split.nextEpoch]).toEqual([5, -1])
    deliver(split, 2)
    expect([split.lastFetchedEpoch, split.nextOffset, split.nextEpoch]).toEqual([5, 2, 3])
    deliver(split, 2)
    expect([split.nextOffset, split.nextEpoch]).toEqual([4, 5])
  })

  it('fetches again what was fetched and not delivered, when the log ends behind what was delivered', () => {
    const split = fetchedUpTo4()
    deliver(split, 2)
    expect(split.truncate(3)).toBe(false)
    expect(split.openBatch()).toBe(false)
    expect([split.fetchFrom, split.lastFetchedEpoch, split.heldBytes]).toEqual([2, 3, 0])
  })

  it('says that delivered records are gone, and continues where the log ends', () => {
    const split = fetchedUpTo4()
    deliver(split, 3)
    expect(split.truncate(1)).toBe(true)
    expect([split.nextOffset, split.nextEpoch]).toEqual([3, 5])
    split.seek(1)
    expect([split.fetchFrom, split.nextOffset, split.lastFetchedEpoch]).toEqual([1, 1, -1])
  })
})
