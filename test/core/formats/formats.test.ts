import { describe, expect, it } from 'vitest'
import { csvColumns, csvFormat } from '../../../src/core/formats/csv.ts'
import { float32VectorFormat } from '../../../src/core/formats/float32-vector.ts'
import { jsonFormat } from '../../../src/core/formats/json.ts'
import { msgpackFormat } from '../../../src/core/formats/msgpack.ts'
import { type Random, seededRandom } from '../../../src/core/random.ts'
import type { Serializer } from '../../../src/core/serializer.ts'
import { alsTextRowFormat, textWeightFormat } from '../../../src/models/files/text-row-formats.ts'
import { ratingLineFormat } from '../../../src/models/ratings/line-format.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { outcome, readBack, readText, strangeText, written, writtenText } from './format-fixture.ts'

const COLUMNS = {
  name: 'string',
  note: 'string?',
  count: 'integer',
  share: 'number?',
  live: 'boolean',
} as const
const csv = csvFormat({ columns: COLUMNS })

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

describe('the CSV format', () => {
  it('reads quoted fields with separators, quotes and line breaks in them', () => {
    const text = '"Ann ""A"", B",,7,0.5,true\r\n'
    const row = { name: 'Ann "A", B', note: null, count: 7, share: 0.5, live: true }
    expect(readText(csv, text)).toEqual(row)
    expect(readText(csv, '"two\nlines","",-1,,false')).toEqual({
      name: 'two\nlines',
      note: '',
      count: -1,
      share: null,
      live: false,
    })
  })

  it('writes what it reads, golden', () => {
    const row = { name: 'a,"b"', note: '', count: -3, share: null, live: true }
    expect(writtenText(csv, row)).toBe('"a,""b""","",-3,,true')
    expect(writtenText(csv, { ...row, name: 'x', note: null, share: 1e21 })).toBe(
      'x,,-3,1e+21,true',
    )
  })

  it.each([
    ['too few fields', 'a,b,1,2', 'column 5 of the CSV row: 4 fields where 5 were expected'],
    ['too many fields', 'a,b,1,2,true,', 'column 6 of the CSV row: 6 fields'],
    ['an open quote', '"a,b,1,2,true', 'column 1 of the CSV row: the closing quote is missing'],
    ['text after a quote', '"a"x,b,1,2,true', 'column 1 of the CSV row: "x" follows'],
    ['a quote inside', 'a"b,c,1,2,true', 'column 1 of the CSV row: a quote or line break'],
    [
      'a fraction as integer',
      'a,b,1.5,2,true',
      'column 3 of the CSV row: "1.5" in count is no integer',
    ],
    ['a missing integer', 'a,b,,2,true', 'column 3'],
    ['hexadecimal', 'a,b,0x10,2,true', 'column 3'],
    ['a wrong boolean', 'a,b,1,2,yes', 'column 5 of the CSV row: "yes" in live is no boolean'],
    ['the header', 'name,note,count,share,live', 'the row is the header'],
  ])('refuses %s', (_, text, message) => {
    expect(() => readText(csv, text)).toThrow(message)
    expect(outcome(csv, new TextEncoder().encode(text))).toBe('refused')
  })

  it('takes its columns from a header, text where no type is given', () => {
    const columns = csvColumns('userId;"movie;Id";rating', { rating: 'number' }, ';')
    const format = csvFormat({ columns, separator: ';' })
    expect(readText(format, 'u1;"a;b";3.5')).toEqual({
      userId: 'u1',
      'movie;Id': 'a;b',
      rating: 3.5,
    })
    expect(() => csvColumns('a,b', { c: 'number' })).toThrow('the header has no column "c"')
    expect(() => csvColumns('a,b,a')).toThrow('named twice')
  })

  it('refuses columns that an object would reorder or swallow', () => {
    expect(() => csvFormat({ columns: { 1: 'string' } })).toThrow('"1" names no CSV column')
    const columns = Object.fromEntries([['__proto__', 'string']]) as Record<string, 'string'>
    expect(() => csvFormat({ columns })).toThrow('names no CSV column')
    expect(() => csvFormat({ columns: { a: 'string' }, separator: '::' })).toThrow('one character')
  })

  it('refuses to write what is not of the type', () => {
    const row = { name: 'x', note: null, count: 1, share: null, live: true }
    expect(() => written(csv, { ...row, count: 0.5 })).toThrow('0.5 in count is no integer')
    expect(() => written(csv, { ...row, share: Number.NaN })).toThrow('NaN in share is no number')
    expect(() => written(csv, { ...row, name: '\ud800' })).toThrow('lone surrogate')
  })
})

