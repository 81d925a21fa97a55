import { Worker } from 'node:worker_threads'
import { sleep, systemClock } from '../../src/core/clock.ts'
import { type Random, seededRandom } from '../../src/core/random.ts'
import { siblingModule } from '../../src/core/sibling-module.ts'
import { ModelWorkers } from '../../src/inference/engine/model-workers.ts'
import type { Deployment } from '../../src/inference/port/deployment.ts'
import { hasRequests } from '../../src/inference/queue/repair.ts'
import type { AskingEnd, AskingStart } from './asking-thread.ts'

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
  const sum = (field: 'kills' | 'answered' | 'givenUp') =>
    models.reduce((total, model) => total + model[field], 0)
  return {
    campaign: 'models',
    seed,
    kills: sum('kills'),
    answered: sum('answered'),
    givenUp: sum('givenUp'),
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

/** Starts threads that ask until `end` is called, which resolves with what became of their requests. */
function startAsking(workers: ModelWorkers, deployment: Deployment, seed: number) {
  const { memory, maxItems, signature } = workers
  const served = { id: { name: 'doubling', version: 1 }, signature, deployment }
  const isOver = new Int32Array(new SharedArrayBuffer(4))
  const ends = Array.from({ length: PRODUCERS }, (_, i) => {
    const model = { served, buffer: memory.buffer, maxItems }
    const workerData: AskingStart = { producer: i + 1, model, isOver, seed: seed + i }
    const thread = new Worker(siblingModule('./asking-thread', import.meta.url), { workerData })
    return new Promise<AskingEnd>((resolve, reject) => {
      thread.once('message', resolve).once('error', reject)
    })
  })
  return {
    end: (): Promise<readonly AskingEnd[]> => {
      Atomics.store(isOver, 0, 1)
      return Promise.all(ends)
    },
  }
}

function figuresOf(
  isolation: string,
  run: { readonly ends: readonly AskingEnd[]; readonly kills: number; readonly isLeft: boolean },
): ModelFigures {
  const sum = (of: (end: AskingEnd) => number) =>
    run.ends.reduce((total, one) => total + of(one), 0)
  const codes = new Set(run.ends.flatMap((end) => Object.keys(end.errors)))
  const wrong = sum((end) => end.wrong)
  const answered = sum((end) => end.right)
  const givenUp = sum((end) => end.errors['given up'] ?? 0)
  codes.delete('given up')
  const violations = [...codes].map((code) => {
    const count = sum((end) => end.errors[code] ?? 0)
    return `${isolation}: ${count} requests ended with ${code}`
  })
  if (wrong > 0) violations.push(`${isolation}: ${wrong} answers are wrong`)
  if (answered === 0) violations.push(`${isolation}: no request was answered`)
  if (run.isLeft) violations.push(`${isolation}: requests are left in the queue`)
  return { kills: run.kills, answered, givenUp, violations }
}
