import { inspect } from 'node:util'
import { messageOf } from '../core/errors.ts'
import { aFunction, count, listOf, objectWith, wholeNumber } from '../core/options/kinds.ts'
import { checkArgument, checkOptions, type OptionShape } from '../core/options/shape.ts'
import { seededRandom } from '../core/random.ts'
import type { StreamGraph } from '../dataflow/stream-graph.ts'
import type { StreamHarnessSnapshot } from './harness-graph.ts'
import { JobHarness } from './job-harness.ts'
import { drawKills, type Kill } from './kill-plan.ts'
import { ManualClock } from './manual-clock.ts'
import type { TimedEvent } from './timed-events.ts'

/** Builds the graph of a job, for each start of it again: what the job keeps outside of its state is then gone. */
export type JobBuilder = () => StreamGraph | Promise<StreamGraph>

/** Options of a test of restores. */
export interface RestoreTestOptions {
  /** The same seed draws the same kills. @default 1 */
  readonly seed?: number
  /** Runs with kills. @default 20 */
  readonly runs?: number
}

const OPTIONS: OptionShape<RestoreTestOptions> = { seed: wholeNumber({ min: 0 }), runs: count }

/** A run whose results are others. */
export interface RestoreFailure {
  /** Number of the run, from 1; 0 is the run without kills, which was repeated. */
  readonly run: number
  readonly kills: readonly Kill[]
  /** Uid of the sink; undefined where the run ended with an error. */
  readonly sink?: string
  /** Results that the run without kills has, and this one lacks, as text. */
  readonly lost: readonly string[]
  /** Results that the run without kills does not have. */
  readonly wrong: readonly string[]
  readonly error?: string
}

/** What a test of restores found. */
export interface RestoreTestReport {
  /**
   * `no-results`: the run without kills has none; `not-repeatable`: two runs without kills differ. Then there is nothing to
   * compare, and no run with kills.
   */
  readonly verdict: 'passed' | 'failed' | 'no-results' | 'not-repeatable'
  readonly seed: number
  readonly events: number
  readonly runs: number
  readonly kills: number
  /** Results of the run without kills, by the uid of the sink. */
  readonly results: Readonly<Record<string, number>>
  readonly failures: readonly RestoreFailure[]
}

/** The texts of the results of each sink, by its uid. */
type Results = ReadonlyMap<string, readonly string[]>

/**
 * Runs a job over events with kills and restores drawn at random, in one subtask, and compares what its sinks get with the
 * run without them, in any order. Each restore begins at the newest checkpoint: with its state, its events and its clock;
 * results behind it are dropped, as by a sink that is exactly once. Throws what the run without kills throws.
 */
export async function testRestores(
  build: JobBuilder,
  events: readonly TimedEvent[],
  options: RestoreTestOptions = {},
): Promise<RestoreTestReport> {
  checkArgument('testRestores', 'build', aFunction(), build)
  checkArgument('testRestores', 'events', listOf(objectWith('an event')), events)
  checkOptions('testRestores', OPTIONS, options)
  const { seed = 1, runs = 20 } = options
  const expected = await resultsOf(build, events, [])
  const results = Object.fromEntries([...expected].map(([sink, all]) => [sink, all.length]))
  const report = { seed, events: events.length, results }
  const isEmpty = Object.values(results).every((count) => count === 0)
  const repeated = failuresOf({ run: 0, kills: [] }, await resultsOf(build, events, []), expected)
  if (isEmpty || repeated.length > 0) {
    const verdict = repeated.length > 0 ? 'not-repeatable' : 'no-results'
    return { verdict, ...report, runs: 0, kills: 0, failures: repeated }
  }
  const plans = Array.from({ length: runs }, (_, i) => ({
    run: i + 1,
    kills: drawKills(seededRandom(seed * 1_000_003 + i + 1), events.length),
  }))
  const failures: RestoreFailure[] = []
  for (const plan of plans) failures.push(...(await failuresWith(build, events, plan, expected)))
  const verdict = failures.length === 0 ? 'passed' : 'failed'
  const kills = plans.reduce((sum, plan) => sum + plan.kills.length, 0)
  return { verdict, ...report, runs, kills, failures }
}