describe('the JSON format', () => {
  it('reads what it writes, golden', () => {
    const format = jsonFormat<{ readonly a: number; readonly b: string }>()
    expect(writtenText(format, { a: 1.5, b: 'ü' })).toBe('{"a":1.5,"b":"ü"}')
    expect(readText(format, ' {"a":1.5,"b":"ü"} ')).toEqual({ a: 1.5, b: 'ü' })
  })

  it('refuses what is no JSON, no UTF-8, or not what `check` asks for', () => {
    expect(() => readText(jsonFormat(), '{"a":')).toThrow('not json/1: ')
    expect(outcome(jsonFormat(), new Uint8Array([0x22, 0xff, 0x22]))).toBe('refused')
    const format = jsonFormat({
      check(parsed) {
        if (typeof parsed !== 'number') throw new Error('a number was expected')
        return parsed
      },
    })
    expect(readText(format, '5')).toBe(5)
    expect(() => readText(format, '"5"')).toThrow('not json/1: a number was expected')
    expect(() => written(jsonFormat<unknown>(), undefined)).toThrow('have no JSON')
  })
})

describe('the msgpack format', () => {
  it('reads what it writes, golden', () => {
    const format = msgpackFormat<unknown>()
    expect(hex(written(format, { a: [1, 'x', null] }))).toBe('de0001a1619301a178c0')
    expect(readBack(format, Buffer.from('81a1619301a178c0', 'hex'))).toEqual({ a: [1, 'x', null] })
  })

  it('refuses cut-off and trailing bytes', () => {
    expect(outcome(msgpackFormat(), Buffer.from('9301a1', 'hex'))).toBe('refused')
    expect(outcome(msgpackFormat(), Buffer.from('0101', 'hex'))).toBe('refused')
    expect(outcome(msgpackFormat(), new Uint8Array(0))).toBe('refused')
  })
})

describe('the vector format', () => {
  it('is float32 in little-endian and nothing else, golden', () => {
    expect(hex(written(float32VectorFormat(), Float32Array.of(1, -2.5)))).toBe('0000803f000020c0')
    expect(
      readBack(float32VectorFormat({ dimension: 2 }), Buffer.from('0000803f000020c0', 'hex')),
    ).toEqual(Float32Array.of(1, -2.5))
  })

  it('refuses another length and what is not finite', () => {
    const format = float32VectorFormat({ dimension: 2 })
    expect(() => readBack(format, new Uint8Array(7))).toThrow(
      '7 bytes where 2 float32 were expected',
    )
    expect(outcome(float32VectorFormat(), new Uint8Array(6))).toBe('refused')
    const infinite = Buffer.from('0000807f0000803f', 'hex')
    expect(() => readBack(format, infinite)).toThrow('an element is not finite')
    expect([...readBack(float32VectorFormat({ allowNonFinite: true }), infinite)]).toEqual([
      Infinity,
      1,
    ])
    expect(() => written(format, Float32Array.of(1))).toThrow('1 floats where 2 are written')
  })

  it('reuses one vector with `reuse`', () => {
    const format = float32VectorFormat({ dimension: 1, reuse: true })
    const first = readBack(format, Buffer.from('0000803f', 'hex'))
    expect(readBack(format, Buffer.from('000020c0', 'hex'))).toBe(first)
    expect([...first]).toEqual([-2.5])
    expect(() => float32VectorFormat({ reuse: true })).toThrow('reuse needs the dimension')
  })
})

