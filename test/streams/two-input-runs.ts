import { plainKeySerializer } from '../../src/core/formats/plain-key-serializer.ts'
import type { Random } from '../../src/core/random.ts'
import { MIN_TIMESTAMP } from '../../src/core/time.ts'
import type { FiringOperator } from '../../src/operators/port/firing.ts'
import type { HarnessSnapshot } from '../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../src/testing/operator-harness.ts'
import type { Reading } from './random-functions.ts'
import { type Part, randomParts, randomSteps } from './steps.ts'

/** A record of one of two streams, or a watermark of both. */
export type TwoInputStep = { readonly input: number; readonly reading: Reading } | number

/** Steps between two restores. */
export interface TwoInputPart extends Part<TwoInputStep> {
  /** A watermark in the middle of which it is stopped. */
  readonly last: { readonly watermark: number; readonly timers: number } | undefined
}

/** Records of both streams at random, some of the runs stopped in the middle of a watermark. */
export function randomTwoInputParts(random: Random): readonly TwoInputPart[] {
  const steps = randomSteps(random, 15 + random.below(60)).map((step): TwoInputStep => {
    return typeof step === 'number' ? step : { input: random.below(2), reading: step }
  })
  let watermark = MIN_TIMESTAMP
  const all = randomParts(random, steps)
  return all.map(({ steps, parallelism }, i) => {
    const before = steps.slice(0, -1).filter((step) => typeof step === 'number')
    const end = steps.at(-1)
    watermark = Math.max(watermark, ...before)
    const stops = i + 1 < all.length && typeof end === 'number' && end > watermark
    const last =
      stops && random.below(2) === 0 ? { watermark: end, timers: random.below(3) } : undefined
    if (typeof end === 'number') watermark = Math.max(watermark, end)
    return { steps: last === undefined ? steps : steps.slice(0, -1), parallelism, last }
  })
}

/** The parts in one row, as if nothing were restored. */
export function stepsOf(parts: readonly TwoInputPart[]): readonly TwoInputStep[] {
  return parts.flatMap(({ steps, last }) =>
    last === undefined ? steps : [...steps, last.watermark],
  )
}

/** A harness of an operator that reads two streams, keyed by the key of their readings. */
export function openTwoInputs(
  operator: FiringOperator,
  place: {
    readonly restore: readonly HarnessSnapshot[]
    readonly subtask: number
    readonly parallelism: number
  },
): Promise<OperatorHarness<Reading, string>> {
  const key = ({ key }: Reading): string => key
  const keys = { selectors: [key, key], serializer: plainKeySerializer() }
  return OperatorHarness.open<Reading, string>({ operator, keys, ...place })
}

/** What a run of parts looks at besides the results. */
export interface TwoInputLooks {
  /** What else came out of a harness, such as late records. @default nothing */
  readonly othersOf?: (harness: OperatorHarness<Reading, string>) => readonly string[]
  /** How far a result may be behind the watermark that went on before it. @default 0 */
  readonly mostBehindMs?: number
}

/** What came out of the parts, each restored from the one before, and the state in the end. */
export async function runParts(
  parts: readonly TwoInputPart[],
  create: () => FiringOperator,
  { othersOf = () => [], mostBehindMs = 0 }: TwoInputLooks = {},
): Promise<{ readonly results: readonly string[]; readonly restore: readonly HarnessSnapshot[] }> {
  const results: string[] = []
  let restore: HarnessSnapshot[] = []
  let before: TwoInputPart | undefined
  for (const part of parts) {
    const snapshots: HarnessSnapshot[] = []
    for (let subtask = 0; subtask < part.parallelism; subtask++) {
      const operator = create()
      const place = { restore, subtask, parallelism: part.parallelism }
      const harness = await openTwoInputs(operator, place)
      if (before?.last !== undefined) harness.watermark(before.last.watermark)
      for (const step of part.steps) {
        const [outputs, watermark = MIN_TIMESTAMP] = [
          harness.outputs.length,
          harness.watermarks.at(-1),
        ]
        feed(harness, step)
        for (const { value, timestamp } of harness.outputs.slice(outputs)) {
          if (timestamp >= watermark - mostBehindMs) continue
          results.push(`${value} of ${timestamp} came behind the watermark ${watermark}`)
        }
      }
      if (part.last !== undefined) {
        operator.processWatermark(part.last.watermark)
        operator.fireDue(part.last.timers)
      }
      snapshots.push(await harness.snapshot())
      results.push(...harness.values, ...othersOf(harness))
      await harness.close()
    }
    restore = snapshots
    before = part
  }
  return { results, restore }
}

function feed(harness: OperatorHarness<Reading, string>, step: TwoInputStep): void {
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