/** How a run with kills differs from the one without. */
async function failuresWith(
  build: JobBuilder,
  events: readonly TimedEvent[],
  plan: Pick<RestoreFailure, 'run' | 'kills'>,
  expected: Results,
): Promise<readonly RestoreFailure[]> {
  try {
    return failuresOf(plan, await resultsOf(build, events, plan.kills), expected)
  } catch (error) {
    return [{ ...plan, lost: [], wrong: [], error: messageOf(error) }]
  }
}

/** Where a job goes on. */
interface Start {
  readonly event: number
  readonly clockMs: number
  readonly restore: StreamHarnessSnapshot | undefined
}

const BEGIN: Start = { event: 0, clockMs: 0, restore: undefined }

/** The results of a run with these kills. */
async function resultsOf(
  build: JobBuilder,
  events: readonly TimedEvent[],
  kills: readonly Kill[],
): Promise<Results> {
  const results = new Map<string, string[]>()
  let start = BEGIN
  for (const [i, kill] of kills.entries()) {
    start = await killedAttempt(await open(build, start), {
      id: i + 1,
      start,
      kill,
      events,
      results,
    })
  }
  const harness = await open(build, start)
  try {
    for (const event of events.slice(start.event)) await harness.feed(event)
    await harness.endInput()
    addResults(harness, results)
  } finally {
    await harness.close()
  }
  return results
}

async function open(build: JobBuilder, { clockMs, restore }: Start): Promise<JobHarness> {
  const clock = new ManualClock(clockMs)
  return await JobHarness.open(await build(), { clock, ...(restore && { restore }) })
}

interface Attempt {
  readonly id: number
  readonly start: Start
  readonly kill: Kill
  readonly events: readonly TimedEvent[]
  /** Gets the results up to the checkpoint. */
  readonly results: Map<string, string[]>
}

/** Runs up to a checkpoint and on to a kill. Returns where the next attempt goes on. */
async function killedAttempt(
  harness: JobHarness,
  { id, start, kill, events, results }: Attempt,
): Promise<Start> {
  let next = BEGIN
  try {
    for (const event of events.slice(start.event, kill.checkpoint)) await harness.feed(event)
    if (kill.checkpoint > 0) {
      const restore = await harness.checkpoint(id)
      next = { event: kill.checkpoint, clockMs: harness.nowMs, restore }
      addResults(harness, results)
    }
    for (const event of events.slice(kill.checkpoint, kill.kill)) await harness.feed(event)
    if (kill.kill > events.length) await harness.endInput()
  } finally {
    await harness.close()
  }
  return next
}

function addResults(harness: JobHarness, to: Map<string, string[]>): void {
  for (const [sink, records] of harness.results()) {
    const texts = records.map(({ value }) => textOf(value))
    to.set(sink, [...(to.get(sink) ?? []), ...texts])
  }
}

function textOf(value: unknown): string {
  return inspect(value, { depth: null, sorted: true, breakLength: Number.POSITIVE_INFINITY })
}

/** How the results of the sinks differ. */
function failuresOf(
  run: Pick<RestoreFailure, 'run' | 'kills'>,
  actual: Results,
  expected: Results,
): RestoreFailure[] {
  return [...expected].flatMap(([sink, texts]) => {
    const lost = without(texts, actual.get(sink) ?? [])
    const wrong = without(actual.get(sink) ?? [], texts)
    return lost.length + wrong.length === 0 ? [] : [{ ...run, sink, lost, wrong }]
  })
}

/** The texts that the others do not have as often. */
function without(texts: readonly string[], others: readonly string[]): string[] {
  const left = new Map<string, number>()
  for (const text of others) left.set(text, (left.get(text) ?? 0) + 1)
  return texts.filter((text) => {
    const count = left.get(text) ?? 0
    left.set(text, count - 1)
    return count <= 0
  })
}
