import { plainKeySerializer } from '../../src/core/formats/plain-key-serializer.ts'
import type { Random } from '../../src/core/random.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../../src/core/time.ts'
import { IntervalJoinFunction, type JoinInterval } from '../../src/operators/joins/interval-join.ts'
import { KeyedCoProcessOperator } from '../../src/operators/process/keyed-co-process.ts'
import type { HarnessSnapshot } from '../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../src/testing/operator-harness.ts'
import { FormerJoin } from '../operators/joins/former-join.ts'
import { type Difference, differenceOf } from './difference.ts'
import type { Reading } from './random-functions.ts'
import { type Part, randomParts, randomSteps } from './steps.ts'

/** A record of one of two streams, or a watermark of both. */
type JoinStep = { readonly input: number; readonly reading: Reading } | number

/** Steps between two restores, and the join that takes them. */
interface JoinPart extends Part<JoinStep> {
  readonly interval: JoinInterval
  /** Whether it is the join of a former release. */
  readonly isFormer: boolean
  /** A watermark in the middle of which it is stopped. */
  readonly last: { readonly watermark: number; readonly timers: number } | undefined
}

/**
 * Interval joins at random against all pairs: through restores, also in the middle of a watermark and from a former release,
 * with changed bounds and changes of parallelism. In the end nothing is left.
 */
export async function joinCase(random: Random): Promise<Difference> {
  const parts = randomJoinParts(random)
  const results: string[] = []
  let restore: HarnessSnapshot[] = []
  let before: JoinPart | undefined
  for (const part of parts) {
    const snapshots: HarnessSnapshot[] = []
    for (let subtask = 0; subtask < part.parallelism; subtask++) {
      const { operator, harness } = await open(part, restore, subtask)
      if (before?.last !== undefined) harness.watermark(before.last.watermark)
      for (const step of part.steps) feed(harness, step)
      if (part.last !== undefined) {
        operator.processWatermark(part.last.watermark)
        operator.fireDue(part.last.timers)
      }
      snapshots.push(await harness.snapshot())
      results.push(...harness.values)
      await harness.close()
    }
    restore = snapshots
    before = part
  }
  const left = await leftOver(parts.at(-1)!, restore)
  const { wrong, lost } = differenceFrom(parts, results)
  return { wrong: [...wrong, ...left], lost }
}

function randomJoinParts(random: Random): readonly JoinPart[] {
  const steps = randomSteps(random, 15 + random.below(60)).map((step): JoinStep => {
    return typeof step === 'number' ? step : { input: random.below(2), reading: step }
  })
  const changes = random.below(3) === 0
  const beginsFormer = random.below(3) === 0
  let interval = randomInterval(random)
  let watermark = MIN_TIMESTAMP
  const all = randomParts(random, steps)
  return all.map(({ steps, parallelism }, i) => {
    if (changes) interval = randomInterval(random)
    const end = steps.at(-1)
    watermark = Math.max(
      watermark,
      ...steps.slice(0, -1).filter((step) => typeof step === 'number'),
    )
    const stops = i + 1 < all.length && typeof end === 'number' && end > watermark
    const last =
      stops && random.below(2) === 0 ? { watermark: end, timers: random.below(3) } : undefined
    if (typeof end === 'number') watermark = Math.max(watermark, end)
    const some = last === undefined ? steps : steps.slice(0, -1)
    return { steps: some, parallelism, interval, isFormer: beginsFormer && i === 0, last }
  })
}

function randomInterval(random: Random): JoinInterval {
  const lowerMs = random.below(40) - 20
  return { lowerMs, upperMs: lowerMs + random.below(30) }
}

