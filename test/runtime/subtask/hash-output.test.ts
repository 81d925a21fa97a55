import { describe, expect, it } from 'vitest'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import {
  type PlainKey,
  plainKeySerializer,
} from '../../../src/core/formats/plain-key-serializer.ts'
import { murmur3 } from '../../../src/core/hash/murmur3.ts'
import { keyGroupOf } from '../../../src/core/key-group.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { float64Serializer } from '../../../src/core/serializer.ts'
import type { StreamNode } from '../../../src/dataflow/stream-graph.ts'
import { FrequentKeyReader } from '../../../src/runtime/channel/frequent-key-reader.ts'
import type { BatchMessage, ForwardMessage } from '../../../src/runtime/channel/message.ts'
import { OutputChannel } from '../../../src/runtime/channel/output.ts'
import type { OwnRecords } from '../../../src/runtime/channel/own-records.ts'
import { RecordGroup } from '../../../src/runtime/channel/record-group.ts'
import { HashOutput } from '../../../src/runtime/subtask/record-output.ts'
import { RecordBatchReader } from '../../../src/wire/batch/record-batch-reader.ts'
import { campaignSize } from '../../run/campaign-size.ts'

const MAX_PARALLELISM = 128

interface FoundKey {
  readonly key: string
  readonly isFrequent: boolean
}

function bytesOf(key: PlainKey): string {
  const writer = new ByteWriter()
  plainKeySerializer().write(key, writer)
  return Buffer.from(writer.toBytes()).toString('hex')
}

/** Most batches that wait at a receiver of this test. */
const WAITING = 3

/**
 * An output to two receivers that keep keys, and what both have got, in the order of each. The first one may be of the same
 * thread; then its batches are read and filled again while others are sent.
 */
function setUp(isFirstOwn = false) {
  const sent: ForwardMessage[][] = [[], []]
  const read: FoundKey[] = []
  const owner = {
    blockedChannels: 0,
    bytesOut: 0,
    recordsEmitted: 0,
    currentPosition: { partition: -1, offset: 0 },
  }
  const channels = sent.map((messages, id) => {
    const send = (message: ForwardMessage) => {
      messages.push(message)
      if (message.kind === 'own' && messages.length > WAITING) readOldest()
    }
    const keepsRecords = isFirstOwn && id === 0
    return new OutputChannel({ id, owner, send, batchBytes: 700, credits: 10_000, keepsRecords })
  })
  const readOldest = (): void => {
    const oldest = sent[0]!.shift() as OwnRecords
    read.push(...keysOfOwn(oldest))
    channels[0]!.credit(oldest)
  }
  const output = new HashOutput({
    partitioning: {
      keySelector: (value) => value,
      keySerializer: plainKeySerializer() as never,
    },
    serializer: { ...float64Serializer, id: 'positive/1', write: writeNumber } as never,
    maxParallelism: MAX_PARALLELISM,
    channels,
    receiver: { name: 'receiver', uid: 'receiver', uidGenerated: false } as StreamNode,
    keepsKeys: true,
  })
  const readers = sent.map(() => new FrequentKeyReader(MAX_PARALLELISM))
  const received = () => {
    for (const channel of channels) channel.flush()
    if (isFirstOwn) while (sent[0]!.length > 0) readOldest()
    return sent.map((messages, receiver) => [
      ...(receiver === 0 ? read.splice(0) : []),
      ...messages
        .splice(0)
        .flatMap((message) => keysOf(message as BatchMessage, readers[receiver]!)),
    ])
  }
  return { output, received }
}

function writeNumber(value: number, writer: ByteWriter): void {
  if (value < 0) throw new RangeError('negative')
  writer.float64(value)
}

/** The keys of a batch, as hex, as an operator sees them: records are decoded in groups before they are processed. */
function keysOf({ buffer, length }: BatchMessage, keys: FrequentKeyReader) {
  const reader = new RecordBatchReader()
  reader.open(new Uint8Array(buffer, 0, length), 0, false)
  const group = new RecordGroup()
  const found: FoundKey[] = []
  while (group.fill(reader, true, keys) > 0) found.push(...keysOfGroup(group))
  return found
}

