import { plainKeySerializer } from '../../src/core/formats/plain-key-serializer.ts'
import type { Random } from '../../src/core/random.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../../src/core/time.ts'
import type { KeyedProcessFunction } from '../../src/operators/process/function.ts'
import { KeyedProcessOperator } from '../../src/operators/process/keyed-process.ts'
import type { HarnessSnapshot } from '../../src/testing/harness-snapshot.ts'
import { OperatorHarness } from '../../src/testing/operator-harness.ts'
import { type Difference, differenceOf } from './difference.ts'
import { randomParts } from './steps.ts'

/** Registers or deletes a timer of a key, or advances the watermark. */
type TimerStep = { readonly key: string; readonly at: number; readonly deletes: boolean } | number

/** A timer at a time of this kind registers the next one. */
const hasSuccessor = (at: number): boolean => at % 5 === 0
const successorOf = (at: number): number => at + 3

function stepsOf(random: Random): TimerStep[] {
  const steps: TimerStep[] = []
  let now = 0
  const mass = random.below(8) === 0 ? 300 : 0
  for (let i = 0; i < mass; i++) steps.push({ key: `key-${i}`, at: 40, deletes: false })
  for (let i = 0; i < 60; i++) {
    const key = `key-${random.below(6)}`
    const at = now + random.below(40) - 8
    steps.push({ key, at, deletes: random.below(5) === 0 })
    if (random.below(4) === 0) {
      now += random.below(25)
      steps.push(now)
    }
  }
  return steps
}

const timing: KeyedProcessFunction<string, Exclude<TimerStep, number>, string> = {
  processElement({ at, deletes }, { timerService }) {
    if (deletes) timerService.deleteEventTimeTimer(at)
    else timerService.registerEventTimeTimer(at)
  },
  onTimer(at, context, out) {
    out.collect(`${context.currentKey}@${at}`)
    if (hasSuccessor(at)) context.timerService.registerEventTimeTimer(successorOf(at))
  },
}

/** Timers at random, masses of them at one moment too, through restores and changes of parallelism. */
export async function timerCase(random: Random): Promise<Difference> {
  const steps = stepsOf(random)
  const results: string[] = []
  let restore: HarnessSnapshot[] = []
  const parts = randomParts(random, steps)
  for (const [i, { steps: some, parallelism }] of parts.entries()) {
    const snapshots: HarnessSnapshot[] = []
    for (let subtask = 0; subtask < parallelism; subtask++) {
      const harness = await OperatorHarness.open<Exclude<TimerStep, number>, string>({
        operator: new KeyedProcessOperator(timing, plainKeySerializer<string>(), true),
        keys: {
          selectors: [({ key }: { readonly key: string }) => key],
          serializer: plainKeySerializer(),
        },
        restore,
        subtask,
        parallelism,
      })
      for (const step of some) feed(harness, step)
      if (i === parts.length - 1) harness.endInput()
      snapshots.push(await harness.snapshot())
      results.push(...harness.values)
      await harness.close()
    }
    restore = snapshots
  }
  const { wrong, lost } = differenceOf(results, firedOf(steps))
  const left = restore.flatMap(({ entries }) => entries.map(({ state }) => `${state} is left`))
  return { wrong: [...wrong, ...left], lost }
}

function feed(harness: OperatorHarness<Exclude<TimerStep, number>, string>, step: TimerStep): void {
  if (typeof step === 'number') {
    harness.watermark(step)
    return
  }
  try {
    harness.process(step, 0)
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'NOT_OWNER') throw error
  }
}

/** What fires, by plain computation: a timer of a key and time exists once, and fires when the watermark reaches it. */
function firedOf(steps: readonly TimerStep[]): string[] {
  const fired: string[] = []
  const timers = new Map<string, number>()
  let watermark = MIN_TIMESTAMP
  const advance = (to: number): void => {
    if (to <= watermark) return
    watermark = to
    for (let due = firstOf(timers, to); due !== undefined; due = firstOf(timers, to)) {
      const [name, at] = due
      timers.delete(name)
      fired.push(name)
      const key = name.slice(0, name.indexOf('@'))
      if (hasSuccessor(at)) timers.set(`${key}@${successorOf(at)}`, successorOf(at))
    }
  }
  for (const step of steps) {
    if (typeof step === 'number') advance(step)
    else if (step.deletes) timers.delete(`${step.key}@${step.at}`)
    else timers.set(`${step.key}@${step.at}`, step.at)
  }
  advance(MAX_TIMESTAMP)
  return fired
}

/** The earliest timer that is due. */
function firstOf(timers: ReadonlyMap<string, number>, now: number): [string, number] | undefined {
  let first: [string, number] | undefined
  for (const [name, at] of timers) {
    if (at <= now && (first === undefined || at < first[1])) first = [name, at]
  }
  return first
}
