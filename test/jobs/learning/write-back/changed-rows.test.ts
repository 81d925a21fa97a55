import { describe, expect, it } from 'vitest'
import { ALS_LEARNED_MODEL } from '../../../../src/jobs/learning/write-back/als-model.ts'
import {
  changedRows,
  type LearnedRow,
} from '../../../../src/jobs/learning/write-back/changed-rows.ts'
import type { LearnedModel } from '../../../../src/jobs/learning/write-back/learned-model.ts'
import { LINEAR_LEARNED_MODEL } from '../../../../src/jobs/learning/write-back/linear-model.ts'
import type { SegmentReference } from '../../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'
import { SegmentWriter } from '../../../../src/runtime/checkpoint/segment/writer.ts'
import { encodeVectorRow } from '../../../../src/state/rows/codec.ts'
import { MemoryCheckpointStorage } from '../../../../src/testing/memory-checkpoint-storage.ts'

type Entry = readonly [state: string, key: string, row: Uint8Array | undefined]

const TOPIC = 0
const OBSERVATIONS = 1

function row(value: number, source: number, updates = 1): Uint8Array {
  const origin = { source, partition: 0, offset: 5, eventTime: 0 }
  return encodeVectorRow(Float32Array.of(value), origin, updates)
}

/** A checkpoint whose segments are of the checkpoints 1, 2, ... */
class StoredRows {
  private readonly storage = new MemoryCheckpointStorage()
  private readonly segments: SegmentReference[] = []
  private readonly model: LearnedModel

  constructor(model: LearnedModel) {
    this.model = model
  }

  async add(...entries: readonly Entry[]): Promise<void> {
    const checkpointId = this.segments.length + 1
    const keyGroups = { first: 0, last: 127 }
    const path = `job/shared/${checkpointId}-1-op-0-1`
    const writer = new SegmentWriter({ storage: this.storage, path, keyGroups })
    entries.forEach(([state, key, value]) => {
      writer.append(key.charCodeAt(0) % 128, state, new TextEncoder().encode(key), value)
    })
    this.segments.push(await writer.finish({ checkpointId, full: checkpointId === 1 }))
  }

  /** By key, value and ratings of the rows of version 7 that changed. */
  async changed(
    after = 0,
    all = false,
  ): Promise<Record<string, readonly [number, number | undefined]>> {
    const rows: Record<string, readonly [number, number | undefined]> = {}
    for await (const { key, floats, ratings } of this.read(after, all)) {
      expect(rows).not.toHaveProperty(key)
      rows[key] = [firstFloat(floats), ratings]
    }
    return rows
  }

  /** By key, the first float of what is kept beside the rows that changed. */
  async memories(after: number): Promise<Record<string, number | undefined>> {
    const memories: Record<string, number | undefined> = {}
    for await (const { key, memory } of this.read(after, false)) {
      memories[key] = memory && firstFloat(memory)
    }
    return memories
  }

  private read(after: number, all: boolean): AsyncGenerator<LearnedRow> {
    const { model, storage, segments } = this
    const operator = {
      ...{ uid: model.owner, parallelism: 1, maxParallelism: 128, declarations: [] },
      ...{ segments, operatorState: [] },
    }
    const manifest = {
      ...{ jobId: 'job', jobName: 'learn', attempt: 1, generation: 1, kind: 'checkpoint' as const },
      ...{ checkpointId: segments.length, triggeredAtMs: 0, completedAtMs: 0 },
      operators: [operator],
    }
    return changedRows({ checkpoint: { manifest, storage }, model, version: 7, after, all })
  }
}

function firstFloat({ buffer, byteOffset, length }: Uint8Array): number {
  return new DataView(buffer, byteOffset, length).getFloat32(0, true)
}

