import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { JobExecution } from '../../src/runtime/job/execution.ts'
import { MiniCluster } from '../../src/testing/mini-cluster.ts'
import { RESULTS_UID, type TablesJobOptions, UNMATCHED_UID } from './jobs.ts'
import type { TableCosts } from './kafka-streams.ts'

/** Time between two reads of the counters. */
const LOOK_MS = 20

/** What a run of a job took. */
export interface TableRun extends TableCosts {
  /** From the start to the first result that was seen. */
  readonly firstMs: number
}

/** A job of `jobs.ts`, and how many results end it. */
export interface TableJob {
  readonly options: TablesJobOptions
  readonly results: number
  /** A folder for checkpoints and state. */
  readonly scratch: string
}

/** Runs a job on two slots, with a checkpoint each second, until it has all results. */
export async function runTables({ options, results, scratch }: TableJob): Promise<TableRun> {
  const folder = mkdtempSync(join(scratch, 'tables-'))
  await using cluster = new MiniCluster()
  const begunMs = performance.now()
  const job = await cluster.startWorkers(new URL('./jobs.ts', import.meta.url), options, {
    configuration: {
      'parallelism.default': '2',
      'execution.checkpointing.interval': '1 s',
      'execution.checkpointing.dir': join(folder, 'checkpoints'),
      'state.backend.directory': join(folder, 'state'),
    },
  })
  await resultsReach(job, 1)
  const firstMs = performance.now() - begunMs
  const first = await resultsReach(job, results / 5)
  const startMs = performance.now()
  const startCpu = process.cpuUsage()
  const last = await resultsReach(job, results)
  const { user, system } = process.cpuUsage(startCpu)
  const us = ((performance.now() - startMs) * 1000) / (last - first)
  const unmatched = await countOf(job, UNMATCHED_UID)
  await job.cancel()
  return { us, cpuUs: (user + system) / (last - first), unmatched, firstMs }
}

async function resultsReach(job: JobExecution, results: number): Promise<number> {
  for (;;) {
    const count = await countOf(job, RESULTS_UID)
    if (count >= results) return count
    await pause(LOOK_MS)
  }
}

/** Records that came to an operator, which is the head of a chain or a part of one. */
async function countOf(job: JobExecution, uid: string): Promise<number> {
  const head = new RegExp(`^(.*\\.)?${uid}(\\.\\d+)?\\.numRecordsIn$`)
  return Object.entries(await job.metrics())
    .filter(([name]) => head.test(name))
    .reduce((sum, [, count]) => sum + count, 0)
}
