import { describe, expect, it } from 'vitest'
import { FieldFolds } from '../../../src/operators/basic/field-folds.ts'

type Fields = Readonly<Record<string, unknown>>

/** Folds two records at once. */
class Pair extends FieldFolds<Fields, Fields> {
  private readonly pair: readonly [Fields, Fields]

  constructor(a: Fields, b: Fields) {
    super()
    this.pair = [a, b]
  }

  reduce(fold: (a: Fields, b: Fields) => Fields): Fields {
    return fold(...this.pair)
  }

  protected foldInParts(fold: (a: Fields, b: Fields) => Fields): Fields {
    return this.reduce(fold)
  }
}

const refused = (message: string): Error =>
  expect.objectContaining({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining(message) as string,
  }) as Error

describe('the folds of a field', () => {
  it('refuse to add what is no number', () => {
    const pair = new Pair({ n: 1, name: 'a' }, { n: 2, name: 'b' })
    expect(pair.sum('n' as never)).toEqual({ n: 3, name: 'a' })
    expect(() => pair.sum('name' as never)).toThrow(refused('"name" is of type string'))
    expect(() => pair.sum('none' as never)).toThrow(refused('"none" is missing'))
  })

  it('refuse to compare by a field that is missing', () => {
    const pair = new Pair({ n: 1 }, { n: 2 })
    expect(pair.maxBy('n' as never)).toEqual({ n: 2 })
    for (const fold of ['min', 'max', 'minBy', 'maxBy'] as const) {
      expect(() => pair[fold]('none' as never)).toThrow(refused('"none" is missing'))
      const unknown = new Pair({ n: 1 }, { n: null })
      expect(() => unknown[fold]('n' as never)).toThrow(refused('"n" is null'))
    }
  })

  it.each([
    ['before', { n: Number.NaN }, { n: 3 }],
    ['after', { n: 3 }, { n: Number.NaN }],
  ])('take NaN as greater than every number, also %s it', (_, a, b) => {
    const pair = new Pair(a, b)
    for (const fold of ['min', 'minBy'] as const) expect(pair[fold]('n' as never)).toEqual({ n: 3 })
    for (const fold of ['max', 'maxBy'] as const)
      expect(pair[fold]('n' as never)).toEqual({ n: Number.NaN })
  })
})
