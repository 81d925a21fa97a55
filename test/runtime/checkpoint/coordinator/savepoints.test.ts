import { describe, expect, it } from 'vitest'
import {
  type InspectedCheckpoint,
  inspectCheckpoints,
} from '../../../../src/runtime/checkpoint/coordinator/inspect.ts'
import { readManifest } from '../../../../src/runtime/checkpoint/manifest/read.ts'
import type { MemoryCheckpointStorage } from '../../../../src/testing/memory-checkpoint-storage.ts'
import { Bench, JOB, TASKS } from './bench.ts'

/** Every checkpoint and savepoint in storage, newest first. */
async function inspected(storage: MemoryCheckpointStorage): Promise<InspectedCheckpoint[]> {
  const found: InspectedCheckpoint[] = []
  for await (const one of inspectCheckpoints(storage, '', 'all-bytes')) found.push(one)
  return found
}

describe('savepoints of a CheckpointCoordinator', () => {
  it('writes a self-contained savepoint, which survives the job', async () => {
    const bench = await (await new Bench().open()).start()
    const asked = bench.coordinator.triggerSavepoint('backups/july')
    expect(bench.said).toEqual(['trigger 1 full'])
    await bench.ackAll(1, [await bench.segment(1, true)])
    const folder = await asked
    expect(folder).toMatch(/^backups\/july\/savepoint-ababab-[0-9a-f]{12}$/)
    await bench.storage.delete(JOB)
    const manifest = await readManifest(bench.storage, folder)
    expect(manifest.kind).toBe('savepoint')
    const [segment] = manifest.operators[0]!.segments
    expect((await bench.storage.read(segment!.path)).length).toBe(segment!.bytes)
  })

  it('triggers nothing after the last savepoint of a job, whose results would be committed', async () => {
    const bench = await (await new Bench().open({ intervalMs: 100 })).start()
    const last = bench.coordinator.triggerSavepoint(undefined, true)
    await bench.ackAll(1)
    await last
    bench.coordinator.triggerCheckpoint().catch(() => {})
    bench.clock.advance(1000)
    expect(bench.barriers).toHaveLength(1)
    bench.coordinator.resume()
    expect(bench.barriers).toHaveLength(2)
  })

  it('goes on with checkpoints where the last savepoint fails', async () => {
    const bench = await (await new Bench().open({ intervalMs: 100, timeoutMs: 50 })).start()
    const last = bench.coordinator.triggerSavepoint(undefined, true)
    bench.clock.advance(50)
    await expect(last).rejects.toMatchObject({ code: 'CHECKPOINT_EXPIRED' })
    bench.clock.advance(50)
    expect(bench.barriers).toHaveLength(2)
  })

  it('takes checkpoints of the next attempt where a job has failed at its last savepoint', async () => {
    const bench = await (await new Bench().open({ intervalMs: 100 })).start()
    bench.coordinator.triggerSavepoint(undefined, true).catch(() => {})
    await bench.coordinator.stop()
    await bench.coordinator.restorePoint(2)
    bench.coordinator.start(2, TASKS)
    bench.clock.advance(100)
    expect(bench.barriers).toHaveLength(2)
  })

  it('refuses a savepoint folder outside storage before it triggers anything', async () => {
    const bench = await (await new Bench().open()).start()
    await expect(bench.coordinator.triggerSavepoint('../up')).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
    expect(bench.said).toEqual([])
  })

  it('writes all state in the first checkpoint after a restore from a savepoint', async () => {
    const bench = await (await new Bench().open()).start()
    const saved = bench.coordinator.triggerSavepoint()
    await bench.ackAll(1, [await bench.segment(1, true)])
    const folder = await saved
    await bench.coordinator.stop()
    await bench.start(2, folder)
    void bench.coordinator.triggerCheckpoint()
    await bench.ackAll(2, [await bench.segment(2, true)], 2)
    void bench.coordinator.triggerCheckpoint()
    expect(bench.said.filter((line) => line.startsWith('trigger'))).toEqual([
      'trigger 1 full',
      'trigger 2 full',
      'trigger 3',
    ])
    const paths = bench.coordinator.latest!.operators[0]!.segments.map((s) => s.path)
    expect(paths.every((path) => path.startsWith(`${JOB}/shared/`))).toBe(true)
    expect(bench.files('savepoint-').length).toBe(2)
  })

  it('restores the same savepoint again if the process dies before its first checkpoint', async () => {
    const bench = await (await new Bench().open()).start()
    const saved = bench.coordinator.triggerSavepoint()
    await bench.ackAll(1, [await bench.segment(1, true)])
    const folder = await saved
    await bench.coordinator.stop()
    await bench.coordinator.restorePoint(2, folder)
    const next = await new Bench(bench.storage).open()
    const manifest = await next.coordinator.restorePoint(1)
    expect(manifest?.kind).toBe('savepoint')
    next.coordinator.start(1, TASKS)
    void next.coordinator.triggerCheckpoint()
    expect(next.said).toEqual(['trigger 2 full'])
  })

  it('keeps the files of the checkpoint that it must restore', async () => {
    const bench = await (await new Bench().open({ retained: 2 })).start()
    for (const id of [1, 2]) {
      void bench.coordinator.triggerCheckpoint()
      await bench.ackAll(id, [await bench.segment(id, true)])
    }
    await bench.coordinator.stop()
    const manifest = await bench.coordinator.restorePoint(2, `${JOB}/chk-1`)
    expect(manifest?.checkpointId).toBe(1)
    expect(bench.storage.files.has(manifest!.operators[0]!.segments[0]!.path)).toBe(true)
  })

  it('keeps the segments of checkpoints that a savepoint replaced until their manifests are deleted', async () => {
    const bench = await (await new Bench().open()).start()
    void bench.coordinator.triggerCheckpoint()
    await bench.ackAll(1, [await bench.segment(1, true)])
    const saved = bench.coordinator.triggerSavepoint()
    await bench.ackAll(2, [await bench.segment(2, true)])
    const folder = await saved
    await bench.coordinator.stop()
    const next = await (await new Bench(bench.storage).open()).start(1, folder)
    const [replaced] = await inspected(bench.storage)
    expect(replaced).toMatchObject({ folder: `${JOB}/chk-2`, isSuperseded: true, damaged: [] })
    for (const { path } of replaced!.manifest!.operators[0]!.segments) {
      expect(bench.storage.files.has(path)).toBe(true)
    }
    void next.coordinator.triggerCheckpoint()
    await next.ackAll(3, [await next.segment(3, true)])
    const [newest, ...older] = await inspected(bench.storage)
    expect(newest).toMatchObject({ folder: `${JOB}/chk-3`, isSuperseded: false, damaged: [] })
    expect(older.every(({ kind }) => kind === 'savepoint')).toBe(true)
    expect(next.files('/shared/').length).toBe(1)
  })
})
