import { describe, expect, it } from 'vitest'
import { ByteReader } from '../../../src/core/byte-reader.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { keyGroupOf, subtaskOfKeyGroup } from '../../../src/core/key-group.ts'
import { int53Serializer, type Serializer, stringSerializer } from '../../../src/core/serializer.ts'
import type { Partitioning, StreamEdge } from '../../../src/dataflow/stream-graph.ts'
import { copyRecords } from '../../../src/runtime/channel/batch-records.ts'
import {
  encodeInFlight,
  type InFlightRecord,
} from '../../../src/runtime/channel/in-flight-format.ts'
import { InputChannel } from '../../../src/runtime/channel/input.ts'
import type { BatchMessage } from '../../../src/runtime/channel/message.ts'
import { restoreInFlight } from '../../../src/runtime/channel/restore-in-flight.ts'

const serializer = int53Serializer as Serializer<unknown>
const EDGE = '["from",0,null]'

function bytesOf(value: number): Uint8Array {
  const writer = new ByteWriter()
  serializer.write(value, writer)
  return writer.toBytes()
}

const RECORDS: InFlightRecord[] = Array.from({ length: 20 }, (_, n) => ({
  key: new TextEncoder().encode(`key-${n}`),
  value: bytesOf(n),
  timestamp: 1000 + n,
  position: { source: n % 2, partition: n % 3 === 0 ? -1 : n % 3, offset: n % 3 === 0 ? 0 : n * 7 },
}))

function edgeOf(partitioning: Partitioning): StreamEdge {
  return { from: 0, to: 1, input: 0, sideOutputTag: undefined, partitioning, serializer }
}

/** What each of three subtasks restores. */
function restored(partitioning: Partitioning, records = RECORDS) {
  const half = records.length >> 1
  const entries = [records.slice(0, half), records.slice(half)].map((part) =>
    encodeInFlight({ edge: EDGE, serializer: 'int53/1', records: part }),
  )
  return [0, 1, 2].map((index) => {
    const channel = new InputChannel(0, 0, 0)
    const lost = { batchBytes: 200, dropLost: undefined }
    const subtask = { index, parallelism: 3, maxParallelism: 64, ...lost }
    restoreInFlight(entries, [{ name: EDGE, edge: edgeOf(partitioning), channel }], subtask)
    const found: InFlightRecord[] = []
    while (channel.readable) {
      const batch = channel.take() as BatchMessage
      found.push(...copyRecords(batch, 0, { serializer, values: serializer }).records)
    }
    return found
  })
}

const numbersOf = (records: readonly InFlightRecord[]): unknown[] =>
  records.map(({ value }) => serializer.read(new ByteReader(value)))

const HASH: Partitioning = {
  kind: 'hash',
  keySelector: (n) => `key-${n}`,
  keySerializer: stringSerializer as Serializer<unknown>,
  inPlace: false,
}

describe('records in flight at another parallelism', () => {
  it('go to the owners of their keys, in order, with their times and positions', () => {
    const parts = restored(HASH)
    for (const [index, part] of parts.entries()) {
      const own = RECORDS.filter(
        ({ key }) => subtaskOfKeyGroup(keyGroupOf(key!, 64), 3, 64) === index,
      )
      expect(own.length).toBeGreaterThan(0)
      expect(part).toEqual(own.map((record) => withSource(record)))
    }
  })

  it('are divided where any subtask may take them', () => {
    const parts = restored({ kind: 'rebalance' }).map(numbersOf)
    expect(parts[1]).toEqual([1, 4, 7, 10, 13, 16, 19])
    expect(parts.flat()).toHaveLength(20)
  })

  it('go where the function of the job sends them, and all to the first subtask of a global edge', () => {
    const partition = (n: unknown): number => ((n as number) < 5 ? 2 : 0)
    const custom = restored({ kind: 'custom', partition }).map(numbersOf)
    expect(custom.map(({ length }) => length)).toEqual([15, 0, 5])
    expect(restored({ kind: 'global' }).map(({ length }) => length)).toEqual([20, 0, 0])
  })

  it('are refused without the key that the edge needs now, and with another serializer', () => {
    const keyless = RECORDS.map((record) => ({ ...record, key: undefined }))
    expect(() => restored(HASH, keyless)).toThrow('have no key')
    const channel = new InputChannel(0, 0, 0)
    const entry = encodeInFlight({ edge: EDGE, serializer: 'other/1', records: RECORDS })
    const subtask = { index: 0, parallelism: 1, maxParallelism: 64, batchBytes: 200 }
    const edges = [{ name: EDGE, edge: edgeOf(HASH), channel }]
    expect(() => restoreInFlight([entry], edges, { ...subtask, dropLost: undefined })).toThrow(
      'were written by other/1 and the edge has int53/1',
    )
  })

  it('are refused when their edge is gone, unless state may be lost: they are counted then', () => {
    const entry = encodeInFlight({ edge: 'gone', serializer: 'int53/1', records: RECORDS })
    const subtask = { index: 0, parallelism: 1, maxParallelism: 64, batchBytes: 200 }
    expect(() => restoreInFlight([entry], [], { ...subtask, dropLost: undefined })).toThrow(
      'records in flight of gone',
    )
    const warnings: string[] = []
    const dropLost = ({ message }: Error): void => void warnings.push(message)
    restoreInFlight([entry], [], { ...subtask, dropLost })
    expect(warnings).toEqual([expect.stringContaining('dropped 20 records in flight of gone')])
  })
})

/** A record without a partition has no source either. */
function withSource(record: InFlightRecord): InFlightRecord {
  const { partition, offset, source } = record.position
  return { ...record, position: { source: partition < 0 ? 0 : source, partition, offset } }
}
