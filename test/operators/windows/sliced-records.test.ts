import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { msgpackSerializer } from '../../../src/core/formats/msgpack-serializer.ts'
import { plainKeySerializer } from '../../../src/core/formats/plain-key-serializer.ts'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import type { Serializer } from '../../../src/core/serializer.ts'
import { MAX_TIMESTAMP } from '../../../src/core/time.ts'
import { createWindowOperator } from '../../../src/dataflow/windows/plan.ts'
import type { FiringOperator } from '../../../src/operators/port/firing.ts'
import { AlignedWindowOperator } from '../../../src/operators/windows/aligned-operator.ts'
import {
  type AlignedWindows,
  slidingEventTimeWindows,
  slidingProcessingTimeWindows,
  tumblingEventTimeWindows,
} from '../../../src/operators/windows/assigner.ts'
import { ListedContents } from '../../../src/operators/windows/contents.ts'
import type { ProcessWindowFunction } from '../../../src/operators/windows/function.ts'
import { SlicedWindowOperator } from '../../../src/operators/windows/sliced-operator.ts'
import { SlicedRecords } from '../../../src/operators/windows/sliced-records.ts'
import {
  countTrigger,
  eventTimeTrigger,
  type Trigger,
} from '../../../src/operators/windows/trigger.ts'
import type { HarnessSnapshot } from '../../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../../src/testing/operator-harness.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { Backends, select } from '../../state/keyed-state-fixture.ts'
import type { Reading } from '../../streams/random-functions.ts'
import { randomSteps, type Step } from '../../streams/steps.ts'

const backends = new Backends()
afterEach(() => backends.release())
afterAll(() => backends.delete())

/** The windows of one version of a job. */
interface Version {
  readonly assigner: AlignedWindows
  readonly lateness: number
  readonly trigger?: Trigger<Reading>
}

/** An object that no copier knows: state holds its bytes. */
class Boxed implements Reading {
  readonly key: string
  readonly time: number
  value: number

  constructor({ key, time, value }: Reading) {
    this.key = key
    this.time = time
    this.value = value
  }
}

const plain = msgpackSerializer<Reading>()

const boxed: Serializer<Reading> = {
  id: 'boxed/1',
  write: ({ key, time, value }, writer) => plain.write({ key, time, value }, writer),
  read: (reader) => new Boxed(plain.read(reader)),
}

/** Lists the values of a window in their order, and then changes all records. */
const listing: ProcessWindowFunction<string, Reading, string> = {
  process(key, { window }, elements, out) {
    const values = elements.map(({ time, value }) => `${time}=${value}`)
    out.collect(`${key} ${window.start}-${window.end}: ${values.join(' ')}`)
    for (const element of elements) element.value = -1
  },
}

/** The operator of a version; without slices, each window has a list of its own. */
function operatorOf(
  { assigner, lateness, trigger }: Version,
  serializer: Serializer<Reading>,
  inSlices: boolean,
): FiringOperator {
  const keySerializer = plainKeySerializer<string>()
  if (inSlices || trigger !== undefined) {
    const plan = {
      keySerializer,
      serializer,
      assigner,
      allowedLatenessMs: lateness,
      lateDataTag: undefined,
      trigger,
      evictor: undefined,
      fold: undefined,
    }
    return createWindowOperator<string, Reading>(plan, listing, true) as FiringOperator
  }
  return new AlignedWindowOperator<string, Reading>(assigner, {
    keySerializer,
    contents: new ListedContents(serializer),
    windowFunction: listing as ProcessWindowFunction<string, unknown, unknown>,
    allowedLatenessMs: lateness,
    lateDataTag: undefined,
  })
}

interface Part {
  readonly version: Version
  readonly inSlices: boolean
  readonly parallelism: number
  readonly steps: readonly Step[]
  /** Timers that fire before its checkpoint comes in the middle of its last watermark. */
  readonly timers: number
}

interface Run {
  readonly results: readonly string[]
  readonly snapshots: readonly HarnessSnapshot[]
  readonly dropped: number
}

