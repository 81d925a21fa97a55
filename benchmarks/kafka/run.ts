import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { JobExecution } from '../../src/runtime/job/execution.ts'
import { MiniCluster } from '../../src/testing/mini-cluster.ts'
import { type KafkaJobOptions, LAST_UID } from './jobs.ts'

const SLOTS = 2
/** Time between two reads of the counters; a read costs all threads together half a millisecond. */
const LOOK_MS = 50

/** A job of `jobs.ts` and what it runs on. */
export interface KafkaJobRun {
  /** A folder for checkpoints and state. */
  readonly scratch: string
  readonly options: KafkaJobOptions
  /** Number of records in the topic. */
  readonly records: number
  readonly configuration?: Readonly<Record<string, string>>
}

/** Times of one run of a job, s. */
export interface KafkaRun {
  /** From RUNNING until the last record was applied. */
  readonly applied: number
  /** From RUNNING until a checkpoint with all records was complete. */
  readonly durable: number
  readonly checkpoints: number
  /** CPU time of all threads of this process until the last record was applied. */
  readonly cpu: number
}

/** Runs a job on worker threads, with checkpoints every second, until it has applied all records. */
export async function runKafkaJob({
  scratch,
  options,
  records,
  configuration,
}: KafkaJobRun): Promise<KafkaRun> {
  const folder = mkdtempSync(join(scratch, 'kafka-'))
  await using cluster = new MiniCluster()
  const job = await cluster.startWorkers(new URL('./jobs.ts', import.meta.url), options, {
    configuration: {
      'parallelism.default': String(SLOTS),
      'execution.checkpointing.interval': '1 s',
      'execution.checkpointing.dir': join(folder, 'checkpoints'),
      'state.backend.directory': join(folder, 'state'),
      ...configuration,
    },
  })
  await job.waitFor('RUNNING')
  const start = performance.now()
  const cpuBefore = process.cpuUsage()
  while ((await appliedBy(job)) < records) await pause(LOOK_MS)
  const applied = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(cpuBefore)
  await job.triggerCheckpoint()
  const durable = (performance.now() - start) / 1000
  const checkpoints = (await job.metrics())['numberOfCompletedCheckpoints'] ?? 0
  await job.cancel()
  rmSync(folder, { recursive: true, force: true })
  return { applied, durable, checkpoints, cpu: (user + system) / 1e6 }
}

async function appliedBy(job: JobExecution): Promise<number> {
  const metrics = await job.metrics()
  let applied = 0
  for (let slot = 0; slot < SLOTS; slot++) {
    // The operator is the head of a chain, or is chained to the source.
    applied += metrics[`${LAST_UID}.${slot}.numRecordsIn`] ?? 0
    applied += metrics[`values.${slot}.${LAST_UID}.numRecordsIn`] ?? 0
  }
  return applied
}
