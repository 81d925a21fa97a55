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
