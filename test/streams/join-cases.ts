import type { Random } from '../../src/core/random.ts'
import { MIN_TIMESTAMP } from '../../src/core/time.ts'
import { plainKeySerializer } from '../../src/dataflow/key-serializer.ts'
import { IntervalJoinFunction } from '../../src/operators/joins/interval-join.ts'
import { KeyedCoProcessOperator } from '../../src/operators/process/keyed-co-process.ts'
import type { HarnessSnapshot } from '../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../src/testing/operator-harness.ts'
import { type Difference, differenceOf } from './difference.ts'
import type { Reading } from './random-functions.ts'
import { randomParts, randomSteps } from './steps.ts'

interface Bounds {
  readonly lower: number
  readonly upper: number
}

/** A record of one of two streams, or a watermark of both. */
type JoinStep = { readonly input: number; readonly reading: Reading } | number

function joinOperator({ lower, upper }: Bounds) {
  const join = new IntervalJoinFunction<string, Reading, Reading, string>(
    { lowerMs: lower, upperMs: upper },
    { processElement: (left, right, _context, out) => out.collect(pairOf(left, right)) },
  )
  return new KeyedCoProcessOperator(join, plainKeySerializer<string>(), true)
}

function pairOf(left: Reading, right: Reading): string {
  return `${left.key}: ${left.time}=${left.value} ${right.time}=${right.value}`
}

/** Interval joins at random, through restores and changes of parallelism, against all pairs. */
export async function joinCase(random: Random): Promise<Difference> {
  const lower = random.below(40) - 20
  const bounds = { lower, upper: lower + random.below(30) }
  const steps = randomSteps(random, 15 + random.below(60)).map((step): JoinStep => {
    return typeof step === 'number' ? step : { input: random.below(2), reading: step }
  })
  const expected = pairsOf(steps, bounds)
  const results: string[] = []
  let restore: HarnessSnapshot[] = []
  for (const { steps: some, parallelism } of randomParts(random, steps)) {
    const snapshots: HarnessSnapshot[] = []
    for (let subtask = 0; subtask < parallelism; subtask++) {
      const harness = await OperatorHarness.open<Reading, string>({
        operator: joinOperator(bounds),
        keys: {
          selectors: [({ key }: Reading) => key, ({ key }: Reading) => key],
          serializer: plainKeySerializer(),
        },
        restore,
        subtask,
        parallelism,
      })
      for (const step of some) feed(harness, step)
      snapshots.push(await harness.snapshot())
      results.push(...harness.values)
      await harness.close()
    }
    restore = snapshots
  }
  return differenceOf(results, expected)
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

/** A record that waits for partners, and how often the watermark had moved when it came. */
interface Kept {
  readonly reading: Reading
  readonly moves: number
}

/**
 * All pairs of a key within the bounds, of records that are not behind the watermark when they come. As in Flink, a record
 * is gone when the watermark reaches the time of its last partner, though one of just that time is not late; where the
 * watermark was there before it came, it is gone when the watermark moves again, which fires its timer.
 */
function pairsOf(steps: readonly JoinStep[], { lower, upper }: Bounds): string[] {
  const pairs: string[] = []
  const sides: [Kept[], Kept[]] = [[], []]
  const keptMs = [Math.max(0, upper), Math.max(0, -lower)] as const
  let watermark = MIN_TIMESTAMP
  let moves = 0
  for (const step of steps) {
    if (typeof step === 'number') {
      if (step > watermark) moves += 1
      watermark = Math.max(watermark, step)
      continue
    }
    const { input, reading } = step
    if (reading.time < watermark) continue
    const other = 1 - input
    for (const { reading: partner, moves: before } of sides[other]!) {
      const [left, right] = input === 0 ? [reading, partner] : [partner, reading]
      const apart = right.time - left.time
      const isGone = before < moves && partner.time + keptMs[other]! <= watermark
      if (isGone || left.key !== right.key || apart < lower || apart > upper) continue
      pairs.push(pairOf(left, right))
    }
    sides[input]!.push({ reading, moves })
  }
  return pairs
}
