import { describe, expect, it } from 'vitest'
import type { KeyGroupRange } from '../../../../src/core/key-group.ts'
import { seededRandom } from '../../../../src/core/random.ts'
import type { SegmentReference } from '../../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'
import { SegmentWriter } from '../../../../src/runtime/checkpoint/segment/writer.ts'
import { MemoryCheckpointStorage } from '../../../../src/testing/memory-checkpoint-storage.ts'
import { readSegment } from './read-segment.ts'

const PATH = 'job/shared/1-1-op-0-1'
const ALL: KeyGroupRange = { first: 0, last: 127 }
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const text = (data: Uint8Array): string => new TextDecoder().decode(data)

type Entry = readonly [group: number, state: string, key: string, value: string | undefined]

async function write(
  storage: MemoryCheckpointStorage,
  entries: readonly Entry[],
  blockBytes = 300,
): Promise<SegmentReference> {
  const writer = new SegmentWriter({ storage, path: PATH, keyGroups: ALL, blockBytes })
  for (const [group, state, key, value] of entries) {
    writer.append(group, state, bytes(key), value === undefined ? undefined : bytes(value))
    if (!writer.ready()) await writer.whenReady()
  }
  return writer.finish({ checkpointId: 7, sequence: 2, full: false })
}

async function read(
  storage: MemoryCheckpointStorage,
  reference: SegmentReference,
  range: KeyGroupRange = ALL,
): Promise<Entry[]> {
  const entries: Entry[] = []
  await readSegment(storage, reference, range, (group, state, key, value) => {
    entries.push([group, state, text(key), value && text(value)])
  })
  return entries
}

function randomEntries(count: number): Entry[] {
  const random = seededRandom(3)
  return Array.from({ length: count }, (_, i) => {
    const key = random.below(400)
    const value = random.below(8) === 0 ? undefined : `${i}`.repeat(random.below(60))
    return [key % 128, key % 3 === 0 ? 'a' : 'b', `k${key}`, value]
  })
}

function newestOf(entries: readonly Entry[], range: KeyGroupRange): Map<string, Entry> {
  const newest = new Map<string, Entry>()
  for (const entry of entries) {
    if (entry[0] >= range.first && entry[0] <= range.last) newest.set(entry[2], entry)
  }
  return newest
}

describe('the reader of a segment', () => {
  it('returns every entry that was appended', async () => {
    const storage = new MemoryCheckpointStorage()
    const entries = randomEntries(2000)
    const found = await read(storage, await write(storage, entries))
    expect(found.map(String).sort()).toEqual(entries.map(String).sort())
  })

  it('gives the newest entry of a key first, over blocks and within them', async () => {
    const storage = new MemoryCheckpointStorage()
    const entries = randomEntries(2000)
    const found = await read(storage, await write(storage, entries))
    const first = new Map<string, Entry>()
    for (const entry of found) if (!first.has(entry[2])) first.set(entry[2], entry)
    expect(first).toEqual(newestOf(entries, ALL))
  })

  it('gives only the key groups asked for', async () => {
    const storage = new MemoryCheckpointStorage()
    const entries = randomEntries(2000)
    const range = { first: 17, last: 40 }
    const found = await read(storage, await write(storage, entries, 30_000), range)
    expect(new Set(found.map((entry) => entry[2]))).toEqual(
      new Set(newestOf(entries, range).keys()),
    )
    expect(found.every(([group]) => group >= 17 && group <= 40)).toBe(true)
  })

  it('gives only the key groups that the reference still counts for', async () => {
    const storage = new MemoryCheckpointStorage()
    const reference = await write(storage, randomEntries(500))
    const narrowed = { ...reference, keyGroups: { first: 5, last: 5 } }
    const groups = (await read(storage, narrowed)).map(([group]) => group)
    expect(new Set(groups)).toEqual(new Set([5]))
  })

  it('reads only the slices of its key groups', async () => {
    const storage = new MemoryCheckpointStorage()
    const big = 'x'.repeat(20_000)
    const entries = Array.from({ length: 100 }, (_, i): Entry => [i, 's', `k${i}`, big])
    const reference = await write(storage, entries, 1_000_000)
    let readBytes = 0
    const original = storage.read.bind(storage)
    storage.read = async (...args) => {
      const result = await original(...args)
      readBytes += result.length
      return result
    }
    await read(storage, reference, { first: 50, last: 51 })
    expect(readBytes).toBeLessThan(150_000)
    expect(reference.bytes).toBeGreaterThan(2_000_000)
  })

  it('holds an entry larger than a block', async () => {
    const storage = new MemoryCheckpointStorage()
    const huge = 'y'.repeat(70_000)
    const reference = await write(storage, [
      [1, 's', 'small', 'x'],
      [2, 's', 'huge', huge],
    ])
    expect((await read(storage, reference)).map((entry) => entry[3])).toEqual(['x', huge])
  })

  it('reads an empty segment', async () => {
    const storage = new MemoryCheckpointStorage()
    expect(await read(storage, await write(storage, []))).toEqual([])
  })

  it('detects every damaged byte of a file', async () => {
    const storage = new MemoryCheckpointStorage()
    const reference = await write(storage, randomEntries(60), 500)
    const good = storage.files.get(PATH)!
    const unnoticed: number[] = []
    for (let i = 0; i < good.length; i++) {
      const bad = good.slice()
      bad[i]! ^= 0x40
      storage.files.set(PATH, bad)
      const noticed = await read(storage, reference).then(
        () => false,
        () => true,
      )
      if (!noticed) unnoticed.push(i)
    }
    // The two reserved bytes of the header have no meaning.
    expect(unnoticed).toEqual([6, 7])
  })

  it('detects a truncated file', async () => {
    const storage = new MemoryCheckpointStorage()
    const reference = await write(storage, randomEntries(60))
    const good = storage.files.get(PATH)!
    for (const length of [0, 5, 20, good.length - 1]) {
      storage.files.set(PATH, good.slice(0, length))
      await expect(read(storage, reference)).rejects.toMatchObject({ code: 'MALFORMED_DATA' })
    }
  })

  it('detects another segment in place of the right one', async () => {
    const storage = new MemoryCheckpointStorage()
    const reference = await write(storage, [[1, 's', 'a', '1']])
    await write(storage, [[1, 's', 'a', '2']])
    await expect(read(storage, reference)).rejects.toMatchObject({ code: 'CHECKSUM_MISMATCH' })
  })

  it('refuses an unknown version', async () => {
    const storage = new MemoryCheckpointStorage()
    const reference = await write(storage, [[1, 's', 'a', '1']])
    storage.files.get(PATH)![4] = 9
    await expect(read(storage, reference)).rejects.toMatchObject({ code: 'UNSUPPORTED_VERSION' })
  })

  it('throws what the visitor throws', async () => {
    const storage = new MemoryCheckpointStorage()
    const reference = await write(storage, randomEntries(500))
    const visit = (): void => {
      throw new Error('enough')
    }
    await expect(readSegment(storage, reference, ALL, visit)).rejects.toThrow('enough')
  })
})
