import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WeirClient } from '../../src/client/weir-client.ts'
import { EmbeddedLog } from '../../src/connectors/log/embedded-log.ts'
import { systemClock } from '../../src/core/clock.ts'
import { isWeirError } from '../../src/core/errors.ts'
import { keyGroupOf, subtaskOfKeyGroup } from '../../src/core/key-group.ts'
import { seededRandom } from '../../src/core/random.ts'
import { buildJob } from '../../src/dataflow/job/definition.ts'
import alsServing from '../../src/jobs/als-serving/job.ts'
import { publishGeneratedModel } from '../../src/kinds/factors/generated-model.ts'
import { ALS_MODEL } from '../../src/models/topic/als-serving-function.ts'
import { MODEL_ROWS_UID } from '../../src/models/topic/operator.ts'
import { VersionCoordinator } from '../../src/models/topic/version-coordinator.ts'
import type { CheckpointStorage } from '../../src/runtime/checkpoint/storage/checkpoint-storage.ts'
import { parseConfiguration } from '../../src/runtime/configuration/keys.ts'
import { JobExecution } from '../../src/runtime/job/execution.ts'
import { LocalSlot } from '../../src/runtime/slot/local-slot.ts'
import { QueryThreads } from '../../src/serving/threads/query-threads.ts'
import { MemoryCheckpointStorage } from '../../src/testing/memory-checkpoint-storage.ts'
import { until } from '../run/until.ts'

const TOPIC = 'als-model'
const SHAPE = { users: 40, items: 40, factors: 8 }
const PARTITIONS = 2
const MAX_PARALLELISM = 128
const SEGMENT_OF_SLOT_1 = /\/shared\/.*-als-model-1-\d+$/

/** What slots read: the blocks of slot 1's segments wait for the gate, indexes do not. */
class GatedStorage extends MemoryCheckpointStorage {
  private readonly stored: MemoryCheckpointStorage
  private readonly gate: Promise<void>

  constructor(stored: MemoryCheckpointStorage, gate: Promise<void>) {
    super()
    this.stored = stored
    this.gate = gate
  }

  override async read(path: string, start = 0, length?: number): Promise<Uint8Array> {
    const bytes = await this.stored.read(path, start, length)
    const isIndex = (start === 0 && length === 8) || start + bytes.length === this.sizeOf(path)
    if (SEGMENT_OF_SLOT_1.test(path) && !isIndex) await this.gate
    return bytes
  }

  private sizeOf(path: string): number {
    return this.stored.files.get(path)?.length ?? 0
  }
}

/** The first key `<n><suffix>` of the model that a slot owns. */
function keyIn(slot: number, suffix: '-U' | '-I'): string {
  for (let n = 1; ; n++) {
    const key = `${n}${suffix}`
    const group = keyGroupOf(new TextEncoder().encode(key), MAX_PARALLELISM)
    if (subtaskOfKeyGroup(group, 2, MAX_PARALLELISM) === slot) return key
  }
}

