import { describe, expect, it } from 'vitest'
import type { OperatorStateEntries } from '../../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'
import { planRestore } from '../../../../src/runtime/checkpoint/protocol/restore-plan.ts'
import { manifest, operator, segment, shown } from './fixtures.ts'

const job = (parallelism: number, uid = 'op') => ({ uid, parallelism, maxParallelism: 128 })

const entries = (
  redistribution: OperatorStateEntries['redistribution'],
  ...numbers: number[]
): OperatorStateEntries[] => [
  { name: 's', redistribution, entries: numbers.map((n) => new Uint8Array([n])) },
]

function distributed(
  stored: readonly OperatorStateEntries[][],
  parallelism: number,
): (number | undefined)[][] {
  const checkpoint = manifest(1, [operator({ parallelism: stored.length, operatorState: stored })])
  const parts = planRestore(checkpoint, [job(parallelism)]).get('op')!
  return parts.map((part) => (part.operatorState.get('s') ?? []).map((entry) => entry[0]))
}

describe('planRestore', () => {
  it('gives every subtask its key groups and the segments that meet them, newest first', () => {
    const segments = [
      segment('a', 1, { keyGroups: { first: 0, last: 63 } }),
      segment('b', 1, { keyGroups: { first: 64, last: 127 } }),
      segment('c', 2, { keyGroups: { first: 0, last: 63 } }),
    ]
    const plan = planRestore(manifest(2, [operator({ parallelism: 2, segments })]), [job(3)])
    expect(plan.get('op')!.map((part) => shown(part.segments))).toEqual([
      'c[0-42] a[0-42]',
      'c[43-63] b[64-85] a[43-63]',
      'b[86-127]',
    ])
    expect(plan.get('op')![1]!.keyGroups).toEqual({ first: 43, last: 85 })
  })

  it('splits entries over another parallelism, each to one subtask', () => {
    const stored = [entries('split', 1, 2, 3), entries('split', 4, 5)]
    expect(distributed(stored, 3)).toEqual([[1, 4], [2, 5], [3]])
    expect(distributed(stored, 1)).toEqual([[1, 2, 3, 4, 5]])
  })

  it('leaves split entries at their subtask at the same parallelism', () => {
    const stored = [entries('split', 1, 2, 3), entries('split')]
    expect(distributed(stored, 2)).toEqual([[1, 2, 3], []])
  })

  it('gives all entries of a union to every subtask', () => {
    const stored = [entries('union', 1), entries('union', 2)]
    expect(distributed(stored, 3)).toEqual([
      [1, 2],
      [1, 2],
      [1, 2],
    ])
  })

  it('gives one copy of broadcast entries to every subtask', () => {
    const stored = [entries('broadcast', 1, 2), entries('broadcast', 1, 2)]
    expect(distributed(stored, 3)).toEqual([
      [1, 2],
      [1, 2],
      [1, 2],
    ])
  })

  it('lets a new operator start empty', () => {
    const plan = planRestore(manifest(1, [operator()]), [job(1), job(1, 'new')])
    expect(plan.has('new')).toBe(false)
  })

  it('refuses state of an operator that the job lacks', () => {
    const keyed = manifest(1, [operator({ uid: 'gone', segments: [segment('a', 1)] })])
    expect(() => planRestore(keyed, [job(1)])).toThrow(
      expect.objectContaining({ code: 'STATE_LEFT_OVER' }),
    )
    const listed = manifest(1, [operator({ uid: 'gone', operatorState: [entries('split', 1)] })])
    expect(() => planRestore(listed, [job(1)])).toThrow('operator gone (1 bytes)')
  })

  it('drops such state when that is allowed, and operators without state always', () => {
    const keyed = manifest(1, [operator({ uid: 'gone', segments: [segment('a', 1)] })])
    expect(planRestore(keyed, [job(1)], { allowNonRestoredState: true }).size).toBe(0)
    expect(planRestore(manifest(1, [operator({ uid: 'gone' })]), [job(1)]).size).toBe(0)
  })

  it('refuses keyed state of an operator whose input has no key any more, unless it may be dropped', () => {
    const keyed = manifest(1, [operator({ segments: [segment('a', 1, { entries: 3 })] })])
    const unkeyed = [{ ...job(1), isKeyed: false, maxParallelism: 256 }]
    expect(() => planRestore(keyed, unkeyed)).toThrow(
      /keyed state of operator op \(\d+ bytes\), whose input/,
    )
    expect(planRestore(keyed, unkeyed, { allowNonRestoredState: true }).size).toBe(1)
    const empty = manifest(1, [operator({ segments: [segment('a', 1, { entries: 0 })] })])
    expect(planRestore(empty, unkeyed).size).toBe(1)
  })

  it('refuses another max parallelism for keyed state', () => {
    const keyed = manifest(1, [operator({ segments: [segment('a', 1)] })])
    expect(() => planRestore(keyed, [{ ...job(1), maxParallelism: 256 }])).toThrow(
      expect.objectContaining({ code: 'MAX_PARALLELISM_CHANGED' }),
    )
  })

  it('accepts another max parallelism if no state is keyed', () => {
    const listed = manifest(1, [operator({ operatorState: [entries('union', 1)] })])
    expect(planRestore(listed, [{ ...job(1), maxParallelism: 256 }]).size).toBe(1)
  })

  it('refuses a state of another kind or format', () => {
    const declarations = [{ name: 'count', kind: 'value', format: 'int53/1' }]
    const stored = manifest(1, [operator({ declarations })])
    for (const change of [{ kind: 'list' }, { format: 'string/1' }]) {
      const changed = [{ ...declarations[0]!, ...change }]
      expect(() => planRestore(stored, [{ ...job(1), declarations: changed }])).toThrow(
        expect.objectContaining({ code: 'STATE_CONFLICT' }),
      )
    }
    expect(planRestore(stored, [{ ...job(1), declarations }]).size).toBe(1)
  })
})
