import { describe, expect, it } from 'vitest'
import { mergeAccumulators } from '../../../src/operators/accumulators/merge.ts'
import {
  createAccumulator,
  registerAccumulator,
} from '../../../src/operators/accumulators/registry.ts'
import type { Accumulator, AccumulatorPart } from '../../../src/operators/port/accumulator.ts'

/** The words that were added, each once. */
class DistinctWords implements Accumulator<string, number, string[]> {
  readonly type = 'DistinctWords'
  private readonly words = new Set<string>()

  add(word: string): void {
    this.words.add(word)
  }

  getLocalValue(): number {
    return this.words.size
  }

  resetLocal(): void {
    this.words.clear()
  }

  state(): string[] {
    return [...this.words]
  }

  merge(state: string[]): void {
    for (const word of state) {
      if (word === 'poison') throw new Error('no such word')
      this.words.add(word)
    }
  }
}

registerAccumulator(() => new DistinctWords())

function part(subtask: number, rest: Partial<AccumulatorPart>): AccumulatorPart {
  return { uid: 'map', subtask, name: 'n', type: 'IntCounter', state: 1, ...rest }
}

describe('the merge of accumulators', () => {
  it('adds the parts of each name', () => {
    const parts = [part(0, { state: 2 }), part(0, { name: 'other', state: 5 }), part(1, {})]
    expect(mergeAccumulators(parts)).toEqual([
      { name: 'n', type: 'IntCounter', value: 3, failure: undefined },
      { name: 'other', type: 'IntCounter', value: 5, failure: undefined },
    ])
  })

  it('uses a type that a job registered', () => {
    const words = { type: 'DistinctWords' }
    const parts = [part(0, { ...words, state: ['a', 'b'] }), part(1, { ...words, state: ['b'] })]
    expect(mergeAccumulators(parts)).toMatchObject([{ value: 2, failure: undefined }])
  })

  it('gives a failure for one name with two types, and the result of the others', () => {
    const parts = [part(0, {}), part(1, { type: 'LongCounter' }), part(1, { name: 'other' })]
    expect(mergeAccumulators(parts)).toMatchObject([
      { name: 'n', value: undefined, failure: { code: 'STATE_CONFLICT' } },
      { name: 'other', value: 1, failure: undefined },
    ])
  })

  it('gives a failure where code of the user throws', () => {
    const parts = [
      part(0, { type: 'DistinctWords', state: ['poison'] }),
      part(0, { name: 'other', failure: 'state() threw' }),
    ]
    expect(mergeAccumulators(parts).map(({ failure }) => failure?.message)).toEqual([
      'no such word',
      'state() threw',
    ])
  })

  it('refuses a type that is registered twice, and one that is not known', () => {
    expect(() => registerAccumulator(() => new DistinctWords())).toThrow(
      expect.objectContaining({ code: 'STATE_CONFLICT' }),
    )
    expect(() => createAccumulator('Unheard')).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })
})
