import { describe, expect, it } from 'vitest'
import {
  promotionVerdict,
  type StoredCheck,
  storedCheck,
  verdictText,
} from '../../../src/models/registry/checks/promotion-verdict.ts'
import {
  decideCommand,
  type RegistryCommand,
  type RegistryOutcome,
  versionsToRetire,
} from '../../../src/models/registry/commands.ts'
import { diffVersions } from '../../../src/models/registry/diff.ts'
import { foldRegistry, modelRecord, versionRecord } from '../../../src/models/registry/format.ts'
import { processingName } from '../../../src/models/registry/processing-name.ts'
import {
  findVersion,
  liveVersionOf,
  type RegistryState,
} from '../../../src/models/registry/version.ts'
import { registeredVersion } from './registered-version.ts'

const EMPTY: RegistryState = { models: new Map(), versions: new Map() }

const passed = (against = 0): StoredCheck[] =>
  (['data', 'quality', 'serving'] as const).map((check) =>
    storedCheck(check, [], { atMs: 1, against, subject: 'golden' }),
  )

/** Applies commands as the topic does: by writing and folding. */
function folded(...commands: RegistryCommand[]): RegistryState {
  let state = EMPTY
  for (const command of commands) {
    const outcome = decideCommand(state, command)
    if (outcome.kind !== 'changed') throw new Error(`${command.kind}: ${outcome.kind}`)
    state = written(state, outcome)
  }
  return state
}

function written(state: RegistryState, outcome: RegistryOutcome): RegistryState {
  if (outcome.kind !== 'changed') return state
  const before = [
    ...[...state.models.values()].map(modelRecord),
    ...[...state.versions.values()].flatMap((versions) =>
      [...versions.values()].map(versionRecord),
    ),
  ]
  return foldRegistry([
    ...before,
    ...outcome.models.map(modelRecord),
    ...outcome.versions.map(versionRecord),
  ])
}

const register = (number: number, checks?: readonly StoredCheck[]): RegistryCommand => ({
  kind: 'register',
  version: registeredVersion(number, checks),
})
const promote = (number: number, expectedLive: number, force?: string): RegistryCommand => ({
  kind: 'promote',
  name: 'als-model',
  number,
  expectedLive,
  atMs: 7,
  ...(force === undefined ? {} : { force }),
})
const rollback = (expectedLive: number): RegistryCommand => ({
  kind: 'rollback',
  name: 'als-model',
  expectedLive,
  atMs: 8,
  reason: 'it was wrong',
})
const retire = (number: number): RegistryCommand => ({
  kind: 'retire',
  name: 'als-model',
  number,
  atMs: 9,
})

describe('registering a version', () => {
  it('adds a candidate that is not live', () => {
    const state = folded(register(1))
    expect(liveVersionOf(state, 'als-model')).toBeUndefined()
    expect(findVersion(state, 'als-model', 'latest')?.state).toBe('candidate')
  })

  it('returns the existing version of the same inputs', () => {
    const again = { ...registeredVersion(2), processingName: 'als-1' }
    const outcome = decideCommand(folded(register(1)), { kind: 'register', version: again })
    expect(outcome).toMatchObject({ kind: 'exists', version: { number: 1 } })
  })

  it('names the next free number when the number is taken', () => {
    const other = { ...registeredVersion(1), processingName: 'als-other' }
    const outcome = decideCommand(folded(register(1)), { kind: 'register', version: other })
    expect(outcome).toEqual({ kind: 'number-taken', next: 2 })
  })
})

