import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sleep, systemClock } from '../../src/core/clock.ts'
import { MiniCluster } from '../../src/testing/mini-cluster.ts'
import type { NexmarkJobOptions, NexmarkSample } from './nexmark-job.ts'
import type { NexmarkQuery } from './nexmark-queries.ts'

/*
 * Runs one query in a process of its own, so that its processor time is that of the query:
 * `node nexmark-process.ts QUERY WARM_UP_SECONDS SECONDS FOLDER`. Prints events/s and CPU seconds per
 * million events of the time after the warm-up.
 */
const [, , query, warmUp, seconds, folder] = process.argv as [
  string,
  string,
  NexmarkQuery,
  string,
  string,
  string,
]
const PARALLELISM = 2
const options: NexmarkJobOptions = {
  query,
  partitions: PARALLELISM,
  samples: join(folder, 'samples'),
}
await using cluster = new MiniCluster({
  configuration: {
    'parallelism.default': String(PARALLELISM),
    'execution.checkpointing.interval': '1 s',
    'execution.checkpointing.dir': join(folder, 'checkpoints'),
  },
})
const job = await cluster.startWorkers(new URL('./nexmark-job.ts', import.meta.url), options)
await job.waitFor('RUNNING')
await sleep(systemClock, Number(warmUp) * 1000)
const fromMs = systemClock.monotonicMs()
await sleep(systemClock, Number(seconds) * 1000)
const samples = readFileSync(options.samples, 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as NexmarkSample)
  .filter(({ timeMs }) => timeMs >= fromMs)
if (job.status !== 'RUNNING') throw new Error(`the job is ${job.status}`)

const eventsPerSecond = Array.from({ length: PARALLELISM }, (_, partition) => {
  const own = samples.filter((sample) => sample.partition === partition)
  const [first, last] = [own[0]!, own.at(-1)!]
  return ((last.events - first.events) / (last.timeMs - first.timeMs)) * 1000
}).reduce((a, b) => a + b)
const [first, last] = [samples[0]!, samples.at(-1)!]
const cores = ((last.cpuSeconds - first.cpuSeconds) / (last.timeMs - first.timeMs)) * 1000
console.log(
  JSON.stringify({ eventsPerSecond, cpuSecondsPerMillion: (cores / eventsPerSecond) * 1e6 }),
)
