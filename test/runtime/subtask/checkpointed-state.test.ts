import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { keyGroupOf } from '../../../src/core/key-group.ts'
import { MetricGroup } from '../../../src/core/metrics.ts'
import { int53Serializer } from '../../../src/core/serializer.ts'
import type { SegmentReference } from '../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'
import type {
  CheckpointStorage,
  StorageWriter,
} from '../../../src/runtime/checkpoint/storage/checkpoint-storage.ts'
import {
  CheckpointedState,
  type CheckpointedStateSnapshot,
} from '../../../src/runtime/subtask/checkpointed-state.ts'
import { openKeyedState } from '../../../src/state/open-keyed-state.ts'
import type { ChangeSink } from '../../../src/state/port/change.ts'
import { valueState } from '../../../src/state/port/descriptors.ts'
import { MemoryCheckpointStorage } from '../../../src/testing/memory-checkpoint-storage.ts'
import { readSegment } from '../checkpoint/segment/read-segment.ts'

const KEY_GROUPS = { first: 0, last: 15 }
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Storage in which the commit of a file waits for its gate, if it has one. */
class GatedStorage extends MemoryCheckpointStorage {
  private readonly gates = new Map<string, PromiseWithResolvers<void>>()

  hold(path: string): void {
    const gate = Promise.withResolvers<void>()
    gate.promise.catch(() => {})
    this.gates.set(path, gate)
  }

  letGo(path: string): void {
    this.gates.get(path)!.resolve()
  }

  fail(path: string): void {
    this.gates.get(path)!.reject(new Error(`the disk with ${path} is gone`))
  }

  private writes: PromiseWithResolvers<void> | undefined

  holdWrites(): void {
    this.writes = Promise.withResolvers<void>()
  }

  letWritesGo(): void {
    this.writes!.resolve()
  }

  override async createWriter(path: string): Promise<StorageWriter> {
    await this.writes?.promise
    const writer = await super.createWriter(path)
    const commit = async (): Promise<void> => {
      await this.gates.get(path)?.promise
      await writer.commit()
    }
    return { write: (bytes) => writer.write(bytes), commit, abort: () => writer.abort() }
  }
}

async function openState(storage: CheckpointStorage) {
  const backend = await openKeyedState({
    operatorUid: 'counter',
    slot: 0,
    keyGroups: KEY_GROUPS,
    maxParallelism: 16,
    storeType: 'heap',
    storeDirectory: '',
    memoryBudgetBytes: 2 ** 20,
    clock: systemClock,
    listener: { tableOpened() {}, tableDropped() {}, queryableDeclared() {} },
    metrics: new MetricGroup(),
  })
  const count = backend.value(valueState('count', { serializer: int53Serializer }))
  let sink: ChangeSink | undefined
  const setSpillSink = backend.setSpillSink.bind(backend)
  backend.setSpillSink = (next) => {
    sink = next
    setSpillSink(next)
  }
  /** Does what the backend does with an entry that leaves memory. */
  const spill = (key: string, value: Uint8Array): void => {
    const bytes = Buffer.from(key)
    sink!.append(keyGroupOf(bytes, 16), 'count', bytes, value)
  }
  const state = new CheckpointedState(backend, { storage, pathOf: (number) => `segment-${number}` })
  const write = (key: string, value: number): void => {
    const bytes = Buffer.from(key)
    backend.setCurrentKey(bytes, keyGroupOf(bytes, 16))
    count.update(value)
  }
  return { state, write, spill }
}

/** Keys of the segments, newest segment first. */
async function keysOf(storage: CheckpointStorage, segments: readonly SegmentReference[]) {
  const keys = new Set<string>()
  for (const segment of segments.toReversed()) {
    await readSegment(storage, segment, KEY_GROUPS, (_group, _state, key) => {
      keys.add(
        Buffer.from(key)
          .toString()
          .replaceAll(/[^a-z]/g, ''),
      )
    })
  }
  return [...keys].sort()
}

/** Begins to complete a snapshot; the outcome is read later. */
function finishing(snapshot: CheckpointedStateSnapshot) {
  const outcome = {
    settled: false,
    result: snapshot.finish().finally(() => {
      outcome.settled = true
    }),
  }
  outcome.result.catch(() => {})
  return outcome
}

