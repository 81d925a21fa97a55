import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import {
  formatLibsvm,
  LibsvmParser,
  type LibsvmParserOptions,
} from '../../../src/models/linear/libsvm-format.ts'

interface Example {
  readonly label: number
  readonly indexes: number[]
  readonly values: number[]
}

function parse(text: string, options: LibsvmParserOptions = {}, chunkBytes = 1 << 20) {
  const examples: Example[] = []
  const parser = new LibsvmParser((label, indexes, values, count) => {
    examples.push({
      label,
      indexes: Array.from(indexes.subarray(0, count)),
      values: Array.from(values.subarray(0, count)),
    })
  }, options)
  const bytes = new TextEncoder().encode(text)
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    parser.push(bytes.subarray(at, at + chunkBytes))
  }
  parser.end()
  return { examples, lines: parser.lineCount, badLines: parser.badLineCount }
}

describe('LIBSVM text', () => {
  it('is read in all its forms', () => {
    const text = '+1 3:1 11:0.5\t14:-1e-3 # comment 5:x\r\n\n-1\n 0.5 0:+2. 4294967294:.25 '
    expect(parse(text).examples).toEqual([
      { label: 1, indexes: [3, 11, 14], values: [1, 0.5, Math.fround(-1e-3)] },
      { label: -1, indexes: [], values: [] },
      { label: 0.5, indexes: [0, 4294967294], values: [2, 0.25] },
    ])
  })

  it('takes ids in any order, and adds up the values of an id that comes again', () => {
    const text = '1 9:1 3:0.5 9:0.25 0:4 3:-0.5 9:2\n-1 2:1 1:1\n1 4:0.1 4:0.2'
    expect(parse(text).examples).toEqual([
      { label: 1, indexes: [0, 3, 9], values: [4, 0, 3.25] },
      { label: -1, indexes: [1, 2], values: [1, 1] },
      { label: 1, indexes: [4], values: [Math.fround(Math.fround(0.1) + Math.fround(0.2))] },
    ])
  })

  it('takes hashed ids of many features, as a table of sums has them', () => {
    const random = seededRandom(5)
    const given = Array.from({ length: 700 }, () => [random.below(97), random.below(8)] as const)
    const sums = new Map<number, number>()
    for (const [id, value] of given) sums.set(id, (sums.get(id) ?? 0) + value)
    const [example] = parse(`1 ${given.map((pair) => pair.join(':')).join(' ')}`).examples
    const expected = [...sums].sort(([a], [b]) => a - b)
    expect(example!.indexes.map((id, k) => [id, example!.values[k]])).toEqual(expected)
  })

  it('may begin with a byte order mark, as files of some editors do', () => {
    expect(parse('\ufeff1 3:1\n\ufeff-1 4:2\n').examples.map(({ label }) => label)).toEqual([1, -1])
  })

  it.each([1, 2, 3, 7, 64])('is read in chunks of %i bytes', (chunkBytes) => {
    const text = '+1 1:2 3:4\r\n-1 2:0.125\n+1 7:1'
    expect(parse(text, {}, chunkBytes).examples).toEqual(parse(text).examples)
    expect(parse(text, {}, chunkBytes).lines).toBe(3)
  })

  it('may have a query id behind the label, which is read over', () => {
    const { examples } = parse('2 qid:10 3:1 # docid\n0 qid:11\n1\tqid:x 4:2\n')
    expect(examples.map(({ label, indexes }) => [label, ...indexes])).toEqual([[2, 3], [0], [1, 4]])
    expect(() => parse('1 3:1 qid:7\n')).toThrow('expected a label')
  })

  it('is read as it was written, to the last bit, however many features a line has', () => {
    const random = seededRandom(1)
    const indexes = Array.from({ length: 1000 }, (_, k) => 3 * k + 1)
    const values = indexes.map(() => Math.fround(random.normal() * 10 ** (random.below(60) - 30)))
    const [example] = parse(formatLibsvm(-1, indexes, values)).examples
    expect(example).toEqual({ label: -1, indexes, values })
  })
})

describe('bad lines', () => {
  const BAD = [
    'x 1:1',
    '1 2',
    '1 2:',
    '1 :2',
    '1 2.5:1',
    '1 -2:1',
    '1 1:1:1',
    '1 1:1e39',
    '1 1:0x3',
    '1 7:3e38 7:3e38',
    '1 1:-Infinity',
  ]

  it.each(BAD)('such as "%s" fail with their number', (line) => {
    expect(() => parse(`1 1:1\n${line}\n`)).toThrow(
      expect.objectContaining({ code: 'UNPARSABLE_RECORD', details: { line: 2 } }),
    )
  })

  it('are those with a number of a thousand digits', () => {
    expect(parse(`1 1:${'1'.repeat(200_000)}\n1 2:1\n`, { badLines: 'count' })).toMatchObject({
      examples: [{ label: 1, indexes: [2], values: [1] }],
      badLines: 1,
    })
  })

  it('are counted if the option says so', () => {
    const { examples, badLines } = parse(['1 1:1', ...BAD, '1 2:2'].join('\n'), {
      badLines: 'count',
    })
    expect(examples).toHaveLength(2)
    expect(badLines).toBe(BAD.length)
  })

  it('are given to whoever wants them', () => {
    const found: unknown[] = []
    const onBadLine = (...line: unknown[]): void => void found.push(line)
    parse('1 1:1\n1 x:1 # no\n', { badLines: 'count', onBadLine })
    expect(found).toEqual([[2, '1 x:1 ', expect.stringContaining('a label and feature:value')]])
  })

  it('leave nothing behind: the parser reads the next line alone', () => {
    const labels: number[] = []
    const parser = new LibsvmParser((label) => labels.push(label))
    const encoder = new TextEncoder()
    const line = (text: string) => {
      parser.push(encoder.encode(text))
      parser.end()
    }
    for (const bad of ['no example', '1 2:1 1']) {
      expect(() => line(bad)).toThrow(expect.objectContaining({ code: 'UNPARSABLE_RECORD' }))
      line('7 1:1')
    }
    expect(labels).toEqual([7, 7])
  })

  it('that do not end are refused before they are in memory', () => {
    const parser = new LibsvmParser(() => {})
    const piece = Buffer.alloc(1024 * 1024, '1')
    const push = (): void => {
      parser.push(Buffer.from('1 1:1\n'))
      for (let i = 0; i < 40; i++) parser.push(piece)
    }
    expect(push).toThrow('line 2 of the examples does not end within 16 MiB')
  })
})