async function runPart(
  part: Part,
  serializer: Serializer<Reading>,
  restore: readonly HarnessSnapshot[],
  isLast: boolean,
): Promise<Run> {
  const results: string[] = []
  const snapshots: HarnessSnapshot[] = []
  let dropped = 0
  for (let subtask = 0; subtask < part.parallelism; subtask++) {
    const operator = operatorOf(part.version, serializer, part.inSlices)
    const harness = await OperatorHarness.open<Reading, string>({
      operator,
      keys: { selectors: [({ key }: Reading) => key], serializer: plainKeySerializer() },
      restore,
      subtask,
      parallelism: part.parallelism,
    })
    operator.fireDue(Number.POSITIVE_INFINITY)
    for (const step of part.steps) feed(harness, step)
    if (!isLast) stopWithin(harness, operator, part)
    else harness.endInput()
    snapshots.push(await harness.snapshot())
    results.push(...harness.values)
    dropped += harness.metrics.counter('numLateRecordsDropped').value
    await harness.close()
  }
  return { results, snapshots, dropped }
}

function feed(harness: OperatorHarness<Reading, string>, step: Step): void {
  if (typeof step === 'number') {
    harness.watermark(step)
    return
  }
  try {
    harness.process({ ...step }, step.time)
  } catch (error) {
    expect(error).toMatchObject({ code: 'NOT_OWNER' })
  }
}

/** A watermark that makes many timers due, of which only some have fired when the checkpoint comes. */
function stopWithin(
  harness: OperatorHarness<Reading, string>,
  operator: FiringOperator,
  { steps, timers }: Part,
): void {
  const newest = Math.max(...steps.map((step) => (typeof step === 'number' ? step : step.time)))
  const fireDue = operator.fireDue.bind(operator)
  operator.fireDue = (most) => fireDue(Math.min(most, timers))
  harness.watermark(newest - 15)
}

/** Results of versions that follow each other, each restored from the one before. */
async function run(parts: readonly Part[], serializer: Serializer<Reading>): Promise<Run> {
  const results: string[] = []
  let dropped = 0
  let restore: readonly HarnessSnapshot[] = []
  for (const [i, part] of parts.entries()) {
    const outcome = await runPart(part, serializer, restore, i === parts.length - 1)
    results.push(...outcome.results)
    dropped += outcome.dropped
    restore = outcome.snapshots
  }
  return { results: results.toSorted(), snapshots: restore, dropped }
}

const entriesOf = (snapshots: readonly HarnessSnapshot[]) =>
  snapshots.flatMap(({ entries }) => entries)

const SLIDING: Version = { assigner: slidingEventTimeWindows(30, 10, 3), lateness: 0 }

/** Versions that may follow, by what changes. */
const VERSIONS: Readonly<Record<string, Version>> = {
  nothing: SLIDING,
  'a lateness': { ...SLIDING, lateness: 25 },
  'a lateness above the size': { ...SLIDING, lateness: 100 },
  'a longer size': { ...SLIDING, assigner: slidingEventTimeWindows(60, 10, 3) },
  'a longer slide': { ...SLIDING, assigner: slidingEventTimeWindows(30, 15, 3) },
  'another offset': { ...SLIDING, assigner: slidingEventTimeWindows(30, 10, 4) },
  'windows that do not overlap': { ...SLIDING, assigner: tumblingEventTimeWindows(30) },
  'a slide that is no part of the size': {
    ...SLIDING,
    assigner: slidingEventTimeWindows(25, 10),
  },
  'the trigger itself': { ...SLIDING, trigger: eventTimeTrigger() },
  'a trigger that counts': { ...SLIDING, trigger: countTrigger(3) },
}

/** Whether it makes no difference that a window fires in the next version: with some, it stays or does not fire then. */
const mayFireLater = ({ lateness, trigger }: Version): boolean =>
  lateness === 0 && (trigger === undefined || trigger === VERSIONS['the trigger itself']?.trigger)