describe('a restored model', () => {
  let folder: string

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'weir-restoring-'))
    await using log = await EmbeddedLog.open(folder)
    await log.createTopic(TOPIC, { partitions: PARTITIONS })
    await publishGeneratedModel(SHAPE, { log, topic: TOPIC, version: 1, clock: systemClock })
  })

  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  async function start(storage: CheckpointStorage, ofSlots: CheckpointStorage, topic = TOPIC) {
    const queries = await QueryThreads.start({
      threads: 1,
      inCallingThread: true,
      port: 0,
      models: [ALS_MODEL],
    })
    const options = { logDirectory: folder, topic, dimension: SHAPE.factors }
    const graph = await buildJob(alsServing, options, {
      parallelism: 2,
      maxParallelism: MAX_PARALLELISM,
    })
    const live = Promise.withResolvers<void>()
    const coordinator = new VersionCoordinator({
      model: 0,
      partitions: PARTITIONS,
      clock: systemClock,
      onLive: () => live.resolve(),
    })
    const execution = new JobExecution({
      jobId: '0'.repeat(32),
      graph,
      configuration: parseConfiguration({ 'state.backend.type': 'heap' }),
      clock: systemClock,
      random: seededRandom(1),
      startSlot: (slot, listener) =>
        new LocalSlot(
          slot,
          { clock: systemClock, openStorage: () => ofSlots, buildGraph: () => graph },
          listener,
        ),
      storage,
      storageUrl: 'memory',
      coordinators: { [MODEL_ROWS_UID]: coordinator },
      serving: queries,
    })
    execution.start()
    const client = await WeirClient.connect({ port: queries.port, deadlineMs: 15_000 })
    const stop = async (): Promise<void> => {
      await client.close()
      await execution.suspend()
      await queries.close()
    }
    return { execution, client, port: queries.port, stop, live: live.promise }
  }

  it('answers queries of restored keys while others still restore, and of those afterwards', async () => {
    const storage = new MemoryCheckpointStorage()
    const user = keyIn(0, '-U')
    const item = keyIn(0, '-I')
    const later = keyIn(1, '-U')

    const before = await start(storage, storage)
    await before.live
    const here = await before.client.predict(ALS_MODEL, user, item)
    const there = await before.client.predict(ALS_MODEL, later, item)
    await before.execution.triggerCheckpoint()
    await before.stop()

    const gate = Promise.withResolvers<void>()
    const after = await start(storage, new GatedStorage(storage, gate.promise))
    expect(await after.client.predict(ALS_MODEL, user, item)).toEqual(here)
    const keys = [user, `nobody${user}`, later]
    // This thread may be too busy for an answer in time.
    const [known, unknown, waiting] = await until('rows are answered in time', () =>
      after.client
        .rows(ALS_MODEL, keys, { deadlineMs: 100 })
        .catch((error) => !isWeirError(error, 'DEADLINE_EXCEEDED') && Promise.reject(error)),
    )
    expect(after.execution.status).not.toBe('RUNNING')
    expect(known!.ok).toBe(true)
    expect(unknown!.ok).toBe(false)
    expect(waiting).toMatchObject({ ok: false, error: { code: 'RESTORING' } })

    gate.resolve()
    expect(await after.client.predict(ALS_MODEL, later, item)).toEqual(there)
    await after.stop()
  })

  it('answers only RESTORING from the start until a version is live, fresh or restored', async () => {
    const topic = 'later'
    const log = await EmbeddedLog.open(folder)
    await log.createTopic(topic, { partitions: PARTITIONS })
    const storage = new MemoryCheckpointStorage()
    for (const kind of ['fresh', 'restored']) {
      const gate = Promise.withResolvers<void>()
      const ofSlots = kind === 'fresh' ? storage : new GatedStorage(storage, gate.promise)
      const job = await start(storage, ofSlots, topic)
      const client = await WeirClient.connect({
        port: job.port,
        deadlineMs: 15_000,
        retry: { maxAttempts: 1 },
      })
      const open = async (): Promise<void> => {
        gate.resolve()
        if (kind === 'restored') return
        await publishGeneratedModel(SHAPE, { log, topic, version: 1, clock: systemClock })
      }
      expect([...(await codesUntilAnswered(client, open))], kind).toEqual(['RESTORING'])
      await job.live
      await job.execution.waitFor('RUNNING')
      await job.execution.triggerCheckpoint()
      await client.close()
      await job.stop()
    }
    await log.close()
  })

  it('answers a name that no state has with UNKNOWN_STATE once the job runs', async () => {
    const storage = new MemoryCheckpointStorage()
    const job = await start(storage, storage)
    await job.live
    await expect(job.client.predict('OTHER', '1-U', '1-I')).rejects.toMatchObject({
      code: 'UNKNOWN_STATE',
    })
    await job.stop()
  })

  /**
   * Codes of rows and predictions, asked again and again, without those that had no answer in time: this thread may be
   * busy. `open` is called after some, so that all are answered.
   */
  async function codesUntilAnswered(client: WeirClient, open: () => Promise<void>) {
    const key = keyIn(1, '-U')
    const inTime = { deadlineMs: 300 }
    const codes = new Set<string>()
    let opened: Promise<void> | undefined
    const isAnswered = async (): Promise<boolean> => {
      const asked = await Promise.allSettled([
        client.rows(ALS_MODEL, [key], inTime).then(([row]) => {
          if (row?.ok !== true) throw row?.error
        }),
        client.predict(ALS_MODEL, key, '1-I', inTime),
      ])
      for (const one of asked) if (one.status === 'rejected') codes.add(one.reason.code)
      codes.delete('DEADLINE_EXCEEDED')
      if (codes.size > 0) opened ??= open()
      return asked.every(({ status }) => status === 'fulfilled')
    }
    await until('both are answered', isAnswered)
    await opened
    return codes
  }
})
