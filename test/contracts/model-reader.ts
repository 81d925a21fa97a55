import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import type { ErrorCode } from '../../src/core/errors.ts'
import { seededRandom } from '../../src/core/random.ts'
import type { Answer, ModelReader } from '../../src/wire/model-reader.ts'
import { BLOCK, ModelWorld } from './model-reader-world.ts'

/** A reader that a contract looks at, and how to be rid of it. */
export interface ConnectedReader {
  readonly reader: ModelReader
  close(): Promise<void> | void
}

const unwrap = <T>(answer: Answer<T>): T => {
  if (answer.ok) return answer.value
  throw answer.error
}

const codeOf = (answer: Answer<unknown>): ErrorCode | 'ok' => (answer.ok ? 'ok' : answer.error.code)

const floats = (bytes: Uint8Array): number[] => [...new Float32Array(bytes.slice().buffer)]

/** What every ModelReader keeps to; `connect` gives one that reads the world. */
export function modelReaderContract(
  name: string,
  connect: (world: ModelWorld) => Promise<ConnectedReader> | ConnectedReader,
): void {
  describe(`${name} as a model reader`, () => {
    let world: ModelWorld
    let connected: ConnectedReader
    let reader: ModelReader

    const use = async (fresh: ModelWorld): Promise<void> => {
      world = fresh
      connected = await connect(world)
      reader = connected.reader
    }

    beforeEach(() => use(new ModelWorld()))

    afterEach(async () => {
      await connected.close()
      world.close()
    })

    describe('rows', () => {
      test('come in the order of the keys, a missing one as UNKNOWN_KEY', async () => {
        world.put('1-U', [1, 2, 3, 4])
        world.put('2-U', [5, 6, 7, 8])
        const answers = await reader.rows('ALS_MODEL', ['2-U', '9-U', '1-U'])
        expect([...unwrap(answers[0]!)]).toEqual([5, 6, 7, 8])
        expect(codeOf(answers[1]!)).toBe('UNKNOWN_KEY')
        expect([...unwrap(answers[2]!)]).toEqual([1, 2, 3, 4])
      })

      test('carry version, position and checkpoint', async () => {
        world.completeCheckpoint()
        world.put('1-U', [1, 2, 3, 4])
        world.put('2-U', [1, 2, 3, 4])
        const [answer] = await reader.rows('ALS_MODEL', ['2-U'])
        expect(answer).toMatchObject({
          ok: true,
          envelope: { modelVersion: 1, partition: 0, offset: 1, checkpointId: 1 },
        })
      })

      test('of a key whose suffix no state has do not exist', async () => {
        const [answer] = await reader.rows('ALS_MODEL', ['1-X'])
        expect(codeOf(answer!)).toBe('UNKNOWN_KEY')
      })

      test('that were removed do not exist', async () => {
        world.put('1-U', [1, 2, 3, 4])
        world.remove('1-U')
        const [answer] = await reader.rows('ALS_MODEL', ['1-U'])
        expect(codeOf(answer!)).toBe('UNKNOWN_KEY')
      })

      test('under the mean key are the mean over all slots', async () => {
        for (let i = 0; i < 10; i++) world.put(`${i}-U`, [i, 2 * i, 1, 0])
        world.put('9-U', [0, 0, 1, 0])
        const [answer] = await reader.rows('ALS_MODEL', ['MEAN-U'])
        expect(unwrap(answer!)[0]).toBeCloseTo(3.6, 5)
        expect(unwrap(answer!)[1]).toBeCloseTo(7.2, 5)
        expect(unwrap(answer!)[2]).toBe(1)
      })
    })

    describe('names and versions', () => {
      test('an unknown state is UNKNOWN_STATE', async () => {
        await expect(reader.rows('NOTHING', ['1-U'])).rejects.toMatchObject({
          code: 'UNKNOWN_STATE',
        })
      })

      test('a version that is not loaded is UNKNOWN_VERSION', async () => {
        await expect(reader.rows('ALS_MODEL', ['1-U'], { version: 7 })).rejects.toMatchObject({
          code: 'UNKNOWN_VERSION',
        })
      })

      test('the live version is read unless another is named', async () => {
        world.put('1-U', [1, 0, 0, 0])
        world.put('1-U', [2, 0, 0, 0], 2)
        const first = await reader.rows('ALS_MODEL', ['1-U'])
        const named = await reader.rows('ALS_MODEL', ['1-U'], { version: 2 })
        world.board.setLiveVersion(0, 2)
        const second = await reader.rows('ALS_MODEL', ['1-U'])
        const seen = [first, named, second].map(([answer]) => unwrap(answer!)[0])
        expect(seen).toEqual([1, 2, 2])
      })

      test('a version that was dropped is UNKNOWN_VERSION', async () => {
        world.put('1-U', [2, 0, 0, 0], 2)
        world.dropVersion(2)
        await expect(reader.rows('ALS_MODEL', ['1-U'], { version: 2 })).rejects.toMatchObject({
          code: 'UNKNOWN_VERSION',
        })
      })
    })

    describe('predictions', () => {
      test('are inner products of rows of any two slots', async () => {
        for (let i = 0; i < 8; i++) {
          world.put(`${i}-U`, [i, 1, 0, 2])
          world.put(`${i}-I`, [1, i, 5, 3])
        }
        for (let i = 0; i < 8; i++) {
          const prediction = await reader.predict('ALS_MODEL', `${i}-U`, '3-I')
          expect(prediction).toEqual({ score: i + 3 + 6, leftCold: false, rightCold: false })
        }
      })

      test('of an unknown row fail with UNKNOWN_KEY', async () => {
        world.put('1-U', [1, 1, 1, 1])
        await expect(reader.predict('ALS_MODEL', '1-U', '1-I')).rejects.toMatchObject({
          code: 'UNKNOWN_KEY',
        })
      })

      test('of an unknown row use the cold row, and say so', async () => {
        world.put('1-U', [1, 1, 1, 1])
        world.put('2-U', [3, 1, 1, 1])
        world.put('1-I', [2, 0, 0, 0])
        const options = { coldLeft: 'MEAN-U', coldRight: 'MEAN-I' }
        expect(await reader.predict('ALS_MODEL', '7-U', '1-I', options)).toEqual({
          score: 4,
          leftCold: true,
          rightCold: false,
        })
        expect(await reader.predict('ALS_MODEL', '2-U', '7-I', options)).toEqual({
          score: 6,
          leftCold: false,
          rightCold: true,
        })
      })

      test('that wait together are answered each by its own', async () => {
        for (let i = 0; i < 50; i++) world.put(`${i}-U`, [i, 0, 0, 0])
        world.put('0-I', [2, 0, 0, 0])
        const keys = Array.from({ length: 50 }, (_, i) => `${i}-U`)
        const found = await Promise.all(keys.map((key) => reader.predict('ALS_MODEL', key, '0-I')))
        expect(found.map(({ score }) => score)).toEqual(keys.map((_, i) => 2 * i))
      })

      test('with an envelope tell position and server', async () => {
        world.put('1-U', [1, 1, 1, 1])
        world.put('1-I', [1, 1, 1, 1])
        const answer = await reader.predictWithEnvelope('ALS_MODEL', '1-U', '1-I')
        expect(answer).toMatchObject({
          ok: true,
          value: { score: 4 },
          envelope: { modelVersion: 1, partition: 0, offset: 0 },
        })
        expect(answer.ok && answer.envelope.servedBy).toMatch(/\/[01]$/)
      })
    })

    describe('consistency', () => {
      test('checkpoint reads the last completed one, whatever was written since', async () => {
        world.put('1-U', [1, 0, 0, 0])
        world.put('2-U', [2, 0, 0, 0])
        world.completeCheckpoint()
        world.put('1-U', [9, 9, 9, 9])
        world.remove('2-U')
        world.put('3-U', [3, 0, 0, 0])
        const options = { consistency: { level: 'checkpoint' } } as const
        const answers = await reader.rows('ALS_MODEL', ['1-U', '2-U', '3-U'], options)
        expect([...unwrap(answers[0]!)]).toEqual([1, 0, 0, 0])
        expect([...unwrap(answers[1]!)]).toEqual([2, 0, 0, 0])
        expect(codeOf(answers[2]!)).toBe('UNKNOWN_KEY')
        world.completeCheckpoint()
        const later = await reader.rows('ALS_MODEL', ['1-U', '2-U', '3-U'], options)
        expect([...unwrap(later[0]!)]).toEqual([9, 9, 9, 9])
        expect(codeOf(later[1]!)).toBe('UNKNOWN_KEY')
        expect([...unwrap(later[2]!)]).toEqual([3, 0, 0, 0])
      })

      test('checkpoint holds for predictions and means', async () => {
        world.put('1-U', [1, 0, 0, 0])
        world.put('1-I', [2, 0, 0, 0])
        world.completeCheckpoint()
        world.put('1-U', [10, 0, 0, 0])
        world.put('1-I', [20, 0, 0, 0])
        const options = { consistency: { level: 'checkpoint' } } as const
        expect(await reader.predict('ALS_MODEL', '1-U', '1-I', options)).toMatchObject({ score: 2 })
        expect(await reader.predict('ALS_MODEL', 'MEAN-U', '1-I', options)).toMatchObject({
          score: 2,
        })
      })

      test('checkpoint before the first one is NOT_UP_TO_BOUND', async () => {
        world.put('1-U', [1, 0, 0, 0])
        const options = { consistency: { level: 'checkpoint' }, deadlineMs: 50 } as const
        await expect(reader.rows('ALS_MODEL', ['1-U'], options)).rejects.toMatchObject({
          code: 'NOT_UP_TO_BOUND',
        })
      })

      test('at-least waits until the owner has applied the position', async () => {
        world.put('1-U', [1, 0, 0, 0])
        const consistency = { level: 'at-least', partition: 0, offset: 5 } as const
        const asked = reader.rows('ALS_MODEL', ['1-U'], { consistency, deadlineMs: 10_000 })
        world.put('1-U', [2, 0, 0, 0])
        world.progress(6, systemClock.nowMs())
        const [answer] = await asked
        expect([...unwrap(answer!)]).toEqual([2, 0, 0, 0])
      })

      test('at-least fails with NOT_UP_TO_BOUND when the position does not come', async () => {
        world.put('1-U', [1, 0, 0, 0])
        world.progress(5, systemClock.nowMs())
        const consistency = { level: 'at-least', partition: 0, offset: 5 } as const
        const [answer] = await reader.rows('ALS_MODEL', ['1-U'], { consistency, deadlineMs: 30 })
        expect(codeOf(answer!)).toBe('NOT_UP_TO_BOUND')
      })

      test('bounded answers from an owner that is fresh enough', async () => {
        world.put('1-U', [1, 0, 0, 0])
        world.progress(1, systemClock.nowMs())
        const consistency = { level: 'bounded', maxAgeMs: 60_000 } as const
        const [answer] = await reader.rows('ALS_MODEL', ['1-U'], { consistency })
        expect([...unwrap(answer!)]).toEqual([1, 0, 0, 0])
      })

      test('bounded fails with NOT_UP_TO_BOUND when the owner is too far behind', async () => {
        world.put('1-U', [1, 0, 0, 0])
        world.progress(1, systemClock.nowMs() - 120_000)
        const consistency = { level: 'bounded', maxAgeMs: 60_000 } as const
        const [answer] = await reader.rows('ALS_MODEL', ['1-U'], { consistency, deadlineMs: 30 })
        expect(codeOf(answer!)).toBe('NOT_UP_TO_BOUND')
      })
    })

    describe('restore', () => {
      test('a row that is not there yet is RESTORING, one that is there is answered', async () => {
        world.put('1-U', [1, 0, 0, 0])
        world.beginRestore()
        const options = { deadlineMs: 50 }
        const during = await reader.rows('ALS_MODEL', ['1-U', '2-U'], options)
        expect([...unwrap(during[0]!)]).toEqual([1, 0, 0, 0])
        expect(codeOf(during[1]!)).toBe('RESTORING')
        world.endRestore()
        const after = await reader.rows('ALS_MODEL', ['2-U'])
        expect(codeOf(after[0]!)).toBe('UNKNOWN_KEY')
      })
    })

    describe('sparse products', () => {
      test('sum value times weight over blocks, and count features without a weight', async () => {
        world.put('0', [0, 1, 2, 3, 4, 5, 6, 7])
        world.put('2', [16, 17, 18, 19, 20, 21, 22, 23])
        const ids = Uint32Array.from([1, 7, BLOCK, BLOCK + 1, 2 * BLOCK + 4])
        const values = Float32Array.from([1, 2, 100, 100, 0.5])
        const answer = await reader.sparseDot('WEIGHTS', { ids, values })
        expect(unwrap(answer)).toEqual({ sum: 1 + 14 + 10, unknown: 2 })
      })
    })

    describe('top-k', () => {
      const fill = (count: number): Map<string, number[]> => {
        const random = seededRandom(5)
        const rows = new Map<string, number[]>()
        for (let i = 0; i < count; i++) {
          const vector = Array.from({ length: 4 }, () => Math.fround(random.normal()))
          rows.set(`${i}-I`, vector)
          world.put(`${i}-I`, vector)
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
        world.put('1-U', user)
        const answer = await reader.topK('ALS_MODEL', '1-U', { k: 10, suffix: '-I' })
        const found = unwrap(answer)
        expect(found.map(({ key }) => key)).toEqual(best(rows, user, 10))
        expect(found[0]!.score).toBeCloseTo(
          rows.get(found[0]!.key)!.reduce((sum, x, i) => sum + x * user[i]!, 0),
          4,
        )
      })

      test('takes a vector, leaves out excluded keys, and gives fewer when there are fewer', async () => {
        const rows = fill(20)
        const query = [1, 1, 1, 1]
        const [first, second] = best(rows, query, 2)
        const vector = Float32Array.from(query)
        const options = { k: 100, suffix: '-I', exclude: [first!] }
        const found = unwrap(await reader.topK('ALS_MODEL', vector, options))
        expect(found).toHaveLength(19)
        expect(found[0]!.key).toBe(second)
      })

      test('stands a cold row in for an unknown one', async () => {
        const rows = fill(50)
        world.put('1-U', [0, 2, 0, 0])
        const options = { k: 3, suffix: '-I', cold: 'MEAN-U' }
        const found = unwrap(await reader.topK('ALS_MODEL', '99-U', options))
        expect(found.map(({ key }) => key)).toEqual(best(rows, [0, 2, 0, 0], 3))
      })

      test('of an unknown row without a cold one is UNKNOWN_KEY', async () => {
        fill(5)
        expect(codeOf(await reader.topK('ALS_MODEL', '9-U', { k: 3 }))).toBe('UNKNOWN_KEY')
      })

      test('skips removed rows', async () => {
        const rows = fill(30)
        const query = Float32Array.from([1, 0, 0, 0])
        const [first, second] = best(rows, [...query], 2)
        world.remove(first!)
        const found = unwrap(await reader.topK('ALS_MODEL', query, { k: 1, suffix: '-I' }))
        expect(found[0]!.key).toBe(second)
      })

      test('queries that wait together are answered each by its own', async () => {
        const rows = fill(200)
        const queries = Array.from({ length: 20 }, (_, i) => [1, i / 10, -1, i / 20])
        const answers = await Promise.all(
          queries.map((query) =>
            reader.topK('ALS_MODEL', Float32Array.from(query), { k: 5, suffix: '-I' }),
          ),
        )
        answers.forEach((answer, i) => {
          expect(unwrap(answer).map(({ key }) => key)).toEqual(best(rows, queries[i]!, 5))
        })
      })

      test('a vector of another dimension is DIMENSION_MISMATCH', async () => {
        fill(5)
        const answer = await reader.topK('ALS_MODEL', new Float32Array(3), { k: 1, suffix: '-I' })
        expect(codeOf(answer)).toBe('DIMENSION_MISMATCH')
      })
    })

    describe('typed state and scans', () => {
      test('values come in the order of the keys', async () => {
        world.putCount('a', Uint8Array.of(1))
        world.putCount('c', Uint8Array.of(3))
        const answers = await reader.values('COUNTS', ['c', 'b', 'a'])
        expect([...unwrap(answers[0]!)]).toEqual([3])
        expect(codeOf(answers[1]!)).toBe('UNKNOWN_KEY')
        expect([...unwrap(answers[2]!)]).toEqual([1])
      })

      test('values of an unknown state are UNKNOWN_STATE', async () => {
        await expect(reader.values('NOTHING', ['a'])).rejects.toMatchObject({
          code: 'UNKNOWN_STATE',
        })
      })

      test('a scan merges the slots in key order, from inclusive, to exclusive', async () => {
        for (const key of ['a', 'b', 'c', 'd', 'e']) world.putCount(key, encoder.encode(key))
        const found = await reader.scan('COUNTS', { from: 'b', to: 'e', limit: 10 })
        expect(found.map(({ key }) => key)).toEqual(['b', 'c', 'd'])
        const limited = await reader.scan('COUNTS', { from: 'a', to: 'z', limit: 2 })
        expect(limited.map(({ key }) => key)).toEqual(['a', 'b'])
      })

      test('a scan of vector state gives floats as bytes', async () => {
        world.put('1-U', [1, 2, 3, 4])
        world.put('2-U', [5, 6, 7, 8])
        const found = await reader.scan('ALS_MODEL', { from: '1', to: '3', limit: 10 })
        expect(found.map(({ key, value }) => [key, floats(value)])).toEqual([
          ['1-U', [1, 2, 3, 4]],
          ['2-U', [5, 6, 7, 8]],
        ])
      })
    })

    describe('spilled rows', () => {
      beforeEach(async () => {
        await connected.close()
        world.close()
        await use(new ModelWorld(true))
        for (let i = 0; i < 120; i++) {
          world.put(`${i}-U`, [i, 1, 0, 0])
          world.put(`${i}-I`, [1, i, 0, 0])
        }
      })

      test('are read as those in memory', async () => {
        const keys = Array.from({ length: 120 }, (_, i) => `${i}-U`)
        const answers = await reader.rows('ALS_MODEL', keys)
        expect(answers.map((answer) => unwrap(answer)[0])).toEqual(keys.map((_, i) => i))
        expect(world.asked.length).toBeGreaterThan(0)
      })

      test('are multiplied as those in memory, and unknown ones stay unknown', async () => {
        const scores = await Promise.all(
          Array.from({ length: 120 }, (_, i) => reader.predict('ALS_MODEL', `${i}-U`, '7-I')),
        )
        expect(scores.map(({ score }) => score)).toEqual(scores.map((_, i) => i + 7))
        await expect(reader.predict('ALS_MODEL', '500-U', '7-I')).rejects.toMatchObject({
          code: 'UNKNOWN_KEY',
        })
        const cold = await reader.predict('ALS_MODEL', '500-U', '7-I', { coldLeft: 'MEAN-U' })
        expect(cold).toEqual({ score: 59.5 + 7, leftCold: true, rightCold: false })
      })

      test('are read at the last checkpoint', async () => {
        world.completeCheckpoint()
        for (let i = 0; i < 120; i++) world.put(`${i}-U`, [-1, 0, 0, 0])
        const keys = Array.from({ length: 120 }, (_, i) => `${i}-U`)
        const consistency = { level: 'checkpoint' } as const
        const answers = await reader.rows('ALS_MODEL', keys, { consistency })
        expect(answers.map((answer) => unwrap(answer)[0])).toEqual(keys.map((_, i) => i))
      })

      test('take part in top-k', async () => {
        const query = Float32Array.from([0, 1, 0, 0])
        const found = unwrap(await reader.topK('ALS_MODEL', query, { k: 3, suffix: '-I' }))
        expect(found.map(({ key }) => key)).toEqual(['119-I', '118-I', '117-I'])
      })
    })
  })
}

const encoder = new TextEncoder()
