import { describe, expect, it } from 'vitest'
import { MemoryCheckpointStorage } from '../../../../src/testing/memory-checkpoint-storage.ts'
import { Bench, JOB, TASKS } from './bench.ts'

function flipped(bytes: Uint8Array, at: number): Uint8Array {
  const copy = bytes.slice()
  copy[at]! ^= 1
  return copy
}

describe('CheckpointCoordinator over damaged files', () => {
  it('refuses to start from nothing when the only checkpoint is damaged, and deletes nothing', async () => {
    const first = await (await new Bench().open()).start()
    void first.coordinator.triggerCheckpoint()
    await first.ackAll(1, [await first.segment(1)])
    const path = `${JOB}/chk-1/_metadata`
    const whole = first.storage.files.get(path)!
    const segments = first.files('shared')
    for (const damaged of [flipped(whole, 30), whole.subarray(0, 40), whole.subarray(0, 0)]) {
      first.storage.files.set(path, damaged)
      const second = await new Bench(first.storage).open()
      const start = second.coordinator.restorePoint(1)
      await expect(start).rejects.toMatchObject({
        code: expect.stringMatching(/CHECKSUM_MISMATCH|MALFORMED_DATA/),
        message: expect.stringContaining(path),
      })
      await expect(start).rejects.toThrow(/weir run --restore-from PATH/)
      expect(first.files('shared')).toEqual(segments)
      expect(first.files('restored')).toEqual([`${JOB}/epoch-1-1-restored-0`])
    }
    first.storage.files.set(path, whole)
    const repaired = await new Bench(first.storage).open()
    expect((await repaired.coordinator.restorePoint(1))?.checkpointId).toBe(1)
  })

  it('refuses to start from nothing when the restored checkpoint was removed', async () => {
    const first = await (await new Bench().open()).start()
    void first.coordinator.triggerCheckpoint()
    await first.ackAll(1)
    await (await new Bench(first.storage).open()).coordinator.restorePoint(1)
    first.storage.files.delete(`${JOB}/chk-1/_metadata`)
    const third = await new Bench(first.storage).open()
    await expect(third.coordinator.restorePoint(1)).rejects.toMatchObject({
      code: 'CHECKPOINT_NOT_FOUND',
      message: expect.stringContaining('chk-1/_metadata is missing'),
    })
  })

  it('refuses to start from nothing when the manifest of the only checkpoint was removed', async () => {
    const first = await (await new Bench().open()).start()
    void first.coordinator.triggerCheckpoint()
    await first.ackAll(1, [await first.segment(1)])
    const path = `${JOB}/chk-1/_metadata`
    const whole = first.storage.files.get(path)!
    const segments = first.files('shared')
    first.storage.files.delete(path)
    for (let start = 0; start < 2; start++) {
      const next = await new Bench(first.storage).open()
      const restoring = next.coordinator.restorePoint(1)
      await expect(restoring).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' })
      await expect(restoring).rejects.toThrow(
        `${path} is missing, although ${JOB}/epoch-1-1-completed-1 records that the checkpoint completed`,
      )
      await expect(restoring).rejects.toThrow(/weir run --restore-from PATH/)
      expect(next.files('shared')).toEqual(segments)
    }
    first.storage.files.set(path, whole)
    const repaired = await new Bench(first.storage).open()
    expect((await repaired.coordinator.restorePoint(1))?.checkpointId).toBe(1)
    expect(repaired.errors).toEqual([])
  })

  it('falls back from a removed manifest with a warning at each start, and keeps all files of its time until its record is removed', async () => {
    for (const removed of [1, 2, 3]) {
      const first = await (await new Bench().open({ retained: 3 })).start()
      for (const id of [1, 2, 3]) {
        void first.coordinator.triggerCheckpoint()
        await first.ackAll(id, [await first.segment(id, true)])
      }
      const old = first.files('shared')
      first.storage.files.delete(`${JOB}/chk-${removed}/_metadata`)
      const record = `${JOB}/epoch-1-1-completed-${removed}`
      for (const generation of [2, 3]) {
        const next = await new Bench(first.storage).open({ retained: 1 })
        const restored = await next.coordinator.restorePoint(1)
        if (generation === 2) expect(restored?.checkpointId).toBe(removed === 3 ? 2 : 3)
        expect(next.errors[0]?.code).toBe('CHECKPOINT_NOT_FOUND')
        expect(next.errors[0]?.message).toContain(`chk-${removed}/_metadata is missing`)
        expect(next.errors[0]?.message).toContain(`remove ${record}`)
        next.coordinator.start(1, TASKS)
        for (let n = 0; n < 2; n++) {
          const id = 2 * generation + n
          void next.coordinator.triggerCheckpoint()
          await next.ackAll(id, [await next.segment(id, true)])
        }
        expect(next.files('shared')).toEqual(expect.arrayContaining(old))
      }
      first.storage.files.delete(record)
      const accepted = await (await new Bench(first.storage).open({ retained: 1 })).start()
      expect(accepted.errors).toEqual([])
      void accepted.coordinator.triggerCheckpoint()
      await accepted.ackAll(8, [await accepted.segment(8, true)])
      for (const path of old) expect(accepted.files('shared')).not.toContain(path)
      expect(accepted.files('completed')).toEqual([`${JOB}/epoch-4-1-completed-8`])
    }
  })

  it('restores checkpoints without a completion record, as an older build or a crash leaves them', async () => {
    const first = await (await new Bench().open()).start()
    for (const id of [1, 2]) {
      void first.coordinator.triggerCheckpoint()
      await first.ackAll(id, [await first.segment(id, true)])
    }
    for (const path of first.files('completed')) first.storage.files.delete(path)
    const second = await new Bench(first.storage).open()
    expect((await second.coordinator.restorePoint(1))?.checkpointId).toBe(2)
    expect(second.errors).toEqual([])
  })

  it('deletes the records of checkpoints that a build without completion records has retired', async () => {
    const first = await (await new Bench().open()).start()
    void first.coordinator.triggerCheckpoint()
    await first.ackAll(1, [await first.segment(1, true)])
    const second = await (await new Bench(first.storage).open({ retained: 1 })).start()
    void second.coordinator.triggerCheckpoint()
    await second.ackAll(2, [await second.segment(2, true)])
    first.storage.files.set(`${JOB}/epoch-1-1-completed-1`, new Uint8Array(0))
    const third = await (await new Bench(first.storage).open()).start()
    expect(third.errors).toEqual([])
    expect(third.files('completed')).toEqual([`${JOB}/epoch-2-1-completed-2`])
  })

  it('claims a generation above that of every file, so that no segment is overwritten when a claim is lost', async () => {
    const first = await (await new Bench().open()).start()
    void first.coordinator.triggerCheckpoint()
    await first.ackAll(1, [await first.segment(1)])
    for (const path of first.files('epoch-')) first.storage.files.delete(path)
    const second = await new Bench(first.storage).open()
    expect(second.coordinator.generation).toBe(2)
    expect(second.files('epoch-')).toEqual([`${JOB}/epoch-1`, `${JOB}/epoch-2`])
    expect((await second.coordinator.restorePoint(1))?.checkpointId).toBe(1)
  })

  it('deletes nothing of the time of a damaged manifest, not even when newer checkpoints complete', async () => {
    const first = await (await new Bench().open({ retained: 2 })).start()
    for (const id of [1, 2]) {
      void first.coordinator.triggerCheckpoint()
      await first.ackAll(id, [await first.segment(id, true)])
    }
    const old = first.files('shared')
    const path = `${JOB}/chk-2/_metadata`
    first.storage.files.set(path, flipped(first.storage.files.get(path)!, 30))
    const second = await (await new Bench(first.storage).open({ retained: 1 })).start()
    for (const id of [3, 4]) {
      void second.coordinator.triggerCheckpoint()
      await second.ackAll(id, [await second.segment(id, true)])
    }
    expect(second.files('shared')).toEqual([...old, `${JOB}/shared/2-1-op-0-2`])
    expect(second.files('_metadata')).toEqual([1, 2, 4].map((id) => `${JOB}/chk-${id}/_metadata`))
    const third = await new Bench(first.storage).open()
    expect((await third.coordinator.restorePoint(1))?.checkpointId).toBe(4)
    expect(third.errors.map(({ message }) => message)).toEqual([
      expect.stringContaining('checkpoint 2 is damaged'),
    ])
    expect(third.files('shared')).toEqual([...old, `${JOB}/shared/2-1-op-0-2`])
  })

  it('falls back before the restore when a segment of the newest checkpoint is missing or cut', async () => {
    for (const cut of [undefined, 20]) {
      const first = await (await new Bench().open()).start()
      for (const id of [1, 2]) {
        void first.coordinator.triggerCheckpoint()
        await first.ackAll(id, [await first.segment(id, true)])
      }
      const path = first.files('shared')[1]!
      if (cut === undefined) first.storage.files.delete(path)
      else first.storage.files.set(path, first.storage.files.get(path)!.subarray(0, cut))
      const second = await new Bench(first.storage).open()
      expect((await second.coordinator.restorePoint(1))?.checkpointId).toBe(1)
      expect(second.errors[0]?.message).toContain(path)
      expect(second.errors[0]?.message).toContain('continues from checkpoint 1')
      expect(second.files('_metadata')).toHaveLength(2)
    }
  })

  it('goes back to the checkpoint before when a restore meets a damaged segment', async () => {
    const first = await (await new Bench().open()).start()
    for (const id of [1, 2]) {
      void first.coordinator.triggerCheckpoint()
      await first.ackAll(id, [await first.segment(id, true)])
    }
    const path = first.files('shared')[1]!
    const segment = first.storage.files.get(path)!
    first.storage.files.set(path, flipped(segment, 12))
    const second = await new Bench(first.storage).open()
    expect((await second.coordinator.restorePoint(1))?.checkpointId).toBe(2)
    expect(await second.coordinator.fallBackFromDamage()).toBe(true)
    expect(second.errors[0]?.message).toContain(`${path} is damaged`)
    expect((await second.coordinator.restorePoint(2))?.checkpointId).toBe(1)
    expect(await second.coordinator.fallBackFromDamage()).toBe(false)
    second.coordinator.start(2, TASKS)
    for (const id of [3, 4, 5, 6]) {
      void second.coordinator.triggerCheckpoint()
      await second.ackAll(id, [await second.segment(id, true)], 2)
    }
    expect(second.files('shared')).toContain(path)
    const only = await (await new Bench().open()).start()
    void only.coordinator.triggerCheckpoint()
    await only.ackAll(1, [await only.segment(1, true)])
    const file = only.files('shared')[0]!
    only.storage.files.set(file, flipped(only.storage.files.get(file)!, 12))
    const next = await new Bench(only.storage).open()
    await next.coordinator.restorePoint(1)
    await expect(next.coordinator.fallBackFromDamage()).rejects.toMatchObject({
      code: 'CHECKSUM_MISMATCH',
      message: expect.stringContaining(file),
    })
  })

  it('restores the n-th newest checkpoint on request and keeps the files of newer ones', async () => {
    const first = await (await new Bench().open()).start()
    for (const id of [1, 2, 3]) {
      void first.coordinator.triggerCheckpoint()
      await first.ackAll(id, [await first.segment(id, true)])
    }
    const files = first.files('shared')
    const second = await new Bench(first.storage).open()
    expect((await second.coordinator.restorePoint(1, 2))?.checkpointId).toBe(2)
    expect(second.files('shared')).toEqual(files)
    await expect(second.coordinator.restorePoint(2, 3)).rejects.toThrow(
      'no 3-th newest whole checkpoint; it has 2 (newest first: 2, 1)',
    )
  })

  it('deletes old claims and restore records when no checkpoint needs them', async () => {
    const storage = new MemoryCheckpointStorage()
    for (let start = 1; start <= 6; start++) {
      const bench = await new Bench(storage).open()
      for (const attempt of [1, 2, 3]) await bench.coordinator.restorePoint(attempt)
      bench.coordinator.start(3, TASKS)
      for (const n of [0, 1, 2]) {
        void bench.coordinator.triggerCheckpoint()
        await bench.ackAll(3 * start + n - 2, [], 3)
      }
    }
    const files = [...storage.files.keys()].filter((path) => path.includes('epoch-'))
    expect(files.sort()).toEqual(
      [
        ...['5', '5-3-restored-12', '6'],
        ...['6-3-completed-16', '6-3-completed-17', '6-3-completed-18', '6-3-restored-15'],
      ].map((name) => `${JOB}/epoch-${name}`),
    )
  })

  it('fences a coordinator whose claim was deleted together with that of its successor', async () => {
    const old = await (await new Bench().open()).start()
    await new Bench(old.storage).open()
    old.storage.files.delete(`${JOB}/epoch-1`)
    old.storage.files.delete(`${JOB}/epoch-2`)
    const requested = old.coordinator.triggerCheckpoint()
    requested.catch(() => {})
    await old.ackAll(1)
    await expect(requested).rejects.toMatchObject({ code: 'COORDINATOR_FENCED' })
  })
})