async function open(
  { interval, isFormer, parallelism }: Omit<JoinPart, 'steps' | 'last'>,
  restore: readonly HarnessSnapshot[],
  subtask: number,
) {
  const join = isFormer
    ? new FormerJoin<Reading>(interval, pairOf)
    : new IntervalJoinFunction<string, Reading, Reading, string>(interval, {
        processElement: (left, right, _context, out) => out.collect(pairOf(left, right)),
      })
  const operator = new KeyedCoProcessOperator(join, plainKeySerializer<string>(), true)
  const key = ({ key }: Reading): string => key
  const keys = { selectors: [key, key], serializer: plainKeySerializer() }
  const harness = await OperatorHarness.open<Reading, string>({
    operator,
    keys,
    restore,
    subtask,
    parallelism,
  })
  return { operator, harness }
}

function feed(harness: OperatorHarness<Reading, string>, step: JoinStep): void {
  if (typeof step === 'number') {
    harness.watermark(step)
    return
  }
  try {
    harness.process({ ...step.reading }, step.reading.time, { input: step.input })
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'NOT_OWNER') throw error
  }
}

/** The entries and timers that stay when no partner can come any more. */
async function leftOver(
  part: JoinPart,
  restore: readonly HarnessSnapshot[],
): Promise<readonly string[]> {
  const { harness } = await open({ ...part, isFormer: false, parallelism: 1 }, restore, 0)
  harness.watermark(MAX_TIMESTAMP)
  const left = harness.numKeyedStateEntries() + harness.numEventTimeTimers()
  await harness.close()
  return left === 0 ? [] : [`${left} entries and timers are left`]
}

/** Where bounds change, a record may stay until a timer of the former bounds. */
function differenceFrom(parts: readonly JoinPart[], results: readonly string[]): Difference {
  const { wrong } = differenceOf(results, pairsOf(parts, parts.some(hasOtherBounds(parts[0]!))))
  const { lost } = differenceOf(results, pairsOf(parts, false))
  return { wrong, lost }
}

const hasOtherBounds =
  ({ interval: { lowerMs, upperMs } }: JoinPart) =>
  ({ interval }: JoinPart): boolean =>
    interval.lowerMs !== lowerMs || interval.upperMs !== upperMs

function pairOf(left: Reading, right: Reading): string {
  return `${left.key}: ${left.time}=${left.value} ${right.time}=${right.value}`
}

/**
 * All pairs of a key within the bounds, of records that are not behind the watermark when they come. As in Flink, a record
 * is gone when the watermark reaches the time of its last partner, though one of just that time is not late; where the
 * watermark was there before it came, it is gone when the watermark moves again, which fires its timer.
 */
function pairsOf(parts: readonly JoinPart[], keepsAll: boolean): string[] {
  const pairs: string[] = []
  const sides: [Reading[], Reading[]] = [[], []]
  let watermark = MIN_TIMESTAMP
  const advance = (to: number, { lowerMs, upperMs }: JoinInterval): void => {
    watermark = to
    if (keepsAll) return
    sides[0] = sides[0].filter(({ time }) => time + Math.max(0, upperMs) > to)
    sides[1] = sides[1].filter(({ time }) => time + Math.max(0, -lowerMs) > to)
  }
  let before: JoinPart | undefined
  for (const part of parts) {
    const { interval, last } = part
    if (before?.last !== undefined) advance(before.last.watermark, interval)
    for (const step of part.steps) {
      if (typeof step === 'number') {
        if (step > watermark) advance(step, interval)
        continue
      }
      const { input, reading } = step
      if (reading.time < watermark) continue
      for (const partner of sides[1 - input]!) {
        const [left, right] = input === 0 ? [reading, partner] : [partner, reading]
        if (left.key === right.key && isWithin(interval, right.time - left.time)) {
          pairs.push(pairOf(left, right))
        }
      }
      sides[input]!.push(reading)
    }
    if (last !== undefined) advance(last.watermark, interval)
    before = part
  }
  return pairs
}

function isWithin({ lowerMs, upperMs }: JoinInterval, apart: number): boolean {
  return apart >= lowerMs && apart <= upperMs
}