describe('the changed rows of a checkpoint', () => {
  it('are those of the version that an observation wrote last', async () => {
    const rows = new StoredRows(ALS_LEARNED_MODEL)
    await rows.add(
      ['user-rows@7', 'learned-U', row(1, OBSERVATIONS)],
      ['user-rows@7', 'trained-U', row(2, TOPIC)],
      ['user-rows@6', 'earlier-U', row(3, OBSERVATIONS)],
      ['item-rows@7', 'learned-I', row(4, OBSERVATIONS)],
      ['other@7', 'else', row(5, OBSERVATIONS)],
    )
    expect(Object.keys(await rows.changed()).sort()).toEqual(['learned-I', 'learned-U'])
  })

  it('are the newest of each key, and no row that was deleted or published again since', async () => {
    const rows = new StoredRows(ALS_LEARNED_MODEL)
    const keys = ['learned-U', 'deleted-U', 'published-U']
    await rows.add(...keys.map((key): Entry => ['user-rows@7', key, row(1, OBSERVATIONS)]))
    await rows.add(
      ['user-rows@7', 'learned-U', row(2, OBSERVATIONS)],
      ['user-rows@7', 'deleted-U', undefined],
      ['user-rows@7', 'published-U', row(3, TOPIC)],
    )
    expect(await rows.changed()).toEqual({ 'learned-U': [2, 1] })
  })

  it('count the ratings of the training, from older segments too, and one for each update', async () => {
    const rows = new StoredRows(ALS_LEARNED_MODEL)
    await rows.add(['user-evidence@7', 'a-U', row(20, TOPIC)])
    await rows.add(
      ['user-rows@7', 'a-U', row(1, OBSERVATIONS, 4)],
      ['user-rows@7', 'new-U', row(2, OBSERVATIONS, 3)],
    )
    expect(await rows.changed(1)).toEqual({ 'a-U': [1, 23], 'new-U': [2, 3] })
  })

  it('keep the variances of their training, which are in older segments', async () => {
    const rows = new StoredRows(ALS_LEARNED_MODEL)
    await rows.add(['user-variances@7', 'a-U', row(0.5, TOPIC)])
    await rows.add(
      ['user-rows@7', 'a-U', row(1, OBSERVATIONS)],
      ['user-rows@7', 'new-U', row(2, OBSERVATIONS)],
    )
    expect(await rows.memories(1)).toEqual({ 'a-U': 0.5, 'new-U': undefined })
  })

  it('are only those of segments after the last write-back', async () => {
    const rows = new StoredRows(LINEAR_LEARNED_MODEL)
    await rows.add(
      ['weights@7', '0', row(1, OBSERVATIONS)],
      ['weights@7', '1', row(2, OBSERVATIONS)],
    )
    await rows.add(['weights@7', '1', row(3, OBSERVATIONS)])
    expect(await rows.changed()).toEqual({ '0-W': [1, undefined], '1-W': [3, undefined] })
    expect(await rows.changed(1)).toEqual({ '1-W': [3, undefined] })
    expect(await rows.changed(2)).toEqual({})
  })

  it('are all rows of the version if they are asked for, those that were never learned with their own ratings', async () => {
    const rows = new StoredRows(ALS_LEARNED_MODEL)
    await rows.add(
      ['user-evidence@7', 'trained-U', row(20, TOPIC)],
      ['user-evidence@7', 'learned-U', row(20, TOPIC)],
      ['user-rows@7', 'trained-U', row(1, TOPIC)],
      ['user-rows@7', 'uncounted-U', row(2, TOPIC)],
      ['user-rows@7', 'learned-U', row(3, OBSERVATIONS, 4)],
      ['user-rows@6', 'earlier-U', row(4, TOPIC)],
    )
    expect(await rows.changed(0, true)).toEqual({
      'trained-U': [1, 20],
      'uncounted-U': [2, undefined],
      'learned-U': [3, 23],
    })
  })

  it('are none where the checkpoint has no rows', async () => {
    expect(await new StoredRows(ALS_LEARNED_MODEL).changed()).toEqual({})
  })
})
