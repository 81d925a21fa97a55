import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { scanPairs } from '../../../src/gateway/routes/pairs-scanner.ts'
import { nextPair, pairAt } from '../../../src/wire/encoded-pairs.ts'
import { commitSeed } from '../../services/commit-seed.ts'

function scanned(text: string): (readonly [string, string])[] | undefined {
  const pairs = scanPairs(Buffer.from(text))
  if (pairs === undefined) return undefined
  const keys: (readonly [string, string])[] = []
  for (let at = 0; at < pairs.bytes.length; at = nextPair(pairs.bytes, at)) {
    keys.push(pairAt(pairs.bytes, at))
  }
  expect(keys).toHaveLength(pairs.count)
  return keys
}

describe('the scanner of pairs', () => {
  it('reads pairs as keys of rows', () => {
    expect(scanned('{"pairs":[["1","50"],["a b-c/d~","{x}"]]}')).toEqual([
      ['1-U', '50-I'],
      ['a b-c/d~-U', '{x}-I'],
    ])
  })

  it('skips white space wherever JSON has it', () => {
    const text = ' {\n"pairs"\t: [ [ "1" , "2" ] ,\r\n[ "3","4" ] ] } \n'
    expect(scanned(text)).toEqual([
      ['1-U', '2-I'],
      ['3-U', '4-I'],
    ])
  })

  it('reads ids and batches up to the limits of the schema', () => {
    const id = 'x'.repeat(1024)
    expect(scanned(JSON.stringify({ pairs: [[id, id]] }))).toEqual([[`${id}-U`, `${id}-I`]])
    expect(scanned(JSON.stringify({ pairs: [[`${id}x`, '1']] }))).toBeUndefined()
    const pairs = Array.from({ length: 4097 }, (_, i) => [String(i), String(i)])
    expect(scanned(JSON.stringify({ pairs: pairs.slice(1) }))).toHaveLength(4096)
    expect(scanned(JSON.stringify({ pairs }))).toBeUndefined()
  })

  it.each([
    '',
    '{}',
    '[]',
    'null',
    '{"pairs":[]}',
    '{"pairs":[[]]}',
    '{"pairs":[["1"]]}',
    '{"pairs":[["1","2","3"]]}',
    '{"pairs":[["","2"]]}',
    '{"pairs":[["1",2]]}',
    '{"pairs":[["1","2"],]}',
    '{"pairs":[["1","2"]["3","4"]]}',
    '{"pairs":[["1","2"]]',
    '{"pairs":[["1","2"]]}}',
    '{"pairs":[["1","2"]]}x',
    '{"pairs":[["1","2',
    '{"pairs":[["1","2"]],"version":1}',
    '{"pairs":[["1","2"]],"pairs":[["3","4"]]}',
    '{"state":"ALS_MODEL","pairs":[["1","2"]]}',
    '{"pairs" [["1","2"]]}',
    '{"pair":[["1","2"]]}',
    '{"pairs":[["\\u0031","2"]]}',
    '{"pairs":[["\\"","2"]]}',
    '{"pairs":[["MEAN","2"]]}',
    '{"pairs":[["1","2"],["3","MEAN"]]}',
    '{"pairs":[["ü","2"]]}',
    '{"pairs":[["\u0001","2"]]}',
    '{"pairs":[["\u007f","2"]]}',
    "{'pairs':[['1','2']]}",
    '\ufeff{"pairs":[["1","2"]]}',
    '{"pairs":\u00a0[["1","2"]]}',
  ])('leaves %s to the JSON parser', (text) => {
    expect(scanned(text)).toBeUndefined()
  })
})

/** The pairs of a body as JSON and the schema of the route have them; undefined for what they refuse. */
function parsed(text: string): (readonly [string, string])[] | undefined {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof body !== 'object' || body === null || Object.keys(body).join() !== 'pairs') return
  const { pairs } = body as { readonly pairs: unknown }
  const isId = (id: unknown): boolean =>
    typeof id === 'string' && id.length >= 1 && id.length <= 1024
  const isPair = (pair: unknown): boolean =>
    Array.isArray(pair) && pair.length === 2 && pair.every(isId)
  if (!Array.isArray(pairs) || pairs.length < 1 || pairs.length > 4096) return undefined
  if (!pairs.every(isPair)) return undefined
  return pairs.map(([user, item]: readonly string[]) => [`${user}-U`, `${item}-I`] as const)
}

const PIECES = [
  ...[
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '"pairs"',
    '"pair"',
    '\\',
    '\\u0031',
    '\\"',
    '\\n',
    'é',
    '\u{1f600}',
  ],
  ...[
    '1e5',
    '-0',
    '1e999',
    '123456789012345678901',
    'null',
    'true',
    ' ',
    '\n',
    '\t',
    '\r',
    '\u000b',
    '\u0000',
  ],
  ...['["1","2"]', ',["3","4"]', '"pairs":[["5","6"]],', '"__proto__":1,'],
]

describe('what the scanner accepts', () => {
  it('is what JSON and the schema accept, with the same pairs, for random bodies', () => {
    const seed = commitSeed()
    const random = seededRandom(seed)
    const any = <T>(list: readonly T[]): T => list[random.below(list.length)]!
    const space = (): string => (random.below(4) === 0 ? any([' ', '\n', '\t ', '\r\n']) : '')
    const id = (): string => `"${any(['1', '50', 'a b', "x'y", '{}', '[,]', '~', '0'])}"`
    let accepted = 0
    for (let n = 0; n < 3000; n++) {
      const pairs = Array.from(
        { length: 1 + random.below(3) },
        () => `[${space()}${id()}${space()},${id()}${space()}]`,
      )
      let text = `${space()}{${space()}"pairs"${space()}:[${pairs.join(`${space()},`)}]${space()}}${space()}`
      // Most bodies have one or two errors: a piece too many, too few, or another.
      for (let errors = random.below(3); errors > 0; errors--) {
        const at = random.below(text.length + 1)
        text =
          text.slice(0, at) +
          (random.below(3) === 0 ? '' : any(PIECES)) +
          text.slice(at + random.below(3))
      }
      const found = scanned(text)
      if (found === undefined) continue
      accepted++
      expect(found, `WEIR_SEED=${seed}: ${JSON.stringify(text)}`).toEqual(parsed(text))
    }
    expect(accepted).toBeGreaterThan(500)
  })
})
