import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../../src/core/random.ts'
import type { SegmentReference } from '../../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'
import { compactSegments } from '../../../../src/runtime/checkpoint/segment/compact.ts'
import { SegmentWriter } from '../../../../src/runtime/checkpoint/segment/writer.ts'
import { MemoryCheckpointStorage } from '../../../../src/testing/memory-checkpoint-storage.ts'
import { readSegment } from './read-segment.ts'

const ALL = { first: 0, last: 63 }

/** Three segments of random puts and deletes, oldest first, and the state that they give. */
async function chain(storage: MemoryCheckpointStorage) {
  const random = seededRandom(11)
  const state = new Map<string, string | undefined>()
  const inputs: SegmentReference[] = []
  for (let id = 1; id <= 3; id++) {
    const path = `j/shared/1-1-op-0-${id}`
    const writer = new SegmentWriter({ storage, path, keyGroups: ALL, blockBytes: 2000 })
    for (let i = 0; i < 800; i++) {
      const number = random.below(500)
      const value = random.below(4) === 0 ? undefined : `${id}.${i}`
      const data = value === undefined ? undefined : Buffer.from(value)
      writer.append(number % 64, number % 2 === 0 ? 'a' : 'b', Buffer.from(`${number}`), data)
      state.set(`${number}`, value)
    }
    inputs.push(await writer.finish({ checkpointId: id, sequence: id, full: id === 1 }))
  }
  return { inputs, state }
}

async function entriesOf(
  storage: MemoryCheckpointStorage,
  segment: SegmentReference,
): Promise<[string, string | undefined][]> {
  const entries: [string, string | undefined][] = []
  await readSegment(storage, segment, ALL, (_group, _state, key, value) => {
    entries.push([
      Buffer.from(key).toString(),
      value === undefined ? undefined : Buffer.from(value).toString(),
    ])
  })
  return entries
}

const path = 'j/shared/1-0-compacted-1'
const declared = new Set(['a', 'b'])

describe('compactSegments', () => {
  it('keeps the newest entry of every key, and deleted keys as such', async () => {
    const storage = new MemoryCheckpointStorage()
    const { inputs, state } = await chain(storage)
    const job = { storage, inputs, keyGroups: ALL, full: false, declared, path, windowBytes: 3000 }
    const entries = await entriesOf(storage, await compactSegments(job))
    expect(entries.length).toBe(state.size)
    expect(new Map(entries)).toEqual(state)
  })

  it('leaves out what the operator no longer declares, as a dropped version', async () => {
    const storage = new MemoryCheckpointStorage()
    const { inputs, state } = await chain(storage)
    const job = { storage, inputs, keyGroups: ALL, full: false, declared: new Set(['b']), path }
    const ofB = [...state].filter(([number]) => Number(number) % 2 === 1)
    expect(new Map(await entriesOf(storage, await compactSegments(job)))).toEqual(new Map(ofB))
  })

  it('drops deleted keys when nothing older exists', async () => {
    const storage = new MemoryCheckpointStorage()
    const { inputs, state } = await chain(storage)
    const output = await compactSegments({
      storage,
      inputs,
      keyGroups: ALL,
      full: true,
      declared,
      path,
    })
    const live = [...state].filter(([, value]) => value !== undefined)
    expect(new Map(await entriesOf(storage, output))).toEqual(new Map(live))
    expect(output).toMatchObject({ full: true, checkpointId: 3, sequence: 3, entries: live.length })
  })

  it('takes only its key groups, and of a narrowed input only those that still count', async () => {
    const storage = new MemoryCheckpointStorage()
    const { inputs } = await chain(storage)
    const narrowed = inputs.map((input) => ({ ...input, keyGroups: { first: 8, last: 20 } }))
    const keyGroups = { first: 0, last: 15 }
    const output = await compactSegments({
      storage,
      inputs: narrowed,
      keyGroups,
      full: false,
      declared,
      path,
    })
    const groups = (await entriesOf(storage, output)).map(([key]) => Number(key) % 64)
    expect(Math.min(...groups)).toBe(8)
    expect(Math.max(...groups)).toBe(15)
  })

  it('leaves no file when it is aborted', async () => {
    const storage = new MemoryCheckpointStorage()
    const { inputs } = await chain(storage)
    const signal = AbortSignal.abort()
    const job = { storage, inputs, keyGroups: ALL, full: false, declared, path, signal }
    await expect(compactSegments(job)).rejects.toMatchObject({ code: 'ILLEGAL_STATE' })
    expect(storage.files.has(path)).toBe(false)
  })

  it('leaves no file when an input is damaged', async () => {
    const storage = new MemoryCheckpointStorage()
    const { inputs } = await chain(storage)
    storage.files.get(inputs[1]!.path)![500]! ^= 1
    const job = { storage, inputs, keyGroups: ALL, full: false, declared, path }
    await expect(compactSegments(job)).rejects.toMatchObject({ code: 'CHECKSUM_MISMATCH' })
    expect(storage.files.has(path)).toBe(false)
  })
})
