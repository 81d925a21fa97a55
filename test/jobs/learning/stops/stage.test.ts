import { expect, it } from 'vitest'
import {
  ComparedVersion,
  LearningStage,
  StagesState,
} from '../../../../src/jobs/learning/stops/stage.ts'
import { WorseTest } from '../../../../src/models/quality/worse-test.ts'
import type { OperatorStateStore } from '../../../../src/operators/port/operator-state.ts'

/** Operator state with entries of a checkpoint, and what is written into the next one. */
function store(entries: readonly Uint8Array[] = []) {
  let written: readonly Uint8Array[] = []
  const state: OperatorStateStore = {
    isRestored: entries.length > 0,
    restored: () => [...entries],
    leaveOver: () => {},
    update: (_name, _spread, next) => {
      written = next
    },
  }
  return { state, written: () => written }
}

function stageOf(phase: number, isGuarded: boolean): LearningStage {
  return Object.assign(new LearningStage(), { phase, isGuarded })
}

/** What a slot restores of version 7 from those of other slots. */
function restored(slots: readonly LearningStage[], wasLearned = true, neverStop = false) {
  const entries = slots.flatMap((stage) => {
    const { state, written } = store()
    new StagesState(state, false).update([[7, stage]])
    return written()
  })
  const stages = new StagesState(store(entries).state, neverStop)
  const stage = new LearningStage()
  stages.restore(7, stage, wasLearned)
  return { stage, phases: stages.phases, versions: [...stages.versions] }
}

it('a slot begins in the earliest phase of those that it takes over, and knows the later ones', () => {
  const { stage, phases, versions } = restored([stageOf(3, true), stageOf(0, true)])
  expect([stage.phase, stage.isGuarded, stage.isStopped]).toEqual([0, true, false])
  expect(phases).toEqual([[7, 3]])
  expect(versions).toEqual([7])
  expect([stage.advanceTo(3), stage.isStopped]).toEqual([true, true])
})

it('a version is guarded where all that was learned of it has copies', () => {
  const guarded = (...given: Parameters<typeof restored>): boolean =>
    restored(...given).stage.isGuarded
  expect(guarded([], false)).toBe(true)
  expect(guarded([], false, true)).toBe(false)
  // An earlier build has learned it.
  expect(guarded([], true)).toBe(false)
  expect(guarded([stageOf(0, true), stageOf(0, false)])).toBe(false)
  expect(guarded([stageOf(0, true)], true, true)).toBe(false)
})

class Compared extends ComparedVersion {
  readonly measures = { worse: new WorseTest(1) }
}

/** Comparisons until learning has to stop; undefined where it does not within 1,000. */
function stopOf(version: Compared): number | undefined {
  for (let n = 1; n <= 1000; n++) if (version.isWorse(1, 0)) return n
  return undefined
}

it('predictions that are worse stop learning once, and are compared again in a later phase', () => {
  const version = Object.assign(new Compared(), { isGuarded: true })
  const first = stopOf(version)
  expect(first).toBeLessThan(100)
  version.advanceTo(1)
  expect(stopOf(version)).toBeUndefined()
  for (let n = 1; n < first!; n++) version.measures.worse.add(1, 0)
  version.advanceTo(2)
  expect(stopOf(version)).toBe(first)
})

it('a version without copies is not stopped', () => {
  expect(stopOf(new Compared())).toBeUndefined()
})
