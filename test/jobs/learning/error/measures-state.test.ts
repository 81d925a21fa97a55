import { expect, it } from 'vitest'
import { MeasuresState } from '../../../../src/jobs/learning/error/measures-state.ts'
import { RatingMeasures } from '../../../../src/jobs/learning/error/rating-measures.ts'
import type { OperatorStateStore } from '../../../../src/operators/port/operator-state.ts'

const CLOCK = { nowMs: () => 0 }

/** Operator state in memory: what `update` stored, and how it is distributed. */
class MemoryState implements OperatorStateStore {
  readonly isRestored = true
  readonly written = new Map<string, readonly Uint8Array[]>()
  readonly modes = new Set<string>()
  private readonly before: ReadonlyMap<string, readonly Uint8Array[]>

  constructor(before: ReadonlyMap<string, readonly Uint8Array[]> = new Map()) {
    this.before = before
  }

  restored(name: string): readonly Uint8Array[] {
    return this.before.get(name) ?? []
  }

  leaveOver(): void {}

  update(name: string, mode: string, entries: readonly Uint8Array[]): void {
    this.modes.add(mode)
    this.written.set(name, entries)
  }
}

function measured(errors: readonly number[]): RatingMeasures {
  const measures = new RatingMeasures(16)
  for (const error of errors) measures.add(error, true, CLOCK)
  return measures
}

it('a slot joins the measures of each version that it gets', () => {
  const [first, second] = [new MemoryState(), new MemoryState()]
  new MeasuresState(first).update([
    [1, measured([1, 1])],
    [70_000, measured([3])],
  ])
  new MeasuresState(second).update([[1, measured([2])]])
  expect([...first.modes]).toEqual(['split'])
  const [name, entries] = [...first.written][0]!
  expect([...entries[1]!.slice(0, 5)]).toEqual([1, 0x70, 0x11, 1, 0])
  const both = new MemoryState(new Map([[name, [...entries, ...second.written.get(name)!]]]))
  const state = new MeasuresState(both)
  const [one, other] = [measured([]), measured([])]
  expect(state.joinInto(1, one)).toBe(true)
  expect(state.joinInto(70_000, other)).toBe(true)
  expect(state.joinInto(2, measured([]))).toBe(false)
  expect([one.error.count, one.error.mse]).toEqual([3, 2])
  expect([other.error.count, other.error.mse]).toEqual([1, 9])
})

it('measures of a newer build are refused', () => {
  const newer = new MemoryState(new Map([['learning-measures', [Uint8Array.of(2, 1, 0, 0, 0)]]]))
  expect(() => new MeasuresState(newer)).toThrow(
    expect.objectContaining({ code: 'UNSUPPORTED_VERSION' }),
  )
})