function partsOf(random: Random, versions: readonly Version[], slices: boolean[]): Part[] {
  const steps = randomSteps(random, 60)
  const stops = versions.every(mayFireLater)
  return versions.map((version, i) => ({
    version,
    inSlices: slices[i] ?? true,
    parallelism: 1 + random.below(2),
    steps: steps.slice(
      Math.floor((i * steps.length) / versions.length),
      Math.floor(((i + 1) * steps.length) / versions.length),
    ),
    timers: stops ? random.below(12) : Number.POSITIVE_INFINITY,
  }))
}

const asLists = (parts: readonly Part[]): Part[] =>
  parts.map((part) => ({ ...part, inSlices: false }))

const SEEDS = Array.from({ length: campaignSize(6, 60) }, (_, n) => n + 1)

describe('records of sliding windows in slices', () => {
  for (const [change, version] of Object.entries(VERSIONS)) {
    for (const [name, serializer] of Object.entries({ plain, boxed })) {
      it(`give what a list for each window gives, when ${change} changes (${name})`, async () => {
        for (const seed of SEEDS) {
          for (const versions of [
            [SLIDING, version],
            [version, SLIDING, version],
          ]) {
            const parts = partsOf(seededRandom(seed), versions, [])
            const expected = await run(asLists(parts), serializer)
            const { results, dropped, snapshots } = await run(parts, serializer)
            expect(results, `seed ${seed}`).toEqual(expected.results)
            expect(dropped, `seed ${seed}`).toBe(expected.dropped)
            // A trigger that counts has left counts where the next version had none.
            expect(entriesOf(snapshots)).toEqual(entriesOf(expected.snapshots))
          }
        }
      })
    }
  }

  it.each([0, 25])(
    'go on from a savepoint with a list for each window (lateness %s)',
    async (lateness) => {
      const version = { ...SLIDING, lateness }
      for (const seed of SEEDS) {
        const parts = partsOf(seededRandom(seed), [version, version], [false, true])
        const expected = await run(asLists(parts), plain)
        expect((await run(parts, plain)).results, `seed ${seed}`).toEqual(expected.results)
      }
    },
  )

  it('are copied for each window that fires, unless the program changes no object', async () => {
    for (const reusesObjects of [false, true]) {
      const backend = await backends.create({ reusesObjects })
      const windows = { sizeMs: 30, slideMs: 10, offsetMs: 0, latenessMs: 0 }
      const contents = new SlicedRecords(windows, plain)
      contents.open(backend)
      select(backend, 'k')
      const record: Reading = { key: 'k', time: 5, value: 1 }
      contents.add(0, record)
      const [first, second] = [-10, 0].map((start) => {
        contents.select({ start, end: start + 30 }, Uint8Array.of(1))
        return contents.read()![0]
      })
      expect([first, second]).toEqual([record, record])
      expect([first === second, first === record]).toEqual([reusesObjects, reusesObjects])
    }
  })

  it('are stored once, with one timer for a key', async () => {
    const operator = operatorOf(SLIDING, plain, true)
    const harness = await OperatorHarness.open<Reading, string>({
      operator,
      keys: { selectors: [({ key }: Reading) => key], serializer: plainKeySerializer() },
    })
    for (const time of [3, 14, 25]) harness.process({ key: 'a', time, value: time }, time)
    const { entries } = await harness.snapshot()
    expect(entries.map(({ state }) => state).sort()).toEqual([
      'sliced-records/30/10/3/0',
      'timers:event-timers',
    ])
    harness.watermark(MAX_TIMESTAMP)
    expect((await harness.snapshot(2)).entries).toEqual([])
  })

  it('are for windows in event time that end soon after they have fired', () => {
    expect(operatorOf(SLIDING, plain, true)).toBeInstanceOf(SlicedWindowOperator)
    const others: Version[] = [
      VERSIONS['a lateness above the size']!,
      VERSIONS['windows that do not overlap']!,
      VERSIONS['a slide that is no part of the size']!,
      { ...SLIDING, assigner: slidingProcessingTimeWindows(30, 10) },
    ]
    for (const each of others) {
      expect(operatorOf(each, plain, true)).toBeInstanceOf(AlignedWindowOperator)
    }
  })
})