describe('a promotion', () => {
  it('needs a pass of all three checks', () => {
    const state = folded(register(1, passed().slice(0, 2)))
    expect(decideCommand(state, promote(1, 0))).toEqual({
      kind: 'refused',
      verdict: { kind: 'missing', check: 'serving' },
    })
  })

  it('is refused with the distance of a measure from its bound', () => {
    const measure = { name: 'RMSE', value: 1.1, bound: 1, relation: '<=', passed: false } as const
    const checks = [
      ...passed().filter(({ check }) => check !== 'quality'),
      storedCheck('quality', [measure], { atMs: 1, against: 0, subject: 'golden' }),
    ]
    const verdict = promotionVerdict(checks, 0)
    expect(verdict).toEqual({ kind: 'failed', check: 'quality', measure })
    expect(verdictText(verdict)).toBe(
      'the quality check failed: RMSE is 1.1, 0.1 above the limit of 1',
    )
  })

  it('is refused when quality was measured against another version than the live one', () => {
    const state = folded(register(1, passed()), promote(1, 0), register(2, passed(0)))
    const outcome = decideCommand(state, promote(2, 1))
    expect(outcome).toEqual({
      kind: 'refused',
      verdict: { kind: 'outdated', check: 'quality', against: 0 },
    })
  })

  it('switches live and keeps what was live before as rollback target', () => {
    const state = folded(
      register(1, passed()),
      promote(1, 0),
      register(2, passed(1)),
      promote(2, 1),
    )
    expect(state.models.get('als-model')).toMatchObject({ live: 2, rollback: 1, revision: 2 })
    expect(findVersion(state, 'als-model', '1')?.state).toBe('replaced')
    expect(findVersion(state, 'als-model', '2')?.notes.map(({ event }) => event)).toEqual([
      'promoted',
    ])
  })

  it('is a conflict when the live version is not the expected one', () => {
    const state = folded(register(1, passed()), promote(1, 0), register(2, passed(0)))
    expect(decideCommand(state, promote(2, 0))).toEqual({ kind: 'conflict', live: 1 })
  })

  it('by force ignores the checks and records the reason in the lineage', () => {
    const state = folded(register(1), promote(1, 0, 'demo'))
    expect(findVersion(state, 'als-model', 'live')?.notes).toEqual([
      { atMs: 7, event: 'forced', text: 'demo' },
    ])
  })

  it('of a version that the job that learns the model could not learn is refused, also after its checks', () => {
    const { lineage, ...version } = registeredVersion(2, passed(1))
    const hyperparameters = { ...lineage.hyperparameters, feedback: 'implicit' }
    const implicit = { ...version, lineage: { ...lineage, hyperparameters } }
    const state = folded(
      register(1, passed()),
      promote(1, 0),
      { kind: 'register', version: implicit },
      register(3, passed(1)),
      {
        kind: 'record-learning',
        name: 'als-model',
        learning: { learnsFrom: 'observations', learnsFeedback: 'explicit' },
      },
    )
    const refused = decideCommand(state, promote(2, 1))
    expect(refused).toEqual({
      kind: 'refused',
      verdict: { kind: 'not-learnable', reason: 'feedback', learns: 'explicit' },
    })
    if (refused.kind !== 'refused') return
    expect(verdictText(refused.verdict)).toContain('it would be served, but not learned')
    expect(decideCommand(state, promote(3, 1)).kind).toBe('changed')
    expect(decideCommand(state, promote(2, 1, 'the job is stopped')).kind).toBe('changed')
    // A job of implicit feedback has begun since.
    const learning = { learnsFrom: 'observations', learnsFeedback: 'implicit' } as const
    const begun = decideCommand(state, { kind: 'record-learning', name: 'als-model', learning })
    expect(decideCommand(written(state, begun), promote(2, 1)).kind).toBe('changed')
    expect(decideCommand(written(state, begun), promote(3, 1)).kind).toBe('refused')
  })

  it('of the live version changes nothing, of an unknown one names those known', () => {
    const state = folded(register(1, passed()), promote(1, 0))
    expect(decideCommand(state, promote(1, 0))).toEqual({ kind: 'unchanged' })
    expect(decideCommand(state, promote(9, 1))).toEqual({ kind: 'unknown-version', known: [1] })
  })

  it('of a retired version is refused, forced or not', () => {
    const state = folded(register(1), register(2), register(3), promote(3, 0, 'x'), retire(1))
    expect(decideCommand(state, promote(1, 3, 'y'))).toEqual({ kind: 'retired' })
  })
})

describe('a rollback', () => {
  it('makes the previous version live again, and can be rolled back itself', () => {
    const two = [register(1), promote(1, 0, 'x'), register(2), promote(2, 1, 'x')]
    const back = folded(...two, rollback(2))
    expect(back.models.get('als-model')).toMatchObject({ live: 1, rollback: 2 })
    expect(folded(...two, rollback(2), rollback(1)).models.get('als-model')?.live).toBe(2)
    expect(findVersion(back, 'als-model', 'live')?.notes.at(-1)).toMatchObject({
      event: 'rolled-back-to',
      text: 'it was wrong',
    })
  })

  it('has no target before the second promotion, and is refused on conflicts as promotions are', () => {
    const state = folded(register(1), promote(1, 0, 'x'))
    expect(decideCommand(state, rollback(1))).toEqual({ kind: 'no-rollback-target' })
    const second = folded(register(1), promote(1, 0, 'x'), register(2), promote(2, 1, 'x'))
    expect(decideCommand(second, rollback(1))).toEqual({ kind: 'conflict', live: 2 })
  })
})

