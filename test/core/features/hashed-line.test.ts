import { describe, expect, it } from 'vitest'
import { featuresOfText, HashedLine } from '../../../src/core/features/hashed-line.ts'

const encoder = new TextEncoder()
const HASHING = { bits: 24, crosses: '' }
const line = new HashedLine(HASHING)

function read(text: string) {
  const bytes = encoder.encode(text)
  const found = line.read(bytes, 0, bytes.length)
  if (found !== 'example') return found
  const features = [...line.ids.subarray(0, line.count)].map((id, k) => [id, line.values[k]])
  return { label: line.label, features: new Map(features as [number, number][]) }
}

describe('a line of features with names', () => {
  it('is the same in each way to write it', () => {
    const expected = read('1 |user DE age:0.25')
    expect(expected).toMatchObject({ label: 1 })
    for (const text of [
      '1 |user age:0.25 DE',
      "1 'tag|user DE:1 age:.25",
      '1 1 tag|user DE:1e0 age:25e-2',
      '+1 1.0 |user:0.5 DE:2 age:0.5',
      '1 |user DE|user age:0.25',
      '  1\t|user  DE\tage:0.25  ',
    ]) {
      expect(read(text), text).toEqual(expected)
    }
  })

  it('needs no namespaces: the features follow the label as in LIBSVM text', () => {
    const expected = read('-1 | country=DE age:0.25 7:2')
    for (const text of [
      '-1 country=DE age:0.25 7:2 # a comment',
      '-1 qid:3 7:2 age:0.25 country=DE',
    ]) {
      expect(read(text), text).toEqual(expected)
    }
    expect((expected as { features: Map<number, number> }).features.get(7)).toBe(2)
  })

  it('may have a # within a name, and anywhere in the text of VW', () => {
    expect(read('1 C#:2')).toEqual(read('1 | C#:2'))
    expect(read('1 |a #x y')).toEqual(read('1 |a y #x'))
    expect(read('1 x #y')).toEqual(read('1 x'))
  })

  it('has the features of its line only', () => {
    expect(read('1 a b c')).toMatchObject({ label: 1 })
    expect(read('0')).toEqual({ label: 0, features: new Map() })
    expect(read('2 |a')).toEqual({ label: 2, features: new Map() })
  })

  it.each(['', '   ', '# a comment'])('is blank if it is %j', (text) => {
    expect(read(text)).toBe('blank')
  })

  it.each([
    'x |a b',
    '|a b',
    '1 0 |a b',
    '1 -2 |a b',
    '1 x |a b',
    '1 1e-60 |a b',
    '1 1e60 |a b',
    '1 1 1 |a b',
    '1 a:x',
    '1 a:',
    '1 :3',
    '1 |a:x b',
    '1 a:1:2',
    '1 a:1e39',
    '1 a:3e38 a:3e38',
  ])('is bad if it is %j', (text) => {
    expect(read(text)).toBe('bad')
  })
})

describe('the importance of a line', () => {
  it.each([
    ['1 2.5 |a b', 2.5],
    ["1 0.25 'tag|a b", 0.25],
    ['1 3 tag|a b', 3],
    // A word next to the bar is a tag.
    ['1 2|a b', 1],
    ['1 |a b', 1],
    ['1 a b', 1],
  ])('is how many examples it counts for: %j', (text, expected) => {
    // What the line before had does not count.
    read('1 7 |x')
    expect(read(text)).toMatchObject({ label: 1 })
    expect(line.importance).toBe(expected)
  })
})

describe('features without a label', () => {
  it('are those of the line with one', () => {
    // What is wrong with the line before does not count.
    expect(read('x |user DE')).toBe('bad')
    const features = featuresOfText('|user DE age:0.25', line)
    const example = read('1 |user DE age:0.25') as { features: Map<number, number> }
    expect(new Map([...features.ids].map((id, k) => [id, features.values[k]]))).toEqual(
      example.features,
    )
    expect(featuresOfText('', line).ids).toHaveLength(0)
    expect([...featuresOfText('7:2 5', line).ids]).toEqual([5, 7])
  })

  it.each(['1 |a b', 'a:x', '|a b\n|a c'])('are not %j', (text) => {
    expect(() => featuresOfText(text, line)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })
})
