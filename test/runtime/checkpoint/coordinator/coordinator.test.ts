import { describe, expect, it } from 'vitest'
import { momentOf } from '../../../../src/core/moment.ts'
import { readManifest } from '../../../../src/runtime/checkpoint/manifest/read.ts'
import { MemoryCheckpointStorage } from '../../../../src/testing/memory-checkpoint-storage.ts'
import { Bench, JOB, settled, TASKS } from './bench.ts'

describe('CheckpointCoordinator', () => {
  it('triggers by the clock and completes when every task has acknowledged', async () => {
    const bench = await (await new Bench().open({ intervalMs: 100 })).start()
    bench.clock.advance(99)
    expect(bench.said).toEqual([])
    bench.clock.advance(1)
    expect(bench.ack(1, 'op#0')).toBe('accepted')
    expect(bench.ack(1, 'op#1')).toBe('completed')
    await settled()
    expect(bench.said).toEqual(['trigger 1', 'completed 1'])
    expect(bench.coordinator.latest?.checkpointId).toBe(1)
    const stored = await readManifest(bench.storage, `${JOB}/chk-1`)
    expect(stored).toEqual(bench.coordinator.latest)
  })

  it('waits for the pause after a slow checkpoint', async () => {
    const bench = await (await new Bench().open({ intervalMs: 100, minPauseMs: 70 })).start()
    bench.clock.advance(160)
    await bench.ackAll(1)
    bench.clock.advance(69)
    expect(bench.barriers.length).toBe(1)
    bench.clock.advance(1)
    expect(bench.barriers.length).toBe(2)
  })

  it('aborts a checkpoint at its timeout and ignores later acknowledgements', async () => {
    const bench = await (await new Bench().open({ timeoutMs: 50 })).start()
    const asked = bench.coordinator.triggerCheckpoint()
    bench.ack(1, 'op#0')
    bench.clock.advance(50)
    await expect(asked).rejects.toMatchObject({ code: 'CHECKPOINT_EXPIRED' })
    await expect(asked).rejects.toThrow('op#1')
    expect(bench.said).toEqual(['trigger 1', 'aborted 1', '1 expired'])
    expect(bench.ack(1, 'op#1')).toBe('late-ignored')
  })

  it('fails the job after more failures in a row than are tolerated', async () => {
    const bench = await (await new Bench().open({ tolerableFailures: 1 })).start()
    for (const checkpointId of [1, 2]) {
      bench.coordinator.triggerCheckpoint().catch(() => {})
      const decline = { jobId: JOB, attempt: 1, checkpointId, task: 'op#0', reason: 'disk full' }
      expect(bench.coordinator.onDecline(decline)).toBe('aborted')
    }
    expect(bench.said.filter((line) => line.startsWith('fail'))).toEqual([
      'fail job: CHECKPOINT_DECLINED',
    ])
  })

  it.each([
    ['before its manifest is written', 'claim'],
    ['while its manifest is written', 'chk-2/_metadata'],
    ['while its completion is recorded', '-completed-2'],
  ])(
    'does not complete what sinks can no longer commit, however many failures are tolerated: late %s',
    async (_, file) => {
      const storage = new MemoryCheckpointStorage()
      const bench = await (await new Bench(storage).open({ tolerableFailures: 1000 })).start()
      void bench.coordinator.triggerCheckpoint()
      await bench.ackAll(1)
      const commitBy = [{ began: momentOf(bench.clock), limitMs: 1000 }]
      const asked = bench.coordinator.triggerCheckpoint()
      bench.ack(2, 'op#0', [], 1, commitBy)
      // The storage is away, or the process is frozen, for longer than the transaction may be open.
      if (file === 'claim') bench.clock.advance(1001)
      const create = storage.createExclusive.bind(storage)
      storage.createExclusive = (path, bytes) => {
        if (path.endsWith(file)) bench.clock.advance(1001)
        return create(path, bytes)
      }
      bench.ack(2, 'op#1')
      await expect(asked).rejects.toMatchObject({ code: 'TRANSACTION_ABORTED' })
      expect(bench.said.slice(2)).toEqual([
        'trigger 2',
        'aborted 2',
        '2 outdated',
        'fail job: TRANSACTION_ABORTED',
      ])
      await bench.coordinator.stop()
      expect((await bench.coordinator.restorePoint(2))?.checkpointId).toBe(1)
      // A start of another process finds it neither.
      const next = await (await new Bench(storage).open()).start()
      expect(next.coordinator.latest?.checkpointId).toBe(1)
    },
  )

  it('completes what sinks can commit until a time that has not come', async () => {
    const bench = await (await new Bench().open()).start()
    void bench.coordinator.triggerCheckpoint()
    const commitBy = [{ began: momentOf(bench.clock), limitMs: 1000 }]
    bench.ack(1, 'op#0', [], 1, commitBy)
    bench.clock.advance(1000)
    bench.ack(1, 'op#1')
    await settled()
    expect(bench.said).toEqual(['trigger 1', 'completed 1'])
  })

  it('keeps the configured number of checkpoints and deletes the segments of the others', async () => {
    const bench = await (await new Bench().open({ retained: 2 })).start()
    for (const id of [1, 2, 3]) {
      void bench.coordinator.triggerCheckpoint()
      await bench.ackAll(id, [await bench.segment(id, true)])
      await settled()
    }
    expect(bench.files('_metadata')).toEqual([`${JOB}/chk-2/_metadata`, `${JOB}/chk-3/_metadata`])
    expect(bench.files('shared').map((path) => path.at(-1))).toEqual(['2', '3'])
  })

  it('finds the last completed checkpoint after a restart, under a new generation', async () => {
    const first = await (await new Bench().open()).start()
    void first.coordinator.triggerCheckpoint()
    await first.ackAll(1, [await first.segment(1)])
    await first.coordinator.close()
    const second = await new Bench(first.storage).open()
    expect(second.coordinator.generation).toBe(2)
    expect((await second.coordinator.restorePoint(1))?.checkpointId).toBe(1)
    second.coordinator.start(1, TASKS)
    void second.coordinator.triggerCheckpoint()
    expect(second.said).toEqual(['trigger 2'])
  })

  it('restores an older checkpoint with a warning when the newest one is damaged', async () => {
    const first = await (await new Bench().open({ retained: 2 })).start()
    for (const id of [1, 2]) {
      void first.coordinator.triggerCheckpoint()
      await first.ackAll(id)
    }
    first.storage.files.get(`${JOB}/chk-2/_metadata`)![30]! ^= 1
    const second = await new Bench(first.storage).open()
    expect((await second.coordinator.restorePoint(1))?.checkpointId).toBe(1)
    expect(second.errors.map((warning) => warning.code)).toEqual(['CHECKSUM_MISMATCH'])
    second.coordinator.start(1, TASKS)
    void second.coordinator.triggerCheckpoint()
    expect(second.said).toEqual(['trigger 3'])
  })

  it('refuses to ignore a checkpoint that a newer build wrote', async () => {
    const first = await (await new Bench().open()).start()
    void first.coordinator.triggerCheckpoint()
    await first.ackAll(1)
    first.storage.files.get(`${JOB}/chk-1/_metadata`)![4] = 9
    await expect(new Bench(first.storage).open()).rejects.toMatchObject({
      code: 'UNSUPPORTED_VERSION',
    })
  })

  it('stops forever when a newer coordinator has taken over', async () => {
    const old = await (await new Bench().open()).start()
    const asked = old.coordinator.triggerCheckpoint()
    asked.catch(() => {})
    await new Bench(old.storage).open()
    await old.ackAll(1)
    await expect(asked).rejects.toMatchObject({ code: 'COORDINATOR_FENCED' })
    expect(old.said).toEqual(['trigger 1', 'aborted 1', '1 fenced', 'fail job: COORDINATOR_FENCED'])
    expect(old.files('_metadata')).toEqual([])
    await expect(old.coordinator.triggerCheckpoint()).rejects.toMatchObject({
      code: 'COORDINATOR_FENCED',
    })
  })

  it('does not delete a manifest that another coordinator wrote under the same number', async () => {
    const bench = await (await new Bench().open()).start()
    const foreign = new Uint8Array([1, 2, 3])
    await bench.storage.createExclusive(`${JOB}/chk-1/_metadata`, foreign)
    const asked = bench.coordinator.triggerCheckpoint()
    asked.catch(() => {})
    await bench.ackAll(1)
    await expect(asked).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(await bench.storage.read(`${JOB}/chk-1/_metadata`)).toEqual(foreign)
  })

  it('ignores acknowledgements of an attempt that is over', async () => {
    const bench = await (await new Bench().open()).start(1)
    const asked = bench.coordinator.triggerCheckpoint()
    asked.catch(() => {})
    await bench.coordinator.stop()
    await expect(asked).rejects.toMatchObject({ code: 'CHECKPOINT_DECLINED' })
    await bench.start(2)
    void bench.coordinator.triggerCheckpoint()
    expect(bench.ack(2, 'op#0', [], 1)).toBe('foreign-ignored')
    expect(bench.ack(2, 'op#0', [], 2)).toBe('accepted')
  })

  it('waits at stop for a checkpoint that all tasks have acknowledged', async () => {
    const bench = await (await new Bench().open()).start()
    const asked = bench.coordinator.triggerCheckpoint()
    bench.ack(1, 'op#0')
    bench.ack(1, 'op#1')
    await bench.coordinator.stop()
    expect((await asked).checkpointId).toBe(1)
    expect((await bench.coordinator.restorePoint(2))?.checkpointId).toBe(1)
  })

  it('deletes the segments of an earlier attempt to which nothing refers', async () => {
    const bench = await (await new Bench().open()).start()
    void bench.coordinator.triggerCheckpoint()
    await bench.ackAll(1, [await bench.segment(1)])
    await bench.segment(2)
    await bench.coordinator.stop()
    expect(bench.files('shared').length).toBe(2)
    await bench.coordinator.restorePoint(2)
    expect(bench.files('shared').map((path) => path.at(-1))).toEqual(['1'])
  })

  it('keeps the segments of an aborted checkpoint until the next has completed with them', async () => {
    const bench = await (await new Bench().open()).start()
    const lost = await bench.segment(1)
    bench.coordinator.triggerCheckpoint().catch(() => {})
    bench.ack(1, 'op#0', [lost])
    bench.coordinator.onDecline({
      jobId: JOB,
      attempt: 1,
      checkpointId: 1,
      task: 'op#1',
      reason: '',
    })
    void bench.coordinator.triggerCheckpoint()
    await bench.ackAll(2, [lost, await bench.segment(2)])
    expect(bench.coordinator.latest!.operators[0]!.segments.map((s) => s.checkpointId)).toEqual([
      1, 2,
    ])
    expect(bench.files('shared').length).toBe(2)
  })

  it('explains a folder without a checkpoint', async () => {
    const bench = await new Bench().open()
    await expect(bench.coordinator.restorePoint(1, 'savepoints/none')).rejects.toMatchObject({
      code: 'CHECKPOINT_NOT_FOUND',
    })
  })

  it('merges long chains in the background and deletes the inputs', async () => {
    const compaction = { maxChainLength: 2, minMerged: 2, sizeRatio: 2, maxOverhead: 1 }
    const bench = await (await new Bench().open({ compaction, retained: 1 })).start()
    for (const id of [1, 2, 3, 4]) {
      void bench.coordinator.triggerCheckpoint()
      await bench.ackAll(id, [await bench.segment(id)])
      await settled()
    }
    const segments = bench.coordinator.latest!.operators[0]!.segments
    expect(segments.map((s) => s.path).some((path) => path.includes('compacted'))).toBe(true)
    expect(bench.files('shared')).toEqual([...new Set(segments.map((s) => s.path))].sort())
  })

  it('reports statistics under the names of Flink', async () => {
    const bench = await (await new Bench().open()).start()
    void bench.coordinator.triggerCheckpoint()
    bench.clock.advance(30)
    await bench.ackAll(1, [await bench.segment(1)])
    const [last] = bench.coordinator.statistics.recent()
    expect(last).toMatchObject({
      id: 1,
      status: 'COMPLETED',
      end_to_end_duration: 30,
      num_acknowledged_subtasks: 2,
      external_path: `${JOB}/chk-1`,
    })
    expect(last!.state_size).toBe(last!.checkpointed_size)
    expect(last!.tasks[0]).toMatchObject({
      task: 'op#0',
      checkpoint: { sync: 3, async: 4 },
      alignment: { duration: 2 },
      start_delay: 1,
    })
    expect(bench.coordinator.statistics.counts()).toMatchObject({ completed: 1, in_progress: 0 })
  })

  it('refuses calls out of order', async () => {
    const bench = await new Bench().open()
    expect(() => bench.coordinator.start(1, TASKS)).toThrow('before start')
    await expect(bench.coordinator.triggerCheckpoint()).rejects.toThrow('not running')
    await bench.start()
    await expect(bench.coordinator.restorePoint(2)).rejects.toThrow('stop the running attempt')
    await bench.coordinator.stop()
    await expect(bench.coordinator.restorePoint(1)).rejects.toThrow('must come after')
  })
})
