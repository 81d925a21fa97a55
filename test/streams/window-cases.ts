import { msgpackSerializer } from '../../src/core/formats/msgpack-serializer.ts'
import { plainKeySerializer } from '../../src/core/formats/plain-key-serializer.ts'
import type { Random } from '../../src/core/random.ts'
import { MAX_TIMESTAMP } from '../../src/core/time.ts'
import { createWindowOperator, type WindowPlan } from '../../src/dataflow/windows/plan.ts'
import { type Fold, reduceFold } from '../../src/operators/folds/fold.ts'
import { STORED_WATERMARKS } from '../../src/operators/port/stored-watermark.ts'
import {
  assignedEventTimeWindows,
  cumulativeEventTimeWindows,
} from '../../src/operators/windows/assigned/assigners.ts'
import {
  eventTimeSessionWindows,
  slidingEventTimeWindows,
  type WindowAssigner,
} from '../../src/operators/windows/assigner.ts'
import { countEvictor } from '../../src/operators/windows/evictor.ts'
import type { ProcessWindowFunction } from '../../src/operators/windows/function.ts'
import { countTrigger, purgingTrigger } from '../../src/operators/windows/trigger.ts'
import type { HarnessSnapshot } from '../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../src/testing/operator-harness.ts'
import { type Difference, differenceOf } from './difference.ts'
import {
  Failure,
  isFailure,
  kept,
  type RandomReduce,
  type Reading,
  randomReduce,
} from './random-functions.ts'
import { type Part, randomParts, randomSteps, type Step } from './steps.ts'
import { type Assigner, resultOf, type WindowCase, WindowModel, windowsAt } from './window-model.ts'

interface Drawn {
  readonly plan: WindowCase
  readonly reduce: RandomReduce
  readonly isDeclared: boolean
  /** Checkpoints have no watermarks, as those of former releases. */
  readonly losesWatermarks: boolean
  /** After some restores, the job has windows of other bounds and another lateness. They keep their records. */
  readonly changes: boolean
  readonly failure: Failure
}

function drawAligned(random: Random): Extract<Assigner, { kind: 'aligned' }> {
  const slide = 1 + random.below(12)
  return { kind: 'aligned', size: slide * (1 + random.below(4)), slide }
}

/** Windows other than sessions. */
function drawBounded(random: Random): Exclude<Assigner, { kind: 'session' }> {
  const step = 1 + random.below(12)
  switch (random.below(6)) {
    case 0:
      return { kind: 'cumulative', size: step * (1 + random.below(6)), step }
    case 1: {
      const sizes = Array.from({ length: 1 + random.below(3) }, () => 1 + random.below(40))
      return { kind: 'sizes', sizes: [...new Set(sizes)] }
    }
    default:
      return drawAligned(random)
  }
}

const drawLateness = (random: Random): number => [0, 25, 200][random.below(3)]!

function draw(random: Random): Drawn {
  const isSession = random.below(4) === 0
  const bounded = drawBounded(random)
  const assigner: Assigner = isSession ? { kind: 'session', gap: 1 + random.below(12) } : bounded
  const isTumbling = assigner.kind === 'aligned' && assigner.size === assigner.slide
  const reduce = randomReduce(random)
  const isStateful = reduce.name === 'with a state of its own'
  const mayTrigger = !isSession && !isStateful
  const count =
    mayTrigger && random.below(5) === 0
      ? { of: 1 + random.below(4), purges: random.below(2) === 0 }
      : undefined
  const keeps = mayTrigger && random.below(6) === 0 ? 1 + random.below(4) : undefined
  const lateness = drawLateness(random)
  const reduces = random.below(3) > 0 && (!isStateful || isTumbling || isSession)
  const isPlain = isTumbling && count === undefined && keeps === undefined
  const losesWatermarks = isPlain && lateness > 0 && random.below(3) === 0
  return {
    plan: { assigner, lateness, count, keeps, reduces },
    reduce,
    isDeclared: reduce.isAssociative && random.below(2) === 0,
    losesWatermarks,
    changes:
      assigner.kind === 'aligned' &&
      mayTrigger &&
      !losesWatermarks &&
      !reduces &&
      count === undefined &&
      keeps === undefined,
    failure: new Failure(random.below(3) === 0 ? 1 + random.below(30) : -1),
  }
}

const listing = (assigner: Assigner): ProcessWindowFunction<string, Reading, string> => ({
  process: (key, { window }, elements, out) =>
    out.collect(resultOf(key, window, elements, assigner)),
})

function assignerOf(assigner: Assigner): WindowAssigner {
  switch (assigner.kind) {
    case 'session':
      return eventTimeSessionWindows(assigner.gap)
    case 'cumulative':
      return cumulativeEventTimeWindows(assigner.size, assigner.step)
    case 'sizes':
      return assignedEventTimeWindows((time) => windowsAt(assigner, time))
    default:
      return slidingEventTimeWindows(assigner.size, assigner.slide)
  }
}

