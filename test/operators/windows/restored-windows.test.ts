import { describe, expect, it } from 'vitest'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import { aggregateFold, type Fold } from '../../../src/operators/folds/fold.ts'
import { STORED_WATERMARKS } from '../../../src/operators/port/stored-watermark.ts'
import {
  eventTimeSessionWindows,
  slidingEventTimeWindows,
  tumblingEventTimeWindows,
} from '../../../src/operators/windows/assigner.ts'
import type { ProcessWindowFunction } from '../../../src/operators/windows/function.ts'
import { eventTimeTrigger } from '../../../src/operators/windows/trigger.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { type Event, feed, open, type Plan } from './planned-windows.ts'

const total: Fold<Event, unknown> = aggregateFold<Event, number, number>({
  createAccumulator: () => 0,
  add: ([, time], sum) => sum + time,
  getResult: (sum) => sum,
  merge: (a, b) => a + b,
}) as Fold<Event, unknown>

const sums = { fold: total, serializer: msgpackSerializer<unknown>() }

/** Each kind of window operator. */
const KINDS: Readonly<Record<string, Plan>> = {
  tumbling: { assigner: tumblingEventTimeWindows(10) },
  'tumbling with sums': { assigner: tumblingEventTimeWindows(10), fold: sums },
  sliding: { assigner: slidingEventTimeWindows(30, 10) },
  'sliding slices': { assigner: slidingEventTimeWindows(30, 10), fold: sums },
  sessions: { assigner: eventTimeSessionWindows(10) },
  'sessions with sums': { assigner: eventTimeSessionWindows(10), fold: sums },
  triggered: { assigner: tumblingEventTimeWindows(10), trigger: eventTimeTrigger() },
}

const naming: ProcessWindowFunction<string, Event, string> = {
  process: (key, { window }, elements, out) =>
    out.collect(`${key} ${window.start}-${window.end}: ${elements.flat().join(' ')}`),
}

/** A record, or a watermark. */
type Step = Event | number

/** Records up to 60 behind the newest one, between watermarks 10 behind it. */
function stepsOf(random: Random): Step[] {
  const steps: Step[] = []
  let newest = 100
  for (let i = 0; i < 90; i++) {
    newest += random.below(6) === 0 ? random.below(40) : random.below(5)
    steps.push([`key-${random.below(3)}`, newest - random.below(random.below(2) === 0 ? 60 : 10)])
    if (random.below(4) === 0) steps.push(newest - 10)
  }
  return steps
}

interface Part {
  readonly plan: Plan
  readonly parallelism: number
}

/** Results of a run whose steps are divided among parts, each restored from the one before. */
async function run(
  steps: readonly Step[],
  parts: readonly Part[],
  change: (snapshot: HarnessSnapshot) => HarnessSnapshot = (snapshot) => snapshot,
): Promise<string[]> {
  const results: string[] = []
  let restore: HarnessSnapshot[] = []
  for (const [at, { plan, parallelism }] of parts.entries()) {
    const from = Math.floor((at * steps.length) / parts.length)
    const to = Math.floor(((at + 1) * steps.length) / parts.length)
    const snapshots: HarnessSnapshot[] = []
    for (let subtask = 0; subtask < parallelism; subtask++) {
      const harness = await open(plan, { restore, subtask, parallelism }, naming)
      for (const step of steps.slice(from, to)) {
        if (typeof step === 'number') harness.watermark(step)
        else {
          try {
            harness.process(step, step[1])
          } catch (error) {
            expect(error).toMatchObject({ code: 'NOT_OWNER' })
          }
        }
      }
      snapshots.push(change(await harness.snapshot(at + 1)))
      if (at === parts.length - 1) {
        harness.endInput()
        expect((await harness.snapshot(at + 2)).entries).toEqual([])
      }
      results.push(...harness.values)
    }
    restore = snapshots
  }
  return results.toSorted()
}

/** The last result of each window that is part of no longer one. */
function lastOf(results: readonly string[]): string[] {
  const whole = new Map<string, string>()
  for (const result of results) {
    const [window, elements] = result.split(': ') as [string, string]
    if (elements.length >= (whole.get(window) ?? '').length) whole.set(window, elements)
  }
  return [...whole].map(([window, elements]) => `${window}: ${elements}`).toSorted()
}

/** As a checkpoint of a former release, which has no watermarks. */
const withoutWatermarks = (snapshot: HarnessSnapshot): HarnessSnapshot => ({
  ...snapshot,
  operatorState: snapshot.operatorState.filter(({ name }) => name !== STORED_WATERMARKS),
})

const SEEDS = Array.from({ length: campaignSize(4, 100) }, (_, n) => commitSeed() + n)

describe('windows after a restore', () => {
  for (const [kind, plan] of Object.entries(KINDS)) {
    for (const allowedLatenessMs of [0, 25, 200]) {
      it(`give what they give without one (${kind}, lateness ${allowedLatenessMs})`, async () => {
        for (const seed of SEEDS) {
          const random = seededRandom(seed)
          const steps = stepsOf(random)
          const late = { ...plan, allowedLatenessMs }
          const whole = await run(steps, [{ plan: late, parallelism: 1 }])
          const parts = Array.from({ length: 2 + random.below(4) }, () => ({
            plan: late,
            parallelism: 1 + random.below(2),
          }))
          expect(await run(steps, parts), `seed ${seed}`).toEqual(whole)
        }
      }, 120_000)
    }
  }

  it.each(Object.keys(KINDS).filter((kind) => !kind.startsWith('session')))(
    'take late records of windows that a former release has fired (%s)',
    async (kind) => {
      const late = { ...KINDS[kind]!, allowedLatenessMs: 200 }
      for (const seed of SEEDS) {
        const steps = stepsOf(seededRandom(seed))
        const part = { plan: late, parallelism: 1 }
        const whole = await run(steps, [part])
        const restored = await run(steps, [part, part, part], withoutWatermarks)
        expect(lastOf(restored), `seed ${seed}`).toEqual(lastOf(whole))
      }
    },
    120_000,
  )

  it.each(Object.entries(KINDS))('fire again for a late record (%s)', async (_, plan) => {
    const late = { ...plan, allowedLatenessMs: 1_000 }
    for (const change of [(same: HarnessSnapshot) => same, withoutWatermarks]) {
      const before = await open(late, {}, naming)
      feed(before, 'a', 1)
      before.watermark(40)
      const fired = before.take()
      expect(fired.length).toBeGreaterThan(0)
      const after = await open(late, { restore: [change(await before.snapshot())] }, naming)
      feed(after, 'a', 2)
      after.watermark(50)
      expect(after.values.length).toBe(fired.length)
      for (const text of after.values) expect(fired).not.toContain(text)
    }
  })

  it.each(['tumbling', 'sliding', 'sliding slices', 'sessions'])(
    'are cleared where the restored job allows lateness and the stored one did not (%s)',
    async (kind) => {
      const plan = KINDS[kind]!
      for (const change of [(same: HarnessSnapshot) => same, withoutWatermarks]) {
        const before = await open(plan, {}, naming)
        feed(before, 'a', 1, 12, 14)
        before.watermark(5)
        const late = { ...plan, allowedLatenessMs: 100 }
        const after = await open(late, { restore: [change(await before.snapshot())] }, naming)
        after.watermark(60)
        feed(after, 'a', 3)
        after.watermark(300)
        expect((await after.snapshot()).entries).toEqual([])
      }
    },
  )
})
