import { EventEmitter } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MessageChannel, type Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WeirClient } from '../../src/client/weir-client.ts'
import { EmbeddedLog } from '../../src/connectors/log/embedded-log.ts'
import { systemClock } from '../../src/core/clock.ts'
import { seededRandom } from '../../src/core/random.ts'
import { buildJob } from '../../src/dataflow/job/definition.ts'
import alsServing from '../../src/jobs/als-serving/job.ts'
import { publishGeneratedModel } from '../../src/kinds/factors/generated-model.ts'
import { ALS_MODEL } from '../../src/models/topic/als-serving-function.ts'
import { MODEL_ROWS_UID } from '../../src/models/topic/operator.ts'
import { VersionCoordinator } from '../../src/models/topic/version-coordinator.ts'
import { parseConfiguration } from '../../src/runtime/configuration/keys.ts'
import { JobExecution } from '../../src/runtime/job/execution.ts'
import type { SlotListener } from '../../src/runtime/protocol/slot-host.ts'
import { LocalSlot } from '../../src/runtime/slot/local-slot.ts'
import type { QueryThreadCommand, QueryThreadReport } from '../../src/serving/threads/messages.ts'
import { QueryThread } from '../../src/serving/threads/query-thread.ts'
import { QueryThreads } from '../../src/serving/threads/query-threads.ts'
import type { QueryWorker } from '../../src/serving/threads/workers.ts'
import { pause } from '../run/pause.ts'

const TOPIC = 'als-model'
const SHAPE = { users: 20, items: 20, factors: 8 }
const PARTITIONS = 1
const DELAY_MS = 100

/** Ways of a table's message from its slot to a query thread. */
type Way = 'slot to main thread' | 'main thread to query thread'

const deliverLate = (deliver: () => void): Promise<void> =>
  pause(DELAY_MS, 'a message that is late').then(deliver)

/** A query thread in this thread, of which every command is late; their order stays. */
function slowQueryThread(): QueryWorker {
  const main = new MessageChannel()
  const thread = new MessageChannel()
  main.port2.on('message', (command: QueryThreadCommand) => {
    const ports = command.kind === 'attach-slot' ? [command.port] : []
    void deliverLate(() => thread.port1.postMessage(command, ports))
  })
  thread.port1.on('message', (report: QueryThreadReport) => main.port2.postMessage(report))
  main.port2.on('close', () => thread.port1.close())
  new QueryThread(thread.port2)
  const worker = Object.assign(new EventEmitter(), { terminate: async () => 0 })
  return { worker: worker as unknown as Worker, port: main.port1 }
}

/** All reports of slot 1 are late; their order stays. */
function slowReports(slot: number, listener: SlotListener): SlotListener {
  if (slot === 0) return listener
  return {
    report: (report) => void deliverLate(() => listener.report(report)),
    lost: (error) => listener.lost(error),
  }
}

describe('a switch of versions', () => {
  let folder: string
  const open: (() => Promise<unknown>)[] = []

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'weir-version-switch-'))
    const log = await EmbeddedLog.open(folder)
    open.push(() => log.close())
    await log.createTopic(TOPIC, { partitions: PARTITIONS })
    await publish(log, 1)
  })

  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close()
    rmSync(folder, { recursive: true, force: true })
  })

  const publish = (
    log: EmbeddedLog,
    version: number,
    factors: number = SHAPE.factors,
  ): Promise<unknown> =>
    publishGeneratedModel({ ...SHAPE, factors }, { log, topic: TOPIC, version, clock: systemClock })

  /** Serves the topic with one query thread; the messages of one way are late. */
  async function serve(late: Way, live: number[]): Promise<WeirClient> {
    const queries = await QueryThreads.start({
      threads: 1,
      port: 0,
      models: [ALS_MODEL],
      ...(late === 'slot to main thread'
        ? { inCallingThread: true }
        : { workers: { take: slowQueryThread } }),
    })
    open.push(() => queries.close())
    const options = { logDirectory: folder, topic: TOPIC, dimension: SHAPE.factors }
    const graph = await buildJob(alsServing, options, { parallelism: 2 })
    const coordinator = new VersionCoordinator({
      model: 0,
      partitions: PARTITIONS,
      clock: systemClock,
      onLive: (version) => live.push(version),
    })
    const openStorage = (): never => {
      throw new Error('the job takes no checkpoints')
    }
    const execution = new JobExecution({
      jobId: '0'.repeat(32),
      graph,
      configuration: parseConfiguration({ 'state.backend.type': 'heap' }),
      clock: systemClock,
      random: seededRandom(1),
      startSlot: (slot, listener) =>
        new LocalSlot(
          slot,
          { clock: systemClock, openStorage, buildGraph: () => graph },
          late === 'slot to main thread' ? slowReports(slot, listener) : listener,
        ),
      coordinators: { [MODEL_ROWS_UID]: coordinator },
      serving: queries,
    })
    execution.start()
    open.push(() => execution.cancel())
    await expect.poll(() => live.at(-1), { timeout: 10_000 }).toBe(1)
    await queries.listening()
    const client = await WeirClient.connect({ port: queries.port })
    open.push(() => client.close())
    return client
  }

  it.each<[Way, number]>([
    ['slot to main thread', SHAPE.factors],
    ['main thread to query thread', 11],
  ])(
    'fails no prediction when messages from %s are late, to rows of %i factors',
    async (late, factors) => {
      const live: number[] = []
      const client = await serve(late, live)
      const failures: unknown[] = []
      const versions = new Set<number>()
      let isAsking = true
      const asking = (async () => {
        while (isAsking) {
          const answer = await client.predictWithEnvelope(ALS_MODEL, '1-U', '2-I')
          if (answer.ok) versions.add(answer.envelope.modelVersion)
          else failures.push(answer.error)
        }
      })()
      const log = await EmbeddedLog.open(folder)
      open.push(() => log.close())
      await publish(log, 2, factors)
      await expect.poll(() => live.at(-1), { timeout: 15_000 }).toBe(2)
      await expect.poll(() => versions.has(2), { timeout: 15_000 }).toBe(true)
      isAsking = false
      await asking
      expect(failures).toEqual([])
      const range = { from: '', to: '\u{10ffff}', limit: 100 }
      const rows = await client.scan(ALS_MODEL, range)
      expect(new Set(rows.map(({ value }) => value.length / 4))).toEqual(new Set([factors]))
      const best = await client.topK(ALS_MODEL, '1-U', { k: 1, suffix: '-I' })
      if (!best.ok) throw best.error
      const floatsOf = (key: string) => {
        const { value } = rows.find((row) => row.key === key)!
        return new Float32Array(Uint8Array.from(value).buffer)
      }
      const scores = rows
        .filter(({ key }) => key.endsWith('-I'))
        .map(({ key }) => {
          const item = floatsOf(key)
          return { key, score: floatsOf('1-U').reduce((sum, x, n) => sum + x * item[n]!, 0) }
        })
        .sort((a, b) => b.score - a.score)
      expect(best.value[0]?.key).toBe(scores[0]!.key)
      expect(best.value[0]?.score).toBeCloseTo(scores[0]!.score, 4)
    },
  )
})
