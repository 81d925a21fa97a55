import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../src/core/random.ts'
import { codeOf, type ReaderUnderTest, unwrap } from './reader-under-test.ts'

/** Contract of top-k. */
export function topKContract(under: ReaderUnderTest): void {
  describe('top-k', () => {
    const fill = (count: number): Map<string, number[]> => {
      const random = seededRandom(5)
      const rows = new Map<string, number[]>()
      for (let i = 0; i < count; i++) {
        const vector = Array.from({ length: 4 }, () => Math.fround(random.normal()))
        rows.set(`${i}-I`, vector)
        under.world.put(`${i}-I`, vector)
      }
      return rows
    }
    const best = (rows: Map<string, number[]>, query: readonly number[], k: number): string[] =>
      [...rows]
        .map(([key, v]) => ({ key, score: v.reduce((sum, x, i) => sum + x * query[i]!, 0) }))
        .sort((a, b) => b.score - a.score)
        .slice(0, k)
        .map(({ key }) => key)

    test('finds the rows with the largest products with a row, over all slots', async () => {
      const rows = fill(300)
      const user = [1, -0.5, 0.25, 2]
      under.world.put('1-U', user)
      const answer = await under.reader.topK('ALS_MODEL', '1-U', { k: 10, suffix: '-I' })
      const found = unwrap(answer)
      expect(found.map(({ key }) => key)).toEqual(best(rows, user, 10))
      expect(found[0]!.score).toBeCloseTo(
        rows.get(found[0]!.key)!.reduce((sum, x, i) => sum + x * user[i]!, 0),
        4,
      )
    })

    test('accepts a vector, leaves out excluded keys, and returns fewer when there are fewer', async () => {
      const rows = fill(20)
      const query = [1, 1, 1, 1]
      const [first, second] = best(rows, query, 2)
      const vector = Float32Array.from(query)
      const options = { k: 100, suffix: '-I', exclude: [first!] }
      const found = unwrap(await under.reader.topK('ALS_MODEL', vector, options))
      expect(found).toHaveLength(19)
      expect(found[0]!.key).toBe(second)
    })

    test('divides scores by the norm of the first floats of each row', async () => {
      const rows = fill(300)
      rows.set('zero-I', [0, 0, 0, 5])
      under.world.put('zero-I', [0, 0, 0, 5])
      const query = [0.6, 0, 0.8, 0]
      const norm = (v: readonly number[]) => Math.hypot(v[0]!, v[1]!, v[2]!)
      const expected = [...rows]
        .map(([key, v]) => ({ key, score: (v[0]! * 0.6 + v[2]! * 0.8) / (norm(v) || 1) }))
        .sort((a, b) => b.score - a.score)
      const vector = Float32Array.from(query)
      const options = { k: 301, suffix: '-I', normColumns: 3 }
      const [divided, plain] = await Promise.all([
        under.reader.topK('ALS_MODEL', vector, options),
        under.reader.topK('ALS_MODEL', vector, { k: 1, suffix: '-I' }),
      ])
      const found = unwrap(divided)
      expect(found.slice(0, 20).map(({ key }) => key)).toEqual(
        expected.slice(0, 20).map(({ key }) => key),
      )
      expect(found[0]!.score).toBeCloseTo(expected[0]!.score, 5)
      expect(found.find(({ key }) => key === 'zero-I')?.score).toBe(0)
      expect(unwrap(plain)[0]!.key).toBe(best(rows, query, 1)[0])
      for (const normColumns of [0, 5]) {
        const wrong = under.reader.topK('ALS_MODEL', vector, { k: 1, normColumns })
        expect(codeOf(await wrong)).toBe('INVALID_ARGUMENT')
      }
    })

    test('uses a cold row for an unknown one', async () => {
      const rows = fill(50)
      under.world.put('1-U', [0, 2, 0, 0])
      const options = { k: 3, suffix: '-I', cold: 'MEAN-U' }
      const found = unwrap(await under.reader.topK('ALS_MODEL', '99-U', options))
      expect(found.map(({ key }) => key)).toEqual(best(rows, [0, 2, 0, 0], 3))
    })

    test('of an unknown row without a cold one is UNKNOWN_KEY', async () => {
      fill(5)
      expect(codeOf(await under.reader.topK('ALS_MODEL', '9-U', { k: 3 }))).toBe('UNKNOWN_KEY')
    })

    describe('with rules over tags', () => {
      const query = [1, 0.5, -0.5, 0.25]
      const vector = Float32Array.from(query)
      /** Bits of the tags, on both halves of the 64. */
      const BITS = { DE: 0, FR: 31, SOLD_OUT: 32, NEW: 63 }
      type Tag = keyof typeof BITS

      /** Rows of which a third is sold in DE, half in FR, a fifth is sold out, a twentieth is new, and some have no tags. */
      const tagged = (): { rows: Map<string, number[]>; tags: Map<string, Set<Tag>> } => {
        const rows = fill(400)
        const tags = new Map<string, Set<Tag>>()
        for (const [name, bit] of Object.entries(BITS)) under.world.nameTag(name, bit)
        let i = 0
        for (const key of rows.keys()) {
          const has = new Set<Tag>()
          if (i % 3 === 0) has.add('DE')
          if (i % 2 === 0) has.add('FR')
          if (i % 5 === 0) has.add('SOLD_OUT')
          if (i % 20 === 1) has.add('NEW')
          tags.set(key, has)
          if (has.size > 0) under.world.tag(key, ...[...has].map((tag) => BITS[tag]))
          i++
        }
        return { rows, tags }
      }

      test.each<[Tag[], Tag[]]>([
        [['DE'], []],
        [['DE'], ['SOLD_OUT']],
        [
          ['DE', 'NEW'],
          ['SOLD_OUT', 'FR'],
        ],
        [[], ['FR']],
        [['NEW'], []],
        [[], []],
      ])(
        'any of %j and none of %j are the best of the rows that may be in the list',
        async (anyOf, noneOf) => {
          const { rows, tags } = tagged()
          const allowed = new Map(
            [...rows].filter(([key]) => {
              const has = tags.get(key)!
              return (
                (anyOf.length === 0 || anyOf.some((tag) => has.has(tag))) &&
                !noneOf.some((tag) => has.has(tag))
              )
            }),
          )
          const options = { k: 15, suffix: '-I', where: { anyOf, noneOf } }
          const found = unwrap(await under.reader.topK('ALS_MODEL', vector, options))
          expect(found.map(({ key }) => key)).toEqual(best(allowed, query, 15))
        },
      )

      test.each<[number, Tag[]]>([
        [10, []],
        [10, ['SOLD_OUT']],
        [400, []],
      ])(
        'and boosts are the %i best by their boosted scores, none of %j among them',
        async (k, noneOf) => {
          const { rows, tags } = tagged()
          const boost: Readonly<Record<string, number>> = { NEW: 2.5, FR: 0.5, DE: 1.3 }
          const boostedScore = (key: string, row: readonly number[]): number => {
            const score = row.reduce((sum, x, i) => sum + x * query[i]!, 0)
            const factors = Object.entries(boost).map(([tag, factor]) =>
              tags.get(key)!.has(tag as Tag) ? factor : 1,
            )
            const factor = factors.reduce((product, one) => product * one, 1)
            return score >= 0 ? score * factor : score / factor
          }
          const expected = [...rows]
            .filter(([key]) => !noneOf.some((tag) => tags.get(key)!.has(tag)))
            .map(([key, row]) => ({ key, score: boostedScore(key, row) }))
            .sort((a, b) => b.score - a.score)
            .slice(0, k)
          const options = { k, suffix: '-I', where: { noneOf, boost } }
          const found = unwrap(await under.reader.topK('ALS_MODEL', vector, options))
          expect(found.map(({ key }) => key)).toEqual(expected.map(({ key }) => key))
          for (const [i, { score }] of found.entries()) {
            expect(score).toBeCloseTo(expected[i]!.score, 4)
          }
          const among = { ...options, among: [...rows.keys()] }
          const same = unwrap(await under.reader.topK('ALS_MODEL', vector, among))
          expect(same.map(({ key }) => key)).toEqual(expected.map(({ key }) => key))
        },
      )

      test('and boosts of cosines boost these', async () => {
        const { tags } = tagged()
        const options = { k: 400, suffix: '-I', normColumns: 4 }
        const plain = unwrap(await under.reader.topK('ALS_MODEL', vector, options))
        const where = { boost: { NEW: 2 } }
        const found = unwrap(await under.reader.topK('ALS_MODEL', vector, { ...options, where }))
        const scores = new Map(plain.map(({ key, score }) => [key, score]))
        for (const { key, score } of found) {
          const factor = tags.get(key)!.has('NEW') ? 2 : 1
          const cosine = scores.get(key)!
          expect(score).toBeCloseTo(cosine >= 0 ? cosine * factor : cosine / factor, 4)
        }
      })

      test.each([
        [{ NEW: 0 }, 'INVALID_ARGUMENT'],
        [{ NEW: 101 }, 'INVALID_ARGUMENT'],
        [Object.fromEntries([...Array(9).keys()].map((n) => [`T${n}`, 2])), 'INVALID_ARGUMENT'],
        [{ NEWS: 2 }, 'UNKNOWN_TAG'],
      ])('and the boosts %j are refused', async (boost, code) => {
        tagged()
        const options = { k: 1, where: { boost } }
        const refused = async (): Promise<unknown> =>
          codeOf(await under.reader.topK('ALS_MODEL', vector, options))
        // A client refuses a factor before it asks.
        expect(await refused().catch((error) => error.code)).toBe(code)
      })

      test('in flight beside others without have their own lists', async () => {
        const { rows, tags } = tagged()
        const inGermany = new Map([...rows].filter(([key]) => tags.get(key)!.has('DE')))
        const options = { k: 5, suffix: '-I' }
        const [plain, ruled] = await Promise.all([
          under.reader.topK('ALS_MODEL', vector, options),
          under.reader.topK('ALS_MODEL', vector, { ...options, where: { anyOf: ['DE'] } }),
        ])
        expect(unwrap(plain).map(({ key }) => key)).toEqual(best(rows, query, 5))
        expect(unwrap(ruled).map(({ key }) => key)).toEqual(best(inGermany, query, 5))
      })

      test('hold from the next list on when tags change', async () => {
        const { rows } = tagged()
        const [first, second] = best(rows, query, 2)
        under.world.tag(first!, BITS.SOLD_OUT)
        const options = { k: 400, suffix: '-I', where: { noneOf: ['SOLD_OUT'] } }
        const without = unwrap(await under.reader.topK('ALS_MODEL', vector, options))
        expect(without.map(({ key }) => key)).not.toContain(first)
        under.world.tag(first!)
        under.world.tag(second!, BITS.SOLD_OUT)
        const after = unwrap(await under.reader.topK('ALS_MODEL', vector, options))
        expect(after[0]!.key).toBe(first)
        expect(after.map(({ key }) => key)).not.toContain(second)
      })

      test('of an unknown tag are UNKNOWN_TAG with the known ones', async () => {
        tagged()
        const options = { k: 5, suffix: '-I', where: { noneOf: ['SOLDOUT'] } }
        const answer = await under.reader.topK('ALS_MODEL', vector, options)
        expect(answer).toMatchObject({ ok: false, error: { code: 'UNKNOWN_TAG' } })
        const { error } = answer as Extract<typeof answer, { ok: false }>
        expect(error.message).toContain('known tags: DE, FR, NEW, SOLD_OUT')
        expect(error.message).toContain('did you mean "SOLD_OUT"?')
      })
    })

    test('among given keys finds the best of those that exist and are not excluded', async () => {
      const rows = fill(200)
      const query = [1, 0.5, -0.5, 0.25]
      const all = best(rows, query, 200)
      const among = [...all.slice(90, 120), 'missing-I', 'MEAN-I', all[90]!, '1-U']
      const options = { k: 5, suffix: '-I', exclude: [all[91]!], among }
      const found = unwrap(await under.reader.topK('ALS_MODEL', Float32Array.from(query), options))
      expect(found.map(({ key }) => key)).toEqual([90, 92, 93, 94, 95].map((at) => all[at]))
      const none = { k: 5, among: [] }
      expect(unwrap(await under.reader.topK('ALS_MODEL', Float32Array.from(query), none))).toEqual(
        [],
      )
    })

    test('among more than 10,000 keys is INVALID_ARGUMENT', async () => {
      fill(5)
      const among = Array.from({ length: 10_001 }, (_, i) => `${i}-I`)
      const answer = under.reader.topK('ALS_MODEL', new Float32Array(4), { k: 1, among })
      expect(codeOf(await answer)).toBe('INVALID_ARGUMENT')
    })

    test('skips removed rows', async () => {
      const rows = fill(30)
      const query = Float32Array.from([1, 0, 0, 0])
      const [first, second] = best(rows, [...query], 2)
      under.world.remove(first!)
      const found = unwrap(await under.reader.topK('ALS_MODEL', query, { k: 1, suffix: '-I' }))
      expect(found[0]!.key).toBe(second)
    })

    test('queries in flight together get their own answers', async () => {
      const rows = fill(200)
      const queries = Array.from({ length: 20 }, (_, i) => [1, i / 10, -1, i / 20])
      const answers = await Promise.all(
        queries.map((query) =>
          under.reader.topK('ALS_MODEL', Float32Array.from(query), { k: 5, suffix: '-I' }),
        ),
      )
      answers.forEach((answer, i) => {
        expect(unwrap(answer).map(({ key }) => key)).toEqual(best(rows, queries[i]!, 5))
      })
    })

    test('a vector of another dimension is DIMENSION_MISMATCH', async () => {
      fill(5)
      const answer = await under.reader.topK('ALS_MODEL', new Float32Array(3), {
        k: 1,
        suffix: '-I',
      })
      expect(codeOf(answer)).toBe('DIMENSION_MISMATCH')
    })
  })
}
