import { expect, it } from 'vitest'
import type {
  AlsVersionMetadata,
  LearnedVersion,
} from '../../../../src/jobs/learning/als/version.ts'
import { LearnedVersions } from '../../../../src/jobs/learning/als/versions.ts'
import { newRow } from '../../../../src/models/als/online/rule.ts'
import { RowMoments } from '../../../../src/models/als/row-moments.ts'
import type { OperatorContext } from '../../../../src/operators/port/operator.ts'

const METADATA: AlsVersionMetadata = {
  version: 7,
  biased: false,
  feedback: 'explicit',
  globalMean: 0,
  minRating: 1,
  maxRating: 5,
}

/** Operator state in memory: `restored` has what earlier slots stored. */
function slot(stored: ReadonlyMap<string, readonly Uint8Array[]> = new Map()) {
  const written = new Map<string, readonly Uint8Array[]>()
  const operatorState = {
    restored: (name: string) => stored.get(name) ?? [],
    update: (name: string, _mode: string, entries: readonly Uint8Array[]) =>
      void written.set(name, entries),
  }
  const options = { dimension: 3, rule: { rule: 'stack' } } as const
  const context = { operatorState } as unknown as OperatorContext
  return { written, versions: new LearnedVersions(options, context) }
}

function moments(): Float64Array {
  const all = new RowMoments(3)
  for (let n = 0; n < 12; n++) all.add([n % 3, n % 2, (n % 5) / 5])
  return all.encode()
}

/** A slot that has learned some ratings, and its rule's sums. */
function learned(ratings: readonly number[]) {
  const made = slot()
  const { rule } = made.versions.begin(METADATA, { user: moments(), item: moments() })!
  const delta = new Float32Array(rule.deltaLength)
  for (const rating of ratings) {
    const user = newRow(Float32Array.of(1, 0.5, 0.2), rule.userMemory, 5)
    const item = newRow(Float32Array.of(0.5, 2, 1), rule.itemMemory, 5)
    rule.learn(user, item, rating, delta)
  }
  made.versions.snapshot()
  return { written: made.written, sums: rule.shared! }
}

it('a slot continues with the sums of the rules of all slots that it takes over', () => {
  const [a, b] = [learned([5, 4, 5]), learned([1])]
  expect(Math.max(...a.sums)).toBeGreaterThan(0)
  const merged = new Map(
    [...a.written].map(([name, entries]) => {
      // Constants are the same in every slot; the rest is split.
      const both = [...entries, ...(b.written.get(name) ?? [])]
      return [name, name === 'learned-versions' ? entries : both] as const
    }),
  )
  const [version] = [...slot(merged).versions.restored()]
  expect(version?.rule.shared).toEqual(a.sums.map((sum, i) => sum + b.sums[i]!))
})

it('errors of a checkpoint of before the windows were state are taken over from all its slots', () => {
  const before = slot()
  before.versions.begin(METADATA, { user: moments(), item: moments() })
  before.versions.snapshot()
  const entryOf = (version: number, ...numbers: readonly number[]): Uint8Array =>
    new Uint8Array(Float64Array.of(version, ...numbers).buffer)
  // Ratings, known ones, sum of errors; faded sum and count; ratings of the start, their errors.
  const errors = [
    entryOf(7, 3000, 1500, 6000, 200, 100, 800, 3200),
    entryOf(7, 1000, 500, 6000, 1000, 100, 200, 800),
    // Another version's.
    entryOf(6, 1, 1, 1e9, 1e9, 1, 1, 1e9),
  ]
  const stored = new Map(before.written)
  stored.delete('learning-measures')
  const [restored] = [...slot(stored.set('learning-errors', errors)).versions.restored()]
  const { error } = restored!.measures
  expect([error.count, error.mse, error.coverage]).toEqual([4000, 3, 0.5])
  expect([error.fadedMse, error.startMse]).toEqual([6, 4])
})

it('a slot that comes with another parallelism has no start of a version that was learned before', () => {
  const before = slot()
  const version = before.versions.begin(METADATA, { user: moments(), item: moments() })!
  for (let n = 0; n < 1500; n++) version.measures.add(2, true, { nowMs: () => 0 })
  before.versions.snapshot()
  const startOf = (stored: ReadonlyMap<string, readonly Uint8Array[]>): number => {
    const [restored] = [...slot(stored).versions.restored()]
    for (let n = 0; n < 1500; n++) restored!.measures.add(3, true, { nowMs: () => 0 })
    return restored!.measures.error.startMse
  }
  expect(startOf(before.written)).toBe(4)
  expect(startOf(new Map([...before.written, ['learning-measures', []]]))).toBeNaN()
})

/** The phases of the entries that slots wrote for version 7, and whether each can forget what it learned. */
function restoredPhase(
  slots: readonly (readonly [phase: number, guarded: boolean])[],
): LearnedVersion {
  const before = slot()
  before.versions.begin(METADATA, { user: moments(), item: moments() })
  before.versions.snapshot()
  const entries = slots.map(
    ([phase, guarded]) => new Uint8Array(Float64Array.of(7, phase, guarded ? 1 : 0).buffer),
  )
  const stored = new Map([...before.written, ['learning-phases', entries]])
  return [...slot(stored).versions.restored()][0]!
}

it('a slot that takes over rows of one that had not stopped yet forgets what these have learned', () => {
  const version = restoredPhase([
    [1, true],
    [0, true],
  ])
  expect([version.phase, version.isStopped, version.isGuarded]).toEqual([0, false, true])
  expect(version.advanceTo(1)).toBe(true)
  expect(version.isStopped).toBe(true)
  expect([version.advanceTo(1), version.advanceTo(2), version.advanceTo(1)]).toEqual([
    false,
    false,
    false,
  ])
  expect(version.phase).toBe(2)
})

it('a stop forgets the sums that the rule has learned over all rows', () => {
  const { versions } = slot()
  const version = versions.begin(METADATA, { user: moments(), item: moments() })!
  version.rule.shared!.fill(3)
  version.advanceTo(1)
  expect(Math.max(...version.rule.shared!)).toBe(0)
})

it('a version that an earlier build has learned, or a job that never stops, has no copies to go back to', () => {
  expect(restoredPhase([]).isGuarded).toBe(false)
  expect(
    restoredPhase([
      [0, true],
      [0, false],
    ]).isGuarded,
  ).toBe(false)
  expect(restoredPhase([[0, true]]).isGuarded).toBe(true)
})