function planOf({ plan, reduce, isDeclared, failure }: Drawn): WindowPlan<string, Reading> {
  const { assigner, count, keeps, lateness, reduces } = plan
  const serializer = msgpackSerializer<Reading>()
  const parts = isDeclared ? ({ parts: 'any-order', declared: 'reduce' } as const) : undefined
  const fold = reduceFold<Reading>(failure.around(reduce.create()), parts)
  const counting = countTrigger(count?.of ?? 1)
  return {
    keySerializer: plainKeySerializer<string>(),
    serializer,
    assigner: assignerOf(assigner),
    allowedLatenessMs: lateness,
    lateDataTag: undefined,
    trigger: count && (count.purges ? purgingTrigger(counting) : counting),
    evictor: keeps === undefined ? undefined : countEvictor(keeps),
    fold: reduces
      ? { fold: fold as Fold<Reading, unknown>, serializer: serializer as never }
      : undefined,
  }
}

interface Outcome {
  readonly snapshots: readonly HarnessSnapshot[]
  readonly results: readonly string[]
}

/** Runs a part from snapshots; undefined when the function fails. */
async function attempt(
  drawn: Drawn,
  { steps, parallelism }: Part<Step>,
  { restore, isLast }: { readonly restore: readonly HarnessSnapshot[]; readonly isLast: boolean },
): Promise<Outcome | undefined> {
  const snapshots: HarnessSnapshot[] = []
  const results: string[] = []
  for (let subtask = 0; subtask < parallelism; subtask++) {
    const harness = await OperatorHarness.open<Reading, string>({
      operator: createWindowOperator(planOf(drawn), listing(drawn.plan.assigner), true),
      keys: { selectors: [({ key }: Reading) => key], serializer: plainKeySerializer() },
      restore,
      subtask,
      parallelism,
    })
    try {
      for (const step of steps) feed(harness, step)
      if (isLast) harness.endInput()
      snapshots.push(await harness.snapshot())
      results.push(...harness.values)
    } catch (error) {
      if (isFailure(error)) return undefined
      throw error
    } finally {
      await harness.close()
    }
  }
  return { snapshots, results }
}

function feed(harness: OperatorHarness<Reading, string>, step: Step): void {
  if (typeof step === 'number') {
    harness.watermark(step)
    return
  }
  try {
    harness.process({ ...step }, step.time)
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'NOT_OWNER') throw error
  }
}

/** Windows at random, through restores, failures and changes of parallelism, against a plain computation. */
export async function windowCase(random: Random): Promise<Difference> {
  const drawn = draw(random)
  const parts = randomParts(random, randomSteps(random, 12 + random.below(40)))
  const model = new WindowModel(drawn.plan)
  const results: string[] = []
  kept.length = 0
  let version = drawn
  let isLowered = false
  let restore: readonly HarnessSnapshot[] = []
  for (const [i, part] of parts.entries()) {
    if (i > 0 && drawn.losesWatermarks) {
      restore = restore.map(withoutWatermarks)
      model.forgetWatermark()
    }
    if (i > 0 && drawn.changes && random.below(2) === 0) {
      const assigner = drawAligned(random)
      const most = isLowered ? version.plan.lateness : Number.POSITIVE_INFINITY
      // Which windows a lower lateness has left to a higher one after it is not promised.
      const lateness = Math.min(drawLateness(random), most)
      isLowered ||= lateness < version.plan.lateness
      version = { ...drawn, plan: { ...drawn.plan, assigner, lateness } }
      model.change(version.plan)
    }
    const run = { restore, isLast: i === parts.length - 1 }
    const outcome = (await attempt(version, part, run)) ?? (await attempt(version, part, run))!
    results.push(...outcome.results)
    restore = outcome.snapshots
    model.begin(drawn.reduce.create())
    for (const step of part.steps) {
      if (typeof step === 'number') model.advance(step)
      else model.add(step)
    }
  }
  model.advance(MAX_TIMESTAMP)
  const { wrong, lost } = differenceOf(results, model.results)
  const left = restore.flatMap(({ entries }) => entries.map(({ state }) => `${state} is left`))
  const changed = kept.filter(([each, text]) => JSON.stringify(each) !== text)
  const touched = changed.map(([, text]) => `a function's object ${text} was changed`)
  return { wrong: [...wrong, ...left, ...touched], lost }
}

function withoutWatermarks(snapshot: HarnessSnapshot): HarnessSnapshot {
  const operatorState = snapshot.operatorState.filter(({ name }) => name !== STORED_WATERMARKS)
  return { ...snapshot, operatorState }
}