describe('old versions', () => {
  const four = folded(
    register(1),
    promote(1, 0, 'x'),
    register(2),
    promote(2, 1, 'x'),
    register(3),
    promote(3, 2, 'x'),
    register(4),
  )

  it('are dropped by policy, never the live one, its rollback target or the newest', () => {
    const numbers = (retain: number) =>
      versionsToRetire(four, 'als-model', retain).map(({ number }) => number)
    expect(numbers(10)).toEqual([])
    expect(numbers(4)).toEqual([])
    expect(numbers(3)).toEqual([1])
    expect(numbers(0)).toEqual([1])
  })

  it('cannot be retired while in use, and only once', () => {
    expect(decideCommand(four, retire(3))).toEqual({ kind: 'in-use' })
    expect(decideCommand(four, retire(2))).toEqual({ kind: 'in-use' })
    const outcome = decideCommand(four, retire(1))
    expect(outcome.kind).toBe('changed')
    expect(decideCommand(written(four, outcome), retire(1))).toEqual({ kind: 'unchanged' })
  })
})

describe('processing names', () => {
  const inputs = {
    ranges: [
      { topic: 'ratings', partition: 0, from: 0, to: 10 },
      { topic: 'ratings', partition: 1, from: 0, to: 20 },
    ],
    files: [],
    code: 'als/1',
    hyperparameters: { factors: 8, seed: 1 },
  }

  it('are equal for equal inputs in whatever order, and different for any other', () => {
    const name = processingName(inputs)
    expect(name).toMatch(/^als-[0-9a-f]{16}$/)
    const shuffled = {
      ...inputs,
      ranges: inputs.ranges.toReversed(),
      hyperparameters: { seed: 1, factors: 8 },
    }
    expect(processingName(shuffled)).toBe(name)
    const other = { ...inputs, hyperparameters: { factors: 9, seed: 1 } }
    const newer = { ...inputs, ranges: [{ topic: 'ratings', partition: 0, from: 0, to: 11 }] }
    expect(new Set([name, processingName(other), processingName(newer)]).size).toBe(3)
  })
})

describe('the difference of two versions', () => {
  it('names data, parameters, metrics and checks that differ', () => {
    const left = registeredVersion(1)
    const right = registeredVersion(2, passed())
    const fields = diffVersions(left, right).map(({ field }) => field)
    expect(fields).toEqual([
      'check data',
      'check quality',
      'check serving',
      'data ratings/0',
      'metric rmse',
      'processing name',
    ])
    expect(diffVersions(left, left)).toEqual([])
  })
})

describe('registry records', () => {
  it('refuse a newer format and what is no record', () => {
    const value = new TextEncoder().encode('{"format":2}')
    expect(() => foldRegistry([{ key: 'model/a', value }])).toThrow('format 2')
    const broken = new TextEncoder().encode('{"format":1}')
    expect(() => foldRegistry([{ key: 'model/a', value: broken }])).toThrow('lacks fields')
  })
})

describe('learning on a version', () => {
  const phase = (number: number, text: string): RegistryCommand => ({
    ...{ kind: 'record-phase', name: 'als-model', number: 1 },
    learning: { phase: number, atMs: number, text },
  })
  const resume: RegistryCommand = {
    ...{ kind: 'resume-learning', name: 'als-model', number: 1 },
    ...{ atMs: 9, reason: 'mended' },
  }
  const learningOf = (state: RegistryState) => state.versions.get('als-model')?.get(1)?.learning

  it('is stopped by a job and resumed by a command', () => {
    const stopped = folded(register(1), phase(1, 'worse'))
    expect(learningOf(stopped)).toEqual({ phase: 1, atMs: 1, text: 'worse' })
    const resumed = written(stopped, decideCommand(stopped, resume))
    expect(learningOf(resumed)).toEqual({ phase: 2, atMs: 9, text: 'mended' })
    expect(decideCommand(resumed, resume)).toEqual({ kind: 'unchanged' })
  })

  it('is not resumed where it was never stopped, and a late job changes nothing', () => {
    expect(decideCommand(folded(register(1)), resume)).toEqual({ kind: 'unchanged' })
    const later = folded(register(1), phase(3, 'worse again'))
    expect(decideCommand(later, phase(1, 'late'))).toEqual({ kind: 'unchanged' })
  })
})
