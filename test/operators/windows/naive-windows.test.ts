import { describe, expect, it } from 'vitest'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import {
  type AlignedWindows,
  eventTimeSessionWindows,
  type SessionWindows,
  slidingEventTimeWindows,
  tumblingEventTimeWindows,
} from '../../../src/operators/windows/assigner.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { type Event, event, openListing, type Result } from './windowed-events.ts'

const BOUND = 40

/** Events in random order; none is further behind than the bound. */
function shuffled(random: Random, count: number): Event[] {
  const events = Array.from({ length: count }, (_, i) =>
    event(random.below(2000), i, `key-${random.below(7)}`),
  )
  const arrival = new Map(events.map((each) => [each, each.time + random.below(BOUND)]))
  return events.sort((a, b) => arrival.get(a)! - arrival.get(b)!)
}

function naiveAligned(
  events: readonly Event[],
  sizeMs: number,
  slideMs: number,
): Map<string, string> {
  const windows = new Map<string, number[]>()
  for (const { key, time, amount } of events) {
    for (let start = -sizeMs; start <= time; start += slideMs) {
      if (time < start || time >= start + sizeMs) continue
      const id = `${key} ${start} ${start + sizeMs}`
      windows.set(id, [...(windows.get(id) ?? []), amount])
    }
  }
  return canonical(windows)
}

function naiveSessions(events: readonly Event[], gapMs: number): Map<string, string> {
  const windows = new Map<string, number[]>()
  for (const key of new Set(events.map((each) => each.key))) {
    const own = events.filter((each) => each.key === key).sort((a, b) => a.time - b.time)
    let group: Event[] = []
    const close = (): void => {
      if (group.length === 0) return
      const id = `${key} ${group[0]!.time} ${group.at(-1)!.time + gapMs}`
      windows.set(
        id,
        group.map((each) => each.amount),
      )
    }
    for (const each of own) {
      if (group.length > 0 && each.time > group.at(-1)!.time + gapMs) {
        close()
        group = []
      }
      group.push(each)
    }
    close()
  }
  return canonical(windows)
}

const canonical = (windows: Map<string, readonly number[]>): Map<string, string> =>
  new Map([...windows].map(([id, amounts]) => [id, [...amounts].sort((a, b) => a - b).join(' ')]))

const byWindow = (results: readonly Result[]): Map<string, string> => {
  const windows = new Map(
    results.map(([key, start, end, amounts]) => [`${key} ${start} ${end}`, amounts]),
  )
  expect(windows.size).toBe(results.length)
  return canonical(windows)
}

/** Processes all events. Halfway, all subtasks stop and are restored at another parallelism. */
async function runWithRestore(
  assigner: AlignedWindows | SessionWindows,
  events: readonly Event[],
  from: number,
  to: number,
): Promise<Result[]> {
  const results: Result[] = []
  let snapshots: HarnessSnapshot[] = []
  let largest = 0
  const halves = [events.slice(0, events.length / 2), events.slice(events.length / 2)]
  for (const [half, parallelism] of [from, to].entries()) {
    const next: HarnessSnapshot[] = []
    let seen = largest
    for (let subtask = 0; subtask < parallelism; subtask++) {
      seen = largest
      const harness = await openListing(assigner, { restore: snapshots, subtask, parallelism })
      if (half === 1) harness.watermark(largest - BOUND - 1)
      for (const each of halves[half]!) {
        seen = Math.max(seen, each.time)
        try {
          harness.process(each, each.time)
        } catch (error) {
          expect(error).toMatchObject({ code: 'NOT_OWNER' })
        }
        harness.watermark(seen - BOUND - 1)
      }
      next.push(await harness.snapshot())
      if (half === 1) harness.endInput()
      results.push(...harness.values)
      expect(harness.metrics.counter('numLateRecordsDropped').value).toBe(0)
    }
    largest = seen
    snapshots = next
  }
  return results
}

describe('windows against a naive computation on shuffled input, restored halfway', () => {
  const seeds = [1, 2, 3, 4, 5, 6]
  for (const seed of seeds) {
    it(`give the same tumbling, sliding and session windows (seed ${seed})`, async () => {
      const random = seededRandom(seed)
      const events = shuffled(random, 300)
      const parallelism = [1 + random.below(3), 1 + random.below(3)] as const
      const run = async (assigner: AlignedWindows | SessionWindows): Promise<Map<string, string>> =>
        byWindow(await runWithRestore(assigner, events, ...parallelism))
      expect(await run(tumblingEventTimeWindows(70))).toEqual(naiveAligned(events, 70, 70))
      expect(await run(slidingEventTimeWindows(90, 30))).toEqual(naiveAligned(events, 90, 30))
      expect(await run(eventTimeSessionWindows(25))).toEqual(naiveSessions(events, 25))
    })
  }
})
