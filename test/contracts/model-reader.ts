import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { consistencyContract } from './consistency.ts'
import { BLOCK, ModelWorld } from './model-reader-world.ts'
import { type ConnectReader, codeOf, ReaderUnderTest, unwrap } from './reader-under-test.ts'
import { storedStateContract } from './stored-state.ts'
import { topKContract } from './top-k.ts'

/** Contract of every `ModelReader`. `connect` returns one that reads the world. */
export function modelReaderContract(name: string, connect: ConnectReader): void {
  describe(`${name} as a model reader`, () => {
    const under = new ReaderUnderTest(connect)
    beforeEach(() => under.use(new ModelWorld()))
    afterEach(() => under.close())

    consistencyContract(under)
    topKContract(under)
    storedStateContract(under)

    describe('rows', () => {
      test('come in the order of the keys, with UNKNOWN_KEY for a missing one', async () => {
        under.world.put('1-U', [1, 2, 3, 4])
        under.world.put('2-U', [5, 6, 7, 8])
        const answers = await under.reader.rows('ALS_MODEL', ['2-U', '9-U', '1-U'])
        expect([...unwrap(answers[0]!)]).toEqual([5, 6, 7, 8])
        expect(codeOf(answers[1]!)).toBe('UNKNOWN_KEY')
        expect([...unwrap(answers[2]!)]).toEqual([1, 2, 3, 4])
      })

      test('have version, position and checkpoint', async () => {
        under.world.completeCheckpoint()
        under.world.put('1-U', [1, 2, 3, 4])
        under.world.put('2-U', [1, 2, 3, 4])
        const [answer] = await under.reader.rows('ALS_MODEL', ['2-U'])
        expect(answer).toMatchObject({
          ok: true,
          envelope: { modelVersion: 1, partition: 0, offset: 1, checkpointId: 1 },
        })
      })

      test('of a key whose suffix no state has do not exist', async () => {
        const [answer] = await under.reader.rows('ALS_MODEL', ['1-X'])
        expect(codeOf(answer!)).toBe('UNKNOWN_KEY')
      })

      test('that were removed do not exist', async () => {
        under.world.put('1-U', [1, 2, 3, 4])
        under.world.remove('1-U')
        const [answer] = await under.reader.rows('ALS_MODEL', ['1-U'])
        expect(codeOf(answer!)).toBe('UNKNOWN_KEY')
      })

      test('under the mean key are the mean over all slots', async () => {
        for (let i = 0; i < 10; i++) under.world.put(`${i}-U`, [i, 2 * i, 1, 0])
        under.world.put('9-U', [0, 0, 1, 0])
        const [answer] = await under.reader.rows('ALS_MODEL', ['MEAN-U'])
        expect(unwrap(answer!)[0]).toBeCloseTo(3.6, 5)
        expect(unwrap(answer!)[1]).toBeCloseTo(7.2, 5)
        expect(unwrap(answer!)[2]).toBe(1)
      })
    })

    describe('names and versions', () => {
      test('an unknown state is UNKNOWN_STATE', async () => {
        await expect(under.reader.rows('NOTHING', ['1-U'])).rejects.toMatchObject({
          code: 'UNKNOWN_STATE',
        })
      })

      test('a version that is not loaded is UNKNOWN_VERSION', async () => {
        await expect(under.reader.rows('ALS_MODEL', ['1-U'], { version: 7 })).rejects.toMatchObject(
          {
            code: 'UNKNOWN_VERSION',
          },
        )
      })

      test('the live version is read unless another is named', async () => {
        under.world.put('1-U', [1, 0, 0, 0])
        under.world.put('1-U', [2, 0, 0, 0], 2)
        const first = await under.reader.rows('ALS_MODEL', ['1-U'])
        const named = await under.reader.rows('ALS_MODEL', ['1-U'], { version: 2 })
        under.world.board.setLiveVersion(0, 2)
        const second = await under.reader.rows('ALS_MODEL', ['1-U'])
        const seen = [first, named, second].map(([answer]) => unwrap(answer!)[0])
        expect(seen).toEqual([1, 2, 2])
      })

      test('a version that was dropped is UNKNOWN_VERSION', async () => {
        under.world.put('1-U', [2, 0, 0, 0], 2)
        under.world.dropVersion(2)
        await expect(under.reader.rows('ALS_MODEL', ['1-U'], { version: 2 })).rejects.toMatchObject(
          {
            code: 'UNKNOWN_VERSION',
          },
        )
      })
    })

    describe('predictions', () => {
      test('are inner products of rows of any two slots', async () => {
        for (let i = 0; i < 8; i++) {
          under.world.put(`${i}-U`, [i, 1, 0, 2])
          under.world.put(`${i}-I`, [1, i, 5, 3])
        }
        for (let i = 0; i < 8; i++) {
          const prediction = await under.reader.predict('ALS_MODEL', `${i}-U`, '3-I')
          expect(prediction).toEqual({ score: i + 3 + 6, leftCold: false, rightCold: false })
        }
      })

      test('of an unknown row fail with UNKNOWN_KEY', async () => {
        under.world.put('1-U', [1, 1, 1, 1])
        await expect(under.reader.predict('ALS_MODEL', '1-U', '1-I')).rejects.toMatchObject({
          code: 'UNKNOWN_KEY',
        })
      })

      test('of an unknown row use the cold row, and report it', async () => {
        under.world.put('1-U', [1, 1, 1, 1])
        under.world.put('2-U', [3, 1, 1, 1])
        under.world.put('1-I', [2, 0, 0, 0])
        const options = { coldLeft: 'MEAN-U', coldRight: 'MEAN-I' }
        expect(await under.reader.predict('ALS_MODEL', '7-U', '1-I', options)).toEqual({
          score: 4,
          leftCold: true,
          rightCold: false,
        })
        expect(await under.reader.predict('ALS_MODEL', '2-U', '7-I', options)).toEqual({
          score: 6,
          leftCold: false,
          rightCold: true,
        })
      })

      test('in flight together get their own answers', async () => {
        for (let i = 0; i < 50; i++) under.world.put(`${i}-U`, [i, 0, 0, 0])
        under.world.put('0-I', [2, 0, 0, 0])
        const keys = Array.from({ length: 50 }, (_, i) => `${i}-U`)
        const found = await Promise.all(
          keys.map((key) => under.reader.predict('ALS_MODEL', key, '0-I')),
        )
        expect(found.map(({ score }) => score)).toEqual(keys.map((_, i) => 2 * i))
      })

      test('with an envelope have position and server', async () => {
        under.world.put('1-U', [1, 1, 1, 1])
        under.world.put('1-I', [1, 1, 1, 1])
        const answer = await under.reader.predictWithEnvelope('ALS_MODEL', '1-U', '1-I')
        expect(answer).toMatchObject({
          ok: true,
          value: { score: 4 },
          envelope: { modelVersion: 1, partition: 0, offset: 0 },
        })
        expect(answer.ok && answer.envelope.servedBy).toMatch(/\/[01]$/)
      })
    })

    describe('sparse products', () => {
      test('sum value times weight over blocks, and count features without a weight', async () => {
        under.world.put('0', [0, 1, 2, 3, 4, 5, 6, 7])
        under.world.put('2', [16, 17, 18, 19, 20, 21, 22, 23])
        const ids = Uint32Array.from([1, 7, BLOCK, BLOCK + 1, 2 * BLOCK + 4])
        const values = Float32Array.from([1, 2, 100, 100, 0.5])
        const answer = await under.reader.sparseDot('WEIGHTS', { ids, values })
        expect(unwrap(answer)).toEqual({ sum: 1 + 14 + 10, unknown: 2 })
      })

      test('take ids in any order, and add up the values of an id that comes again', async () => {
        under.world.put('0', [0, 1, 2, 3, 4, 5, 6, 7])
        const ids = Uint32Array.from([7, 3, BLOCK, 7])
        const values = Float32Array.from([1, 2, 4, 0.5])
        const given = [ids.slice(), values.slice()]
        const answer = await under.reader.sparseDot('WEIGHTS', { ids, values })
        expect(unwrap(answer)).toEqual({ sum: 1.5 * 7 + 2 * 3, unknown: 1 })
        expect([ids, values]).toEqual(given)
      })
    })
  })
}
