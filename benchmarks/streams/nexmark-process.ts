import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sleep, systemClock } from '../../src/core/clock.ts'
import type { JobExecution } from '../../src/runtime/job/execution.ts'
import { MiniCluster } from '../../src/testing/mini-cluster.ts'
import { residentBytes } from '../load/resident-bytes.ts'
import type { NexmarkJobOptions, NexmarkSample } from './nexmark-job.ts'
import type { NexmarkRate, NexmarkRun } from './nexmark-run.ts'

/*
 * Runs one query in a process of its own, so that processor time and memory are those of the query:
 * `node nexmark-process.ts RUN FOLDER`, RUN a `NexmarkRun` as JSON. Prints a `NexmarkRate` as JSON.
 */
const run = JSON.parse(process.argv[2]!) as NexmarkRun
const folder = process.argv[3]!
const PARALLELISM = 2
const PARTITIONS = Array.from({ length: PARALLELISM }, (_, partition) => partition)
const POLL_MS = 100
const samplesFile = join(folder, 'samples')
// A job may be asked for its events before it has read the first one.
writeFileSync(samplesFile, '')

function samplesSince(fromMs: number): NexmarkSample[] {
  return readFileSync(samplesFile, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as NexmarkSample)
    .filter(({ timeMs }) => timeMs >= fromMs)
}

/** Events that all partitions had read by their last samples. */
function eventsRead(): number {
  const byPartition = new Map(samplesSince(0).map(({ partition, events }) => [partition, events]))
  return [...byPartition.values()].reduce((a, b) => a + b, 0)
}

function samplesOf(samples: readonly NexmarkSample[], partition: number): NexmarkSample[] {
  return samples.filter((sample) => sample.partition === partition)
}

/** Waits for the events of the warm-up; false when its limit passed before. */
async function hasWarmedUp(): Promise<boolean> {
  const endMs = systemClock.monotonicMs() + run.warmUpLimitSeconds * 1000
  while (eventsRead() < run.warmUpEvents) {
    if (systemClock.monotonicMs() > endMs) return false
    await sleep(systemClock, POLL_MS)
  }
  return true
}

/** Samples of so many seconds; of a slow query until each partition has two. */
async function samplesOfNext(seconds: number): Promise<NexmarkSample[]> {
  const fromMs = systemClock.monotonicMs()
  await sleep(systemClock, seconds * 1000)
  for (;;) {
    const samples = samplesSince(fromMs)
    const enough = PARTITIONS.every((partition) => samplesOf(samples, partition).length > 1)
    if (enough) return samples
    await sleep(systemClock, POLL_MS)
  }
}

function rateOf(samples: readonly NexmarkSample[]) {
  const eventsPerSecond = PARTITIONS.map((partition) => {
    const own = samplesOf(samples, partition)
    const [first, last] = [own[0]!, own.at(-1)!]
    return ((last.events - first.events) / (last.timeMs - first.timeMs)) * 1000
  }).reduce((a, b) => a + b)
  const [first, last] = [samples[0]!, samples.at(-1)!]
  const cores = ((last.cpuSeconds - first.cpuSeconds) / (last.timeMs - first.timeMs)) * 1000
  return { eventsPerSecond, cpuSecondsPerMillion: (cores / eventsPerSecond) * 1e6 }
}

async function stateBytes(job: JobExecution): Promise<number> {
  await job.triggerSavepoint('savepoint')
  const newest = job.checkpointStatistics!.recent().find(({ is_savepoint }) => is_savepoint)
  return newest!.state_size
}

const state: Readonly<Record<string, string>> =
  run.budget === undefined
    ? { 'state.backend.type': 'heap' }
    : { 'state.backend.type': 'rocksdb', 'state.backend.memory.budget': run.budget }
const options: NexmarkJobOptions = {
  query: run.query,
  partitions: PARALLELISM,
  spread: run.spread,
  samples: samplesFile,
}
await using cluster = new MiniCluster({
  configuration: {
    ...state,
    'parallelism.default': String(PARALLELISM),
    'pipeline.object-reuse': 'true',
    // As Flink's defaults: Weir sends a record after 1 ms, and a watermark after 10, which costs throughput.
    'execution.buffer-timeout.interval': '100 ms',
    'pipeline.auto-watermark-interval': '200 ms',
    'execution.checkpointing.interval': '1 s',
    'execution.checkpointing.dir': join(folder, 'checkpoints'),
  },
})
const job = await cluster.startWorkers(new URL('./nexmark-job.ts', import.meta.url), options)
await job.waitFor('RUNNING')
await sleep(systemClock, run.warmUpSeconds * 1000)
const seconds = (await hasWarmedUp()) ? run.measuredSeconds : run.warmUpLimitSeconds
const eventsBefore = eventsRead()
const rate = rateOf(await samplesOfNext(seconds))
const resident = residentBytes(process.pid, 'VmHWM')
const bytes = run.budget === undefined ? undefined : await stateBytes(job)
if (job.status !== 'RUNNING' || job.attempt > 1) throw new Error(`the job is ${job.status}`)
const result: NexmarkRate = {
  ...rate,
  eventsBefore,
  residentBytes: resident,
  ...(bytes === undefined ? {} : { stateBytes: bytes }),
}
console.log(JSON.stringify(result))
