import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../../src/core/clock.ts'
import { seededRandom } from '../../../../src/core/random.ts'
import type { StreamGraph } from '../../../../src/dataflow/stream-graph.ts'
import { JobExecution } from '../../../../src/runtime/job/execution.ts'
import { resolveRunOptions } from '../../../../src/runtime/job/run-options.ts'
import type { SharedThreadReport } from '../../../../src/runtime/slot/pool/messages.ts'
import { SlotThreadPool } from '../../../../src/runtime/slot/pool/slot-threads.ts'
import { MemoryCheckpointStorage } from '../../../../src/testing/memory-checkpoint-storage.ts'
import { until } from '../../../run/until.ts'
import { countGraph, expectedCounts, finalCounts } from '../../job-fixture.ts'
import { LocalWorker } from './fake-workers.ts'

/** Most turns of the event loop for a checkpoint: messages, barriers and acknowledgements take about 5. */

/** Most turns of the event loop for a checkpoint: messages, barriers and acknowledgements take about 5. */
const MOST_TURNS = 30

let storage: MemoryCheckpointStorage
let graphs: Map<string, StreamGraph>
let workers: LocalWorker[]
let pool: SlotThreadPool
let jobs: JobExecution[]

beforeEach(() => {
  storage = new MemoryCheckpointStorage()
  graphs = new Map()
  workers = []
  jobs = []
  pool = new SlotThreadPool({
    threads: 1,
    url: 'file:///job.ts',
    stateMemoryBytes: 2 ** 26,
    clock: systemClock,
    startWorker: (name, data) => {
      const worker = new LocalWorker(name, data, graphs, storage)
      workers.push(worker)
      return worker
    },
  })
})

afterEach(async () => {
  await Promise.all(jobs.map((job) => job.cancel()))
  await pool.close()
})

/** Starts a job of this graph in the thread that all jobs of the test share. */
function start(graph: StreamGraph): JobExecution {
  const url = `file:///job-${graphs.size}.ts`
  graphs.set(url, graph)
  const run = resolveRunOptions({
    configuration: {
      'state.backend.type': 'heap',
      'restart-strategy.type': 'fixed-delay',
      'restart-strategy.fixed-delay.attempts': '3',
      'restart-strategy.fixed-delay.delay': '1 ms',
    },
  })
  const job = new JobExecution({
    ...run,
    graph,
    random: seededRandom(1),
    startSlot: pool.slotsOf({ url, options: {} }),
    storage,
    storageUrl: 'memory',
  })
  jobs.push(job)
  job.start()
  return job
}

describe('jobs in one shared thread', () => {
  it('count each its own records', async () => {
    const counts = [1, 2, 3].map((n) => {
      const options = { parallelism: 1, countPerPartition: n * 100 }
      const { graph, sink } = countGraph(options)
      return { job: start(graph), sink, options }
    })
    await Promise.all(counts.map(({ job }) => job.result))
    for (const { sink, options } of counts) {
      expect(finalCounts(sink)).toEqual(expectedCounts(options))
    }
    expect(workers).toHaveLength(1)
  })

  it('leave nothing in the thread when they end: their agents answer no more', async () => {
    const graphOf = (): StreamGraph =>
      countGraph({ parallelism: 1, countPerPartition: 1e9, ratePerSecond: 100 }).graph
    for (const job of [start(graphOf()), start(graphOf())]) await job.waitFor('RUNNING')
    await jobs[0]!.cancel()
    const answers: number[] = []
    const worker = workers[0]!
    worker.on('message', (message: SharedThreadReport) => {
      if (message.kind === 'report' && message.report.kind === 'pong') answers.push(message.agent)
    })
    const agents = worker.received
      .filter((message) => message.kind === 'add')
      .map(({ agent }) => agent)
    for (const agent of agents) {
      worker.agents.handle({ kind: 'command', agent, command: { kind: 'ping', attempt: 0 } })
    }
    await until('one answers', () => answers.length > 0)
    expect(answers).toEqual([agents[1]])
  })

  it('take turns: a job whose source never ends does not hold up the checkpoint of another one', async () => {
    let busy = 0
    const endless = countGraph({
      parallelism: 1,
      countPerPartition: Number.MAX_SAFE_INTEGER,
      onRecord: () => {
        busy += 1
      },
    })
    const quiet = countGraph({ parallelism: 1, countPerPartition: 1e9, ratePerSecond: 100 })
    const [first, second] = [start(endless.graph), start(quiet.graph)]
    await Promise.all([first, second].map((job) => job.waitFor('RUNNING')))
    await until('the first is busy', () => busy > 0)
    const before = busy
    let turns = 0
    let isTaken = false
    const taken = second.triggerCheckpoint().then(() => {
      isTaken = true
    })
    while (!isTaken && turns < MOST_TURNS) {
      await turn()
      turns += 1
    }
    expect(isTaken).toBe(true)
    await taken
    expect(busy).toBeGreaterThan(before)
    expect(first.attempt).toBe(1)
  })
})

describe('an error of asynchronous code that nothing handled, in a shared thread', () => {
  /** Starts jobs that wait for records; what they begin by `of[n]` is code that an operator of job n has begun. */
  async function twoJobs(): Promise<{ readonly of: ((work: () => void) => void)[] }> {
    const of: ((work: () => void) => void)[] = []
    for (const n of [0, 1]) {
      const { graph } = countGraph({
        parallelism: 1,
        countPerPartition: 1e9,
        ratePerSecond: 200,
        onRecord: () => {
          of[n] ??= AsyncLocalStorage.snapshot()
        },
      })
      start(graph)
    }
    await until('both have seen a record', () => of[0] !== undefined && of[1] !== undefined)
    return { of }
  }

  const attempts = (): number[] => jobs.map(({ attempt }) => attempt)
  const failStray = (): boolean => workers[0]!.agents.failStray(new Error('no answer'))

  it('fails the attempt of the job whose operator has begun the code', async () => {
    const { of } = await twoJobs()
    of[1]!(() => expect(failStray()).toBe(true))
    await until('it starts again', () => attempts()[1] === 2)
    await jobs[1]!.waitFor('RUNNING')
    expect(attempts()).toEqual([1, 2])
    expect(jobs[1]!.failures[0]!.error.message).toMatch(/nothing handled .* no answer/)
    expect(jobs[0]!.failures).toEqual([])
  })

  it('fails the attempts of all jobs where no operator is known', async () => {
    await twoJobs()
    expect(failStray()).toBe(true)
    await until('both start again', () => attempts().join() === '2,2')
  })

  it('is a warning where the attempt is over, and fails no other job', async () => {
    const { of } = await twoJobs()
    await jobs[1]!.cancel()
    of[1]!(() => expect(failStray()).toBe(true))
    expect(workers[0]!.warnings).toEqual([
      expect.stringMatching(/^operator .*counter.*, whose attempt is over, .*: no answer; wait/),
    ])
    await jobs[0]!.triggerCheckpoint()
    expect(attempts()).toEqual([1, 1])
  })

  it('ends the thread where no job runs', () => {
    start(countGraph({ parallelism: 1 }).graph)
    expect(failStray()).toBe(false)
  })
})
