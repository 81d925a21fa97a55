import { describe, expect, it } from 'vitest'
import { featureTable } from '../../../src/training/data/feature-table.ts'
import { readFeatures } from '../../../src/training/data/read-features.ts'

/** Values of an id by the names of its features. */
function valuesOf(lines: readonly string[], id: string): Record<string, number> {
  const { ids, names, offsets, features, values } = featureTable(lines)
  const row = ids.indexOf(id)
  const places = Array.from(features.subarray(offsets[row], offsets[row + 1]).entries())
  return Object.fromEntries(
    places.map(([at, feature]) => [names[feature]!, values[offsets[row]! + at]!]),
  )
}

describe('featureTable', () => {
  it('scales numbers to mean 0 and deviation 1, an empty one as the mean', () => {
    const lines = ['id,year', 'a,1990', 'b,2000', 'c,', 'd,1980']
    const spread = Math.sqrt(200 / 3)
    expect(valuesOf(lines, 'b')).toEqual({ year: expect.closeTo(10 / spread, 5) })
    expect(valuesOf(lines, 'd')).toEqual({ year: expect.closeTo(-10 / spread, 5) })
    expect(valuesOf(lines, 'a')).toEqual({})
    expect(valuesOf(lines, 'c')).toEqual({})
  })

  it('makes a feature of each category, and several weigh as much as one', () => {
    const lines = ['id,genre,country', 'a,drama|war,DE', 'b,war,', 'c, war | war ,FR']
    const half = expect.closeTo(Math.SQRT1_2, 6)
    expect(valuesOf(lines, 'a')).toEqual({
      'genre=drama': half,
      'genre=war': half,
      'country=DE': 1,
    })
    expect(valuesOf(lines, 'b')).toEqual({ 'genre=war': 1 })
    expect(valuesOf(lines, 'c')).toEqual({ 'genre=war': 1, 'country=FR': 1 })
  })

  it('takes numbers as categories where the column says so, and quotes and tabs', () => {
    expect(valuesOf(['id,code:category', 'a,7', 'b,8'], 'b')).toEqual({ 'code=8': 1 })
    expect(valuesOf(['id,title', 'a,"x, y"'], 'a')).toEqual({ 'title=x, y': 1 })
    expect(valuesOf(['id\ttitle', 'a\tx,y', ''], 'a')).toEqual({ 'title=x,y': 1 })
  })

  it('has no value of a column that never differs', () => {
    expect(valuesOf(['id,x', 'a,3', 'b,3'], 'a')).toEqual({})
  })

  it.each([
    ['a line with too many fields', ['id,x', 'a,1,2'], 'line 2 of the features: 3 fields where'],
    ['an id that comes again', ['id,x', 'a,1', 'a,2'], 'line 3 of the features: the id "a"'],
    ['an empty id', ['id,x', ',1'], 'line 2 of the features: the first field is an id'],
    ['the id of the mean rows', ['id,x', 'MEAN,1'], '"MEAN" is the id of the mean rows'],
    ['no column', ['id', 'a'], 'line 1 of the features'],
    ['a column that is there twice', ['id,x,x', 'a,1,1'], 'the column name "x"'],
    ['a quote that does not end', ['id,x', 'a,"b'], 'line 2 of the features'],
  ])('refuses %s', (_, lines, message) => {
    expect(() => featureTable(lines)).toThrow(
      expect.objectContaining({
        code: 'UNPARSABLE_RECORD',
        message: expect.stringContaining(message),
      }),
    )
  })

  it('refuses a file without ids', () => {
    for (const lines of [[], [''], ['id,x']]) {
      expect(() => featureTable(lines)).toThrow(expect.objectContaining({ code: 'EMPTY_DATASET' }))
    }
  })
})

it('readFeatures reads lines from pieces that end anywhere', async () => {
  const bytes = new TextEncoder().encode('id,name\r\na,Ärger\r\nb,x\r\n')
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (const byte of bytes) yield Uint8Array.of(byte)
  }
  const { ids, names } = await readFeatures(pieces())
  expect(ids).toEqual(['a', 'b'])
  expect(names).toEqual(['name=Ärger', 'name=x'])
})
