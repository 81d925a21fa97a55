import { describe, expect, it } from 'vitest'
import { assembleOperators } from '../../../../src/runtime/checkpoint/protocol/assemble.ts'
import type { OperatorManifest } from '../../../../src/runtime/checkpoint/protocol/checkpoint-types.ts'
import { ackOf, operator, segment, shown, snapshot } from './fixtures.ts'

const previous = (checkpointId: number, ...operators: OperatorManifest[]) => ({
  checkpointId,
  operators,
})

describe('assembleOperators', () => {
  it('appends reported segments to the chain, oldest first', () => {
    const { operators } = assembleOperators({
      previous: previous(3, operator({ segments: [segment('a', 3)] })),
      acks: [ackOf(snapshot({ segments: [segment('c', 5), segment('b', 4)] }))],
      compactions: [],
    })
    expect(shown(operators[0]!.segments)).toBe('a[0-127] b[0-127] c[0-127]')
  })

  it('continues no segments of an operator that keeps no keyed state any more', () => {
    const { operators } = assembleOperators({
      previous: previous(3, operator({ segments: [segment('a', 3)] })),
      acks: [ackOf(snapshot({ isKeyed: false }))],
      compactions: [],
    })
    expect(operators[0]!.segments).toEqual([])
    expect(operators[0]!.declarations).toEqual([])
  })

  it('keeps the segments of an aborted checkpoint that a later one reports', () => {
    const { operators } = assembleOperators({
      previous: undefined,
      acks: [ackOf(snapshot({ segments: [segment('aborted', 1), segment('now', 2)] }))],
      compactions: [],
    })
    expect(shown(operators[0]!.segments)).toBe('aborted[0-127] now[0-127]')
  })

  it('leaves out segments that the last completed checkpoint holds', () => {
    const { operators } = assembleOperators({
      previous: previous(3, operator({ segments: [segment('merged', 3)] })),
      acks: [ackOf(snapshot({ segments: [segment('before-merge', 3), segment('b', 4)] }))],
      compactions: [],
    })
    expect(shown(operators[0]!.segments)).toBe('merged[0-127] b[0-127]')
  })

  it('removes segments older than a full one, in its key groups only', () => {
    const full = segment('full', 4, { keyGroups: { first: 32, last: 63 }, full: true })
    const { operators } = assembleOperators({
      previous: previous(3, operator({ segments: [segment('a', 2), segment('b', 3)] })),
      acks: [ackOf(snapshot({ segments: [full] }))],
      compactions: [],
    })
    expect(shown(operators[0]!.segments)).toBe('a[0-31] a[64-127] b[0-31] b[64-127] full[32-63]')
  })

  it('lets a full segment remove an earlier one of the same report', () => {
    const reported = [segment('old', 4), segment('full', 5, { full: true }), segment('new', 6)]
    const { operators } = assembleOperators({
      previous: undefined,
      acks: [ackOf(snapshot({ segments: reported }))],
      compactions: [],
    })
    expect(shown(operators[0]!.segments)).toBe('full[0-127] new[0-127]')
  })

  it('replaces the inputs of a compaction by its output', () => {
    const [a, b, c] = [segment('a', 1), segment('b', 2), segment('c', 3)]
    const output = segment('bc', 3)
    const { operators, unusedOutputs } = assembleOperators({
      previous: previous(3, operator({ segments: [a, b, c] })),
      acks: [ackOf(snapshot({ segments: [segment('d', 4)] }))],
      compactions: [{ uid: 'op', replacement: { inputs: [b, c], output } }],
    })
    expect(shown(operators[0]!.segments)).toBe('a[0-127] bc[0-127] d[0-127]')
    expect(unusedOutputs).toEqual([])
  })

  it('keeps the key groups of an input that were not merged', () => {
    const a = segment('a', 1)
    const output = segment('m', 1, { keyGroups: { first: 0, last: 42 } })
    const { operators } = assembleOperators({
      previous: previous(1, operator({ segments: [a] })),
      acks: [ackOf(snapshot())],
      compactions: [{ uid: 'op', replacement: { inputs: [a], output } }],
    })
    expect(shown(operators[0]!.segments)).toBe('m[0-42] a[43-127]')
  })

  it('reports a compaction as unused when its inputs are no longer in the chain', () => {
    const gone = segment('gone', 1)
    const { operators, unusedOutputs } = assembleOperators({
      previous: previous(2, operator({ segments: [segment('b', 2, { full: true })] })),
      acks: [ackOf(snapshot())],
      compactions: [{ uid: 'op', replacement: { inputs: [gone], output: segment('m', 1) } }],
    })
    expect(shown(operators[0]!.segments)).toBe('b[0-127]')
    expect(unusedOutputs).toEqual(['m'])
  })

  it('joins the subtasks of an operator in their order', () => {
    const part = (subtask: number) =>
      snapshot({
        subtask,
        parallelism: 2,
        declarations: [{ name: `state${subtask}`, kind: 'value', format: 'f' }],
        operatorState: [{ name: `of ${subtask}`, redistribution: 'split', entries: [] }],
      })
    const { operators } = assembleOperators({
      previous: undefined,
      acks: [ackOf(part(1)), ackOf(part(0))],
      compactions: [],
    })
    expect(operators[0]!.parallelism).toBe(2)
    expect(operators[0]!.declarations.map((d) => d.name)).toEqual(['state0', 'state1'])
    expect(operators[0]!.operatorState.map((s) => s[0]!.name)).toEqual(['of 0', 'of 1'])
  })

  it('keeps old declarations as long as old segments', () => {
    const declarations = [{ name: 'old', kind: 'value', format: 'f' }]
    const before = previous(1, operator({ segments: [segment('a', 1)], declarations }))
    const names = (full: boolean) =>
      assembleOperators({
        previous: before,
        acks: [ackOf(snapshot({ segments: [segment('b', 2, { full })] }))],
        compactions: [],
      }).operators[0]!.declarations.map((d) => d.name)
    expect(names(false)).toEqual(['old'])
    expect(names(true)).toEqual([])
  })

  it('drops vector states that no subtask declares any more, though old segments stay', () => {
    const [kept, gone] = ['rows@2', 'rows@1'].map((name) => ({ name, kind: 'vector', format: 'f' }))
    const before = previous(
      1,
      operator({ segments: [segment('a', 1)], declarations: [gone!, kept!] }),
    )
    const { operators } = assembleOperators({
      previous: before,
      acks: [ackOf(snapshot({ segments: [segment('b', 2)], declarations: [kept!] }))],
      compactions: [],
    })
    expect(operators[0]!.declarations).toEqual([kept])
    expect(operators[0]!.segments.map(({ path }) => path)).toEqual(['a', 'b'])
  })

  it('drops operators that no task reports', () => {
    const { operators } = assembleOperators({
      previous: previous(1, operator({ uid: 'gone', segments: [segment('a', 1)] })),
      acks: [ackOf(snapshot())],
      compactions: [],
    })
    expect(operators.map((o) => o.uid)).toEqual(['op'])
  })

  it('refuses an operator with a subtask missing or twice', () => {
    const half = snapshot({ parallelism: 2 })
    const facts = { previous: undefined, compactions: [] }
    expect(() => assembleOperators({ ...facts, acks: [ackOf(half)] })).toThrow('each of 2')
    expect(() => assembleOperators({ ...facts, acks: [ackOf(half, half)] })).toThrow('each of 2')
  })
})
