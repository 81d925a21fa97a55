import type { Bucket, ModelStatistics } from '../port/engine.ts'
import type { ModelId } from '../port/model.ts'
import { type Buckets, boundsOf, ITEM_BUCKETS, TIME_BUCKETS } from '../queue/buckets.ts'
import { HEADER, PRODUCER_COUNT, PRODUCER_ROWS, WORKER } from '../queue/layout.ts'
import type { QueueMemory } from '../queue/memory.ts'
import { RESPONSE_BUCKETS, responseQuantile } from '../queue/response-times.ts'
import { DISPATCH_REASONS } from '../workers/serve.ts'
import type { Place } from './device.ts'
import type { ModelWorkers } from './model-workers.ts'

/** Counters of a model, summed over its workers and producers. */
export function statisticsOf(
  id: ModelId,
  workers: ModelWorkers,
  place: Place | undefined,
): ModelStatistics {
  const { memory, problem, placements } = workers
  const dispatched = Object.fromEntries(
    DISPATCH_REASONS.map((reason, i) => [reason, workers.sum(WORKER.dispatched + i)]),
  ) as ModelStatistics['dispatched']
  return {
    id,
    answered: workers.sum(WORKER.answered),
    failed: workers.sum(WORKER.failed),
    shedDoomed: workers.sum(WORKER.shed),
    shedFull: producerSum(memory, PRODUCER_COUNT.full),
    expired: producerSum(memory, PRODUCER_COUNT.expired),
    cancelled: producerSum(memory, PRODUCER_COUNT.cancelled),
    batches: workers.sum(WORKER.batches),
    items: workers.sum(WORKER.items),
    runMs: workers.sum(WORKER.runMs),
    queueMs: workers.sum(WORKER.queueMs),
    p99Ms: responseQuantile(responsesOf(workers), 0.99),
    ...goalsOf(workers),
    dispatched,
    waiting: memory.words[HEADER.waiting]!,
    workers: memory.words[HEADER.workers]!,
    workersBusy: workers.busy,
    ...(workers.shared !== undefined ? { shared: 1 } : {}),
    workersWanted: workers.wanted,
    workersLost: workers.lost,
    hedged: producerSum(memory, PRODUCER_COUNT.hedged),
    hedgeWins: producerSum(memory, PRODUCER_COUNT.hedgeWins),
    memoryBytes: place?.bytes ?? 0,
    resident: workers.residency === 'out' ? 0 : 1,
    loads: workers.sum(WORKER.loads),
    loadMs: workers.sum(WORKER.loadMs),
    evictions: place?.evictions ?? 0,
    ...(problem === undefined ? {} : { problem: problem.message }),
    ...(placements.length === 0 ? {} : { placements }),
  }
}

/** How the requests fared against the goal, and the histograms behind that. */
function goalsOf(workers: ModelWorkers) {
  const ended = producerSum(workers.memory, PRODUCER_COUNT.ended)
  const inTime = producerSum(workers.memory, PRODUCER_COUNT.inTime)
  const first = workers.sum(WORKER.firstExecutions)
  const executions = workers.sum(WORKER.executions)
  return {
    histograms: {
      queueMs: histogramOf(workers, WORKER.queueTimes, TIME_BUCKETS),
      runMs: histogramOf(workers, WORKER.runTimes, TIME_BUCKETS),
      batchItems: histogramOf(workers, WORKER.batchSizes, ITEM_BUCKETS),
    },
    inTime,
    ...(ended === 0 ? {} : { sloAttainment: inTime / ended }),
    ...(first === 0 ? {} : { executionsPerRequest: executions / first }),
  }
}

function histogramOf(workers: ModelWorkers, first: number, buckets: Buckets): Bucket[] {
  return boundsOf(buckets).map((upTo, i) => ({ upTo, count: workers.sum(first + i) }))
}

/** Answers by their response time. */
function responsesOf(workers: ModelWorkers): number[] {
  return Array.from({ length: RESPONSE_BUCKETS }, (_, i) => workers.sum(WORKER.responses + i))
}

function producerSum(memory: QueueMemory, counter: number): number {
  let sum = 0
  for (let producer = 0; producer < PRODUCER_ROWS; producer++) {
    sum += memory.numbers[memory.producerAt(producer) / 2 + counter]!
  }
  return sum
}