describe("the ancestor's text rows", () => {
  it('are read and written as records', () => {
    const row = { id: '17', kind: 'I', factors: Float32Array.of(0.5, -1) } as const
    expect(writtenText(alsTextRowFormat, row)).toBe('17,I,0.5;-1')
    expect(readText(alsTextRowFormat, '17,I,0.5;-1')).toEqual(row)
    expect(writtenText(textWeightFormat, { feature: 7, weight: 0.25 })).toBe('7,0.25')
    expect(readText(textWeightFormat, 'bias,-1')).toEqual({ feature: 'bias', weight: -1 })
    expect(() => readText(alsTextRowFormat, '17,X,1')).toThrow('expected U or I')
  })
})

const SAMPLES: Record<
  string,
  { format: Serializer<unknown>; sample: (random: Random) => unknown }
> = {
  csv: {
    format: csv as Serializer<unknown>,
    sample: (random) => ({
      name: strangeText(random),
      note: random.below(3) === 0 ? null : strangeText(random),
      count: random.below(1e9) - 5e8,
      share: random.below(3) === 0 ? null : random.next() * 10 ** (random.below(40) - 20),
      live: random.below(2) === 0,
    }),
  },
  json: { format: jsonFormat(), sample: (random) => ({ [strangeText(random)]: [random.next()] }) },
  msgpack: {
    format: msgpackFormat(),
    sample: (random) => ({ [strangeText(random)]: [random.next(), random.below(9)] }),
  },
  vector: {
    format: float32VectorFormat() as Serializer<unknown>,
    sample: (random) => Float32Array.from({ length: random.below(9) }, () => random.next()),
  },
  'als text row': {
    format: alsTextRowFormat as Serializer<unknown>,
    sample: (random) => ({
      id: strangeText(random).replace(/[,\r\n]/g, '') || 'x',
      kind: random.below(2) === 0 ? 'U' : 'I',
      factors: Float32Array.from({ length: 1 + random.below(5) }, () => random.next() - 0.5),
    }),
  },
  ...Object.fromEntries(
    (['csv', 'tab', 'double-colon'] as const).map((name) => [
      `rating line, ${name}`,
      {
        format: ratingLineFormat(name) as Serializer<unknown>,
        sample: (random: Random) => ({
          user: ratingId(strangeText(random, 20), name) || 'u',
          item: `${random.below(1e6)}`,
          rating:
            random.below(2) === 0 ? random.below(10) / 2 : random.next() * 10 ** random.below(16),
          timestamp: random.below(3) === 0 ? -1 : random.below(1.7e9) * 1000,
        }),
      },
    ]),
  ),
}

/** An id that a line may have: that of csv may be in quotes. */
function ratingId(text: string, format: 'csv' | 'tab' | 'double-colon'): string {
  const line = text.replace(/[\r\n]/g, '')
  return format === 'csv' ? line : line.replace(/[:\t]/g, '').trim()
}

describe.each(Object.entries(SAMPLES))('the %s format, fuzzed', (_name, { format, sample }) => {
  it('reads whatever it wrote', () => {
    const random = seededRandom(7)
    for (let i = 0; i < campaignSize(400, 2_000); i++) {
      const value = sample(random)
      expect(readBack(format, written(format, value))).toEqual(value)
    }
  })

  it('reads or refuses any bytes, also those that were damaged', () => {
    const random = seededRandom(8)
    for (let i = 0; i < campaignSize(600, 3_000); i++) {
      const bytes =
        i % 2 === 0
          ? Uint8Array.from({ length: random.below(40) }, () => random.below(256))
          : written(format, sample(random))
      if (i % 2 === 1 && bytes.length > 0) bytes[random.below(bytes.length)] = random.below(256)
      outcome(format, bytes)
    }
  })
})
