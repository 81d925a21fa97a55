import { describe, expect, it } from 'vitest'
import { RecordBatchReader } from '../../../src/batch/record-batch-reader.ts'
import { ByteWriter } from '../../../src/core/byte-writer.ts'
import { murmur3 } from '../../../src/core/hash/murmur3.ts'
import { keyGroupOf } from '../../../src/core/key-group.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { float64Serializer } from '../../../src/core/serializer.ts'
import { type PlainKey, plainKeySerializer } from '../../../src/dataflow/key-serializer.ts'
import { FrequentKeyReader } from '../../../src/runtime/channel/frequent-key-reader.ts'
import type { BatchMessage, ForwardMessage } from '../../../src/runtime/channel/message.ts'
import { OutputChannel } from '../../../src/runtime/channel/output.ts'
import { RecordGroup } from '../../../src/runtime/channel/record-group.ts'
import { HashOutput } from '../../../src/runtime/subtask/record-output.ts'

const MAX_PARALLELISM = 128

function bytesOf(key: PlainKey): string {
  const writer = new ByteWriter()
  plainKeySerializer().write(key, writer)
  return Buffer.from(writer.toBytes()).toString('hex')
}

/** An output to two receivers that keep keys, and what both have got: keys and sizes, in the order of each. */
function setUp() {
  const sent: ForwardMessage[][] = [[], []]
  const owner = {
    blockedChannels: 0,
    bytesOut: 0,
    recordsEmitted: 0,
    currentPosition: { partition: -1, offset: 0 },
  }
  const channels = sent.map((messages, id) => {
    const send = (message: ForwardMessage) => messages.push(message)
    return new OutputChannel({ id, owner, send, batchBytes: 700, credits: 10_000 })
  })
  const output = new HashOutput({
    partitioning: {
      keySelector: (value) => value,
      keySerializer: plainKeySerializer() as never,
    },
    serializer: { ...float64Serializer, write: writeNumber } as never,
    maxParallelism: MAX_PARALLELISM,
    channels,
    keepsKeys: true,
  })
  const readers = sent.map(() => new FrequentKeyReader(MAX_PARALLELISM))
  const received = () => {
    for (const channel of channels) channel.flush()
    return sent.map((messages, receiver) =>
      messages.splice(0).flatMap((message) => keysOf(message as BatchMessage, readers[receiver]!)),
    )
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
  const found: { readonly key: string; readonly isFrequent: boolean }[] = []
  while (group.fill(reader, true, keys) > 0) {
    for (let i = 0; i < group.count; i++) {
      const frequent = group.frequent[i]
      const start = group.keyStarts[i]!
      const key = frequent?.bytes ?? group.bytes.subarray(start, start + group.keyLengths[i]!)
      expect(group.hashes[i]).toBe(murmur3(key) | 0)
      if (frequent !== undefined) expect(frequent.keyGroup).toBe(keyGroupOf(key, MAX_PARALLELISM))
      found.push({ key: Buffer.from(key).toString('hex'), isFrequent: frequent !== undefined })
    }
  }
  return found
}

describe('an output by key whose receivers keep frequent keys', () => {
  it('gives every receiver the bytes of each key, whatever comes again and loses its place', () => {
    const { output, received } = setUp()
    const random = seededRandom(7)
    const keyAt = (n: number): PlainKey => {
      const id = random.below(3) === 0 ? random.below(5000) : random.below(40)
      const kinds = [id, `${id}`, [id, n & 1], [`${id}`, id], -id / 2, [id], [id, [id]], true, 7n]
      return kinds[random.below(kinds.length)] as PlainKey
    }
    const expected: string[][] = [[], []]
    for (let n = 0; n < 30_000; n++) {
      const key = keyAt(n)
      const hex = bytesOf(key)
      const group = keyGroupOf(Buffer.from(hex, 'hex'), MAX_PARALLELISM)
      expected[group < MAX_PARALLELISM / 2 ? 0 : 1]!.push(hex)
      output.send(key, 1, 0)
    }
    const got = received()
    expect(got.map((records) => records.map(({ key }) => key))).toEqual(expected)
    const frequent = got.flat().filter(({ isFrequent }) => isFrequent)
    expect(frequent.length).toBeGreaterThan(9000)
    expect(frequent.length).toBeLessThan(25_000)
  })

  it('knows a tuple by its parts, also after the program has changed it', () => {
    const { output, received } = setUp()
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
    expect(keys.filter(({ isFrequent }) => isFrequent)).toHaveLength(3)
  })

  it('refers to no key of a record that could not be written', () => {
    const { output, received } = setUp()
    output.send(5, 1, 0)
    expect(() => output.send(5, -1, 0)).toThrow('negative')
    for (let n = 0; n < 2; n++) output.send(5, 1, 0)
    expect(received().flat()).toEqual([
      { key: bytesOf(5), isFrequent: false },
      { key: bytesOf(5), isFrequent: true },
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