/** The same of records that stay in the thread. */
function keysOfOwn(records: OwnRecords): FoundKey[] {
  const found: FoundKey[] = []
  for (let group = records.take(); group !== undefined; group = records.take()) {
    found.push(...keysOfGroup(group))
  }
  return found
}

function keysOfGroup(group: RecordGroup): FoundKey[] {
  return Array.from({ length: group.count }, (_, i) => {
    const frequent = group.frequent[i]
    const start = group.keyStarts[i]!
    const key = frequent?.bytes ?? group.bytes.subarray(start, start + group.keyLengths[i]!)
    expect(group.hashes[i]).toBe(murmur3(key) | 0)
    if (frequent !== undefined) {
      expect(frequent.keyGroup).toBe(keyGroupOf(key, MAX_PARALLELISM))
      expect(frequent.hash).toBe(group.hashes[i])
    }
    return { key: Buffer.from(key).toString('hex'), isFrequent: frequent !== undefined }
  })
}

const RECORDS = campaignSize(8_000, 30_000)

describe.each([
  ['of other threads', false],
  ['of which one is in the same thread', true],
])('an output by key to receivers %s that keep frequent keys', (_, isFirstOwn) => {
  it('gives every receiver the bytes of each key, whatever comes again and loses its place', () => {
    const { output, received } = setUp(isFirstOwn)
    const random = seededRandom(7)
    const keyAt = (n: number): PlainKey => {
      const id = random.below(3) === 0 ? random.below(5000) : random.below(40)
      const kinds = [id, `${id}`, [id, n & 1], [`${id}`, id], -id / 2, [id], [id, [id]], true, 7n]
      return kinds[random.below(kinds.length)] as PlainKey
    }
    const expected: string[][] = [[], []]
    for (let n = 0; n < RECORDS; n++) {
      const key = keyAt(n)
      const hex = bytesOf(key)
      const group = keyGroupOf(Buffer.from(hex, 'hex'), MAX_PARALLELISM)
      expected[group < MAX_PARALLELISM / 2 ? 0 : 1]!.push(hex)
      output.send(key, 1, 0)
    }
    const got = received()
    expect(got.map((records) => records.map(({ key }) => key))).toEqual(expected)
    const frequent = got.flat().filter(({ isFrequent }) => isFrequent)
    expect(frequent.length).toBeGreaterThan(RECORDS * 0.25)
    expect(frequent.length).toBeLessThan(RECORDS * 0.84)
  })

  it('knows a tuple by its parts, also after the program has changed it', () => {
    const { output, received } = setUp(isFirstOwn)
    const key = [1, 'a']
    for (let n = 0; n < 3; n++) output.send(key, 1, 0)
    key[0] = 2
    output.send(key, 1, 0)
    output.send([1, 'a'], 1, 0)
    const keys = received().flat()
    const two = bytesOf([2, 'a'])
    expect(keys.map(({ key: hex }) => hex).sort()).toEqual(
      [...new Array<string>(4).fill(bytesOf([1, 'a'])), two].sort(),
    )
    expect(keys.filter(({ isFrequent }) => isFrequent)).toHaveLength(isFirstOwn ? 2 : 3)
  })

  it('refers to no key of a record that could not be written', () => {
    const { output, received } = setUp(isFirstOwn)
    output.send(5, 1, 0)
    expect(() => output.send(5, -1, 0)).toThrow('negative')
    for (let n = 0; n < 2; n++) output.send(5, 1, 0)
    expect(received().flat()).toEqual([
      { key: bytesOf(5), isFrequent: false },
      // To the own thread, a key is frequent from the record after the one with which it is kept.
      { key: bytesOf(5), isFrequent: !isFirstOwn },
      { key: bytesOf(5), isFrequent: true },
    ])
  })
})

describe('FrequentKeyReader', () => {
  it('refuses a place where no key is kept', () => {
    const reader = new FrequentKeyReader(MAX_PARALLELISM)
    for (const bytes of [
      [2, 9, 0],
      [1, 0xff, 0xff, 1],
    ]) {
      expect(() => reader.read(Uint8Array.from(bytes), 0, bytes.length)).toThrow(/no key at place/)
    }
  })
})
