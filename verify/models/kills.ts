import { Worker } from 'node:worker_threads'
import { sleep, systemClock } from '../../src/core/clock.ts'
import { type Random, seededRandom } from '../../src/core/random.ts'
import { siblingModule } from '../../src/core/sibling-module.ts'
import { ModelWorkers } from '../../src/inference/engine/model-workers.ts'
import type { Deployment } from '../../src/inference/port/deployment.ts'
import { hasRequests } from '../../src/inference/queue/repair.ts'
import type { AskingEnd, AskingMessage, AskingStart } from './asking-thread.ts'

const PRODUCERS = 3
const WORKERS = 3
const SUPERVISE_MS = 50
/** Longest time between two kills of one model, ms. */
const KILL_MS = 30

/** Options of the campaign. */
export interface KillOptions {
  readonly seed: number
  /** Least duration. */
  readonly minutes: number
  /** Least number of kills for each kind of worker. */
  readonly kills: number
  readonly say: (line: string) => void
}

/** Result of the campaign, printed as JSON. */
export interface KillReport {
  readonly campaign: 'models'
  readonly seed: number
  readonly kills: number
  readonly answered: number
  /** Requests that their client gave up. */
  readonly givenUp: number
  /** Requests that ended without an answer although no client gave them up, or have not ended at all. */
  readonly lost: number
  /** Answers of a request that had ended before, whoever got them. */
  readonly answeredTwice: number
  /** Other answers that are not those of their request. */
  readonly wrong: number
  readonly violations: readonly string[]
}

/**
 * Kills workers of two models, one in threads and one in child processes, at random moments while threads ask.
 * Every request must be answered rightly or be given up by its client, and nothing may be left in the queues.
 */
export async function runKills(options: KillOptions): Promise<KillReport> {
  const { seed } = options
  const models = await Promise.all([
    killWorkersOf('thread', options),
    killWorkersOf('process', { ...options, seed: seed + 1 }),
  ])
  const sum = (field: Exclude<keyof ModelFigures, 'violations'>) =>
    models.reduce((total, model) => total + model[field], 0)
  return {
    campaign: 'models',
    seed,
    kills: sum('kills'),
    answered: sum('answered'),
    givenUp: sum('givenUp'),
    lost: sum('lost'),
    answeredTwice: sum('answeredTwice'),
    wrong: sum('wrong'),
    violations: models.flatMap(({ violations }) => violations),
  }
}

type ModelFigures = Omit<KillReport, 'campaign' | 'seed'>

async function killWorkersOf(
  isolation: NonNullable<Deployment['isolation']>,
  { seed, minutes, kills: least, say }: KillOptions,
): Promise<ModelFigures> {
  const deployment = {
    sloMs: 100_000,
    workers: WORKERS,
    maxAttempts: 1000,
    maxBatchItems: 16,
    isolation,
  }
  const workers = await ModelWorkers.start(doubling(), deployment, {
    clock: systemClock,
    onMove() {},
  })
  const supervision = setInterval(() => workers.supervise(), SUPERVISE_MS)
  const asking = startAsking(workers, deployment, seed)
  // Else a few kills are over before a thread has loaded its code.
  await asking.begun
  const random = seededRandom(seed)
  const endsAt = systemClock.monotonicMs() + minutes * 60_000
  let kills = 0
  while (systemClock.monotonicMs() < endsAt || kills < least) {
    if (!(await killOne(workers, random))) continue
    if (++kills % 100 === 0) say(`${isolation}: ${kills} kills`)
  }
  const ends = await asking.end()
  clearInterval(supervision)
  const isLeft = hasRequests(workers.memory, systemClock.monotonicMs())
  await workers.close()
  return figuresOf(isolation, { ends, kills, isLeft })
}

const doubling = () =>
  ({
    kind: 'function',
    module: siblingModule('../../test/system/inference/function-models', import.meta.url).href,
    export: 'doubling',
  }) as const

/** Kills a worker if all of them run: else the kills would outpace the starts. Returns whether it did. */
async function killOne(workers: ModelWorkers, random: Random): Promise<boolean> {
  await sleep(systemClock, random.below(KILL_MS))
  const { threads } = workers
  if (threads.length < WORKERS) return false
  const killed = threads[random.below(threads.length)]!
  killed.abandon()
  await killed.exited
  return true
}

/**
 * Starts threads that ask until `end` is called, which resolves with what became of their requests. `begun` resolves when
 * each of them has an answer.
 */
function startAsking(workers: ModelWorkers, deployment: Deployment, seed: number) {
  const { memory, maxItems, signature } = workers
  const served = { id: { name: 'doubling', version: 1 }, signature, deployment }
  const isOver = new Int32Array(new SharedArrayBuffer(4))
  const threads = Array.from({ length: PRODUCERS }, (_, i) => {
    const model = { served, buffer: memory.buffer, maxItems }
    const workerData: AskingStart = { producer: i + 1, model, isOver, seed: seed + i }
    const thread = new Worker(siblingModule('./asking-thread', import.meta.url), { workerData })
    const first = Promise.withResolvers<void>()
    const end = Promise.withResolvers<AskingEnd>()
    thread.on('message', (message: AskingMessage) => {
      first.resolve()
      if (message === 'answered') return
      end.resolve(message)
      void thread.terminate()
    })
    thread.once('error', (error) => {
      first.reject(error)
      end.reject(error)
    })
    return { first: first.promise, end: end.promise }
  })
  return {
    begun: Promise.all(threads.map(({ first }) => first)),
    end: (): Promise<readonly AskingEnd[]> => {
      Atomics.store(isOver, 0, 1)
      return Promise.all(threads.map(({ end }) => end))
    },
  }
}

function figuresOf(
  isolation: string,
  run: { readonly ends: readonly AskingEnd[]; readonly kills: number; readonly isLeft: boolean },
): ModelFigures {
  const sum = (of: (end: AskingEnd) => number) =>
    run.ends.reduce((total, one) => total + of(one), 0)
  const { 'given up': givenUp = 0, ...errors } = errorsOf(run.ends)
  const open = sum((end) => end.open)
  const figures = {
    kills: run.kills,
    answered: sum((end) => end.right),
    givenUp,
    lost: open + Object.values(errors).reduce((total, count) => total + count, 0),
    answeredTwice: sum((end) => end.answeredTwice),
    wrong: sum((end) => end.wrong),
  }
  const faults = Object.entries(errors).map(
    ([code, count]) => `${count} requests ended with ${code}`,
  )
  if (open > 0) faults.push(`${open} requests have not ended`)
  if (figures.answeredTwice > 0)
    faults.push(`${figures.answeredTwice} requests were answered twice`)
  if (figures.wrong > 0) faults.push(`${figures.wrong} answers are wrong`)
  if (figures.answered === 0) faults.push('no request was answered')
  if (run.isLeft) faults.push('requests are left in the queue')
  return { ...figures, violations: faults.map((fault) => `${isolation}: ${fault}`) }
}

/** Errors of all threads, by their code. */
function errorsOf(ends: readonly AskingEnd[]): Record<string, number> {
  const total: Record<string, number> = {}
  for (const [code, count] of ends.flatMap((end) => Object.entries(end.errors))) {
    total[code] = (total[code] ?? 0) + count
  }
  return total
}