describe('CheckpointedState', () => {
  it('names the segment of an older checkpoint whose storage is slower than its own', async () => {
    const storage = new GatedStorage()
    const { state, write } = await openState(storage)
    storage.hold('segment-1')
    write('a', 1)
    const sixth = finishing(state.snapshot(6, false))
    write('b', 1)
    const seventh = finishing(state.snapshot(7, false))
    for (let i = 0; i < 5; i++) await turn()
    expect(seventh.settled).toBe(false)
    storage.letGo('segment-1')
    expect(await keysOf(storage, await seventh.result)).toEqual(['a', 'b'])
    await sixth.result
    state.completed(7)
    write('c', 1)
    expect(await keysOf(storage, await state.snapshot(8, false).finish())).toEqual(['c'])
    await state.close()
  })

  it('fails every snapshot that builds on a lost segment, and then takes a full one', async () => {
    const storage = new GatedStorage()
    const { state, write } = await openState(storage)
    storage.hold('segment-1')
    write('a', 1)
    const sixth = finishing(state.snapshot(6, false))
    write('b', 1)
    const seventh = finishing(state.snapshot(7, false))
    storage.fail('segment-1')
    await expect(sixth.result).rejects.toThrow('is gone')
    await expect(seventh.result).rejects.toThrow('builds on a segment that could not be written')
    write('c', 1)
    const segments = await state.snapshot(8, false).finish()
    expect(segments.map(({ full }) => full)).toEqual([true])
    expect(await keysOf(storage, segments)).toEqual(['a', 'b', 'c'])
    await state.close()
  })

  it('keeps a full snapshot and what builds on it when an older segment is lost', async () => {
    const storage = new GatedStorage()
    const { state, write } = await openState(storage)
    storage.hold('segment-1')
    write('a', 1)
    const sixth = finishing(state.snapshot(6, false))
    write('b', 1)
    await state.snapshot(7, true).finish()
    write('c', 1)
    const eighth = state.snapshot(8, false)
    storage.fail('segment-1')
    await expect(sixth.result).rejects.toThrow('is gone')
    const segments = await eighth.finish()
    expect(segments.map(({ full }) => full)).toEqual([true, false])
    expect(await keysOf(storage, segments)).toEqual(['a', 'b', 'c'])
    await state.close()
  })

  it('takes a full snapshot again when a full one is lost', async () => {
    const storage = new GatedStorage()
    const { state, write } = await openState(storage)
    write('a', 1)
    storage.hold('segment-2')
    const lost = finishing(state.snapshot(1, true))
    storage.fail('segment-2')
    await expect(lost.result).rejects.toThrow('is gone')
    write('b', 1)
    const segments = await state.snapshot(2, false).finish()
    expect(segments.map(({ full }) => full)).toEqual([true])
    expect(await keysOf(storage, segments)).toEqual(['a', 'b'])
    await state.close()
  })

  it('names the segment of an aborted checkpoint until a later one completes', async () => {
    const storage = new GatedStorage()
    const { state, write } = await openState(storage)
    write('a', 1)
    await state.snapshot(1, false).finish()
    expect((await state.snapshot(2, false).finish()).map((s) => s.checkpointId)).toEqual([1])
    state.completed(2)
    expect(await state.snapshot(3, false).finish()).toEqual([])
    await state.close()
  })

  it('is not ready while spilled entries wait for slow storage', async () => {
    const storage = new GatedStorage()
    const { state, spill } = await openState(storage)
    storage.holdWrites()
    const block = new Uint8Array(1024 * 1024)
    for (let n = 0; n < 16 && state.ready(); n++) spill(`key-${n}`, block)
    expect(state.ready()).toBe(false)
    storage.letWritesGo()
    await state.whenReady()
    expect(state.ready()).toBe(true)
    await state.close()
  })

  it('takes a full snapshot if most of many entries have changed, and only then', async () => {
    const { state, write } = await openState(new MemoryCheckpointStorage())
    const writeAll = (value: number): void => {
      for (let n = 0; n < 6000; n++) write(`key-${n}`, value)
    }
    const segmentsOf = async (checkpointId: number) => {
      const segments = await state.snapshot(checkpointId, false).finish()
      state.completed(checkpointId)
      return segments.map(({ full, entries }) => ({ full, entries }))
    }
    writeAll(1)
    expect(await segmentsOf(1)).toEqual([{ full: true, entries: 6000 }])
    for (let n = 0; n < 100; n++) write(`key-${n}`, 2)
    expect(await segmentsOf(2)).toEqual([{ full: false, entries: 100 }])
    for (let n = 0; n < 5000; n++) write(`key-${n}`, 3)
    expect(await segmentsOf(3)).toEqual([{ full: true, entries: 6000 }])
    await state.close()
  })
})
