import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { WeirClient } from '../../src/client/weir-client.ts'
import { ALS_MODEL } from '../../src/models/topic/als-serving-function.ts'
import { freePorts } from '../../test/services/free-port.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { measureThroughput } from '../load/generator.ts'
import { KeySchedule } from '../load/key-schedule.ts'
import { bytesOf, scaled } from '../load/model-shape.ts'
import { residentBytes } from '../load/resident-bytes.ts'
import { publishModelFor } from '../served/published-model.ts'
import { WeirRun, weirCommand } from '../served/weir-run.ts'

const BUDGET_BYTES = 512 * 2 ** 20
const OUTSTANDING = 256
const QUERY_SECONDS = 10
const SAMPLE_MS = 100

/** The largest resident memory while `work` runs, in bytes. */
async function largestWhile(pid: number, work: () => Promise<unknown>): Promise<number> {
  let largest = 0
  const look = (): void => {
    largest = Math.max(largest, residentBytes(pid, 'VmRSS'))
  }
  const timer = setInterval(look, SAMPLE_MS)
  try {
    await work()
    look()
  } finally {
    clearInterval(timer)
  }
  return largest
}

/** `memory`: resident memory of `weir run als-serving` with 4 GB of rows on a 512 MB budget. */
export const memoryBenchmark: Benchmark = {
  name: 'memory',
  summary: 'resident memory with 4 GB of rows on a 512 MB budget',
  async run({ scale, say, scratch, workspace }) {
    await workspace.stopServing()
    await workspace.stopRedis()
    const shape = {
      users: scaled(8_000_000, scale),
      items: scaled(2_000_000, scale),
      factors: 100,
    }
    const root = join(scratch, 'weir')
    say(`publishing ${shape.users + shape.items} rows`)
    await publishModelFor(root, shape)
    const [port] = (await freePorts(1)) as [number]
    const budget = Math.round(BUDGET_BYTES * scale)
    await using server = new WeirRun(weirCommand(say), [
      ...['--data-dir', root, '--port', String(port)],
      ...['-D', `state.backend.memory.budget=${budget}`],
    ])
    say('loading')
    const loading = await largestWhile(server.pid, () => server.live)
    const loaded = await largestWhile(server.pid, () => pause(2000))
    say(`largest while loading ${gigabytes(loading)} GB, loaded ${gigabytes(loaded)} GB`)
    await using client = await WeirClient.connect({ port })
    const schedule = new KeySchedule(shape, 'uniform')
    let perSecond = 0
    const queried = await largestWhile(server.pid, async () => {
      const ask = () => {
        const at = schedule.advance()
        return client.predict(ALS_MODEL, schedule.users[at]!, schedule.items[at]!)
      }
      perSecond = (await measureThroughput(ask, OUTSTANDING, QUERY_SECONDS)).perSecond
    })
    return [
      {
        name: 'memory',
        value: gigabytes(Math.max(loading, loaded, queried)),
        unit: 'GB',
        target: 1.2,
        higher: false,
        details: {
          rowsGb: gigabytes(bytesOf(shape)),
          budgetMiB: Math.round(budget / 2 ** 20),
          loadedGb: gigabytes(loaded),
          underQueriesGb: gigabytes(queried),
          whileLoadingGb: gigabytes(loading),
          highWaterGb: gigabytes(residentBytes(server.pid, 'VmHWM')),
          predictionsPerSecond: Math.round(perSecond),
        },
      },
    ]
  },
}

function gigabytes(bytes: number): number {
  return Math.round(bytes / 1e6) / 1000
}
