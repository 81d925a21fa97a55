import { describe, expect, it } from 'vitest'
import type { KeyGroupRange } from '../../../../src/core/key-group.ts'
import type { WasmMemory } from '../../../../src/core/lifetime/wasm-memory.ts'
import type { SegmentReference } from '../../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'
import { restoreChain } from '../../../../src/runtime/checkpoint/segment/restore-chain.ts'
import { SegmentWriter } from '../../../../src/runtime/checkpoint/segment/writer.ts'
import { keyOfSpan, valueOfSpan } from '../../../../src/state/port/change.ts'
import { MemoryCheckpointStorage } from '../../../../src/testing/memory-checkpoint-storage.ts'

const ALL: KeyGroupRange = { first: 0, last: 127 }
const KEYS = 512
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const text = (data: Uint8Array): string => new TextDecoder().decode(data)

/** Storage that reads into the memory it is given, as that of files does. */
class ReadingInto extends MemoryCheckpointStorage {
  override async read(path: string, start?: number, length?: number, into?: Uint8Array) {
    const read = await super.read(path, start, length)
    into?.set(read)
    return into?.subarray(0, read.length) ?? read
  }
}

/** A segment of many small blocks in which every key of `keys` has the value. */
async function segmentOf(
  storage: MemoryCheckpointStorage,
  checkpointId: number,
  keys: readonly number[],
  value: string | undefined,
): Promise<SegmentReference> {
  const path = `job/shared/1-1-op-0-${checkpointId}`
  const writer = new SegmentWriter({ storage, path, keyGroups: ALL, blockBytes: 1024 })
  for (const key of keys) {
    writer.append(key % 128, 'a', bytes(`k${key}`), value === undefined ? undefined : bytes(value))
    if (!writer.ready()) await writer.whenReady()
  }
  return writer.finish({ checkpointId, full: checkpointId === 1 })
}

/** The first entry of every key, in the order in which they came. */
async function restore(
  storage: MemoryCheckpointStorage,
  segments: readonly SegmentReference[],
  wanted: () => number,
): Promise<Map<string, string | undefined>> {
  const first = new Map<string, string | undefined>()
  await restoreChain({
    storage,
    segments,
    keyGroups: ALL,
    visit: (_group, _state, entry) => {
      const key = text(keyOfSpan(entry))
      const value = valueOfSpan(entry)
      if (!first.has(key)) first.set(key, value === undefined ? undefined : text(value))
    },
    wanted,
  })
  return first
}

describe('restoreChain', () => {
  const every = Array.from({ length: KEYS }, (_, key) => key)

  it('gives the newest entry of a key first, deletions too', async () => {
    const storage = new MemoryCheckpointStorage()
    const old = await segmentOf(storage, 1, every, 'old')
    const changed = await segmentOf(storage, 2, [1, 2], 'new')
    const deleted = await segmentOf(storage, 3, [2, 3], undefined)
    const first = await restore(storage, [deleted, changed, old], () => -1)
    expect(first.size).toBe(KEYS)
    expect(['k0', 'k1', 'k2', 'k3'].map((key) => first.get(key))).toEqual([
      'old',
      'new',
      undefined,
      undefined,
    ])
  })

  it('reads into a memory in which kernels find the entries', async () => {
    const storage = new ReadingInto()
    const segment = await segmentOf(storage, 1, every, 'old')
    const memories = new Set<WasmMemory | undefined>()
    const keys = new Set<string>()
    const wanted = [7]
    await restoreChain({
      storage,
      segments: [segment],
      keyGroups: ALL,
      visit: (_group, _state, { memory, bytes, keyAt, keyLength }) => {
        memories.add(memory)
        keys.add(text(new Uint8Array(memory!.buffer, bytes.byteOffset + keyAt, keyLength).slice()))
      },
      wanted: () => wanted.pop() ?? -1,
    })
    expect(keys).toEqual(new Set(every.map((key) => `k${key}`)))
    // A group that is read ahead must not overwrite the reads under way.
    expect(memories.size).toBe(2)
  })

  it('reports an upper limit of the number of entries before the first one', async () => {
    const storage = new MemoryCheckpointStorage()
    const old = await segmentOf(storage, 1, every, 'old')
    const changed = await segmentOf(storage, 2, [1, 2], 'new')
    const events: string[] = []
    await restoreChain({
      storage,
      segments: [changed, old],
      keyGroups: ALL,
      expect: (entries) => events.push(`at most ${entries}`),
      visit: () => events.push('entry'),
      wanted: () => -1,
    })
    expect(events.slice(0, 2)).toEqual([`at most ${KEYS + 2}`, 'entry'])
  })

  it('restores a key group for which a query waits first, over the complete chain', async () => {
    const storage = new MemoryCheckpointStorage()
    const old = await segmentOf(storage, 1, every, 'old')
    const changed = await segmentOf(storage, 2, [5], 'new')
    const requested = [5]
    const first = await restore(storage, [changed, old], () => requested.pop() ?? -1)
    const ofGroup = every.filter((key) => key % 128 === 5).map((key) => `k${key}`)
    expect([...first.keys()].slice(0, ofGroup.length).sort()).toEqual(ofGroup.sort())
    expect(first.get('k5')).toBe('new')
    expect(first.size).toBe(KEYS)
  })

  it('restores each such key group first only once, however often it is requested', async () => {
    const storage = new MemoryCheckpointStorage()
    const old = await segmentOf(storage, 1, every, 'old')
    let reads = 0
    const read = storage.read.bind(storage)
    storage.read = (path, start, length) => {
      reads += 1
      return read(path, start, length)
    }
    await restore(storage, [old], () => -1)
    const plain = reads
    reads = 0
    const requested = [7, 7, 7, 7]
    await restore(storage, [old], () => requested.pop() ?? -1)
    const blocksOfGroup = reads - plain
    expect(blocksOfGroup).toBeGreaterThan(0)
    expect(blocksOfGroup).toBeLessThanOrEqual(every.length / 128)
  })

  it('ignores a request for a key group of another subtask', async () => {
    const storage = new MemoryCheckpointStorage()
    const old = await segmentOf(storage, 1, every, 'old')
    const requested = [128, 3000]
    const first = await restore(storage, [old], () => requested.pop() ?? -1)
    expect(first.size).toBe(KEYS)
  })
})
