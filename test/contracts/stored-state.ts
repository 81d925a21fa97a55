import { beforeEach, describe, expect, test } from 'vitest'
import { ModelWorld } from './model-reader-world.ts'
import { codeOf, floats, type ReaderUnderTest, unwrap } from './reader-under-test.ts'

const encoder = new TextEncoder()

/** Contract of typed state, scans and spilled rows. */
export function storedStateContract(under: ReaderUnderTest): void {
  describe('typed state and scans', () => {
    test('values come in the order of the keys', async () => {
      under.world.putCount('a', Uint8Array.of(1))
      under.world.putCount('c', Uint8Array.of(3))
      const answers = await under.reader.values('COUNTS', ['c', 'b', 'a'])
      expect([...unwrap(answers[0]!)]).toEqual([3])
      expect(codeOf(answers[1]!)).toBe('UNKNOWN_KEY')
      expect([...unwrap(answers[2]!)]).toEqual([1])
    })

    test('values of an unknown state are UNKNOWN_STATE', async () => {
      await expect(under.reader.values('NOTHING', ['a'])).rejects.toMatchObject({
        code: 'UNKNOWN_STATE',
      })
    })

    test('a scan merges the slots in key order; from is inclusive, to is exclusive', async () => {
      for (const key of ['a', 'b', 'c', 'd', 'e']) under.world.putCount(key, encoder.encode(key))
      const found = await under.reader.scan('COUNTS', { from: 'b', to: 'e', limit: 10 })
      expect(found.map(({ key }) => key)).toEqual(['b', 'c', 'd'])
      const limited = await under.reader.scan('COUNTS', { from: 'a', to: 'z', limit: 2 })
      expect(limited.map(({ key }) => key)).toEqual(['a', 'b'])
    })

    test('a scan of vector state returns floats as bytes', async () => {
      under.world.put('1-U', [1, 2, 3, 4])
      under.world.put('2-U', [5, 6, 7, 8])
      const found = await under.reader.scan('ALS_MODEL', { from: '1', to: '3', limit: 10 })
      expect(found.map(({ key, value }) => [key, floats(value)])).toEqual([
        ['1-U', [1, 2, 3, 4]],
        ['2-U', [5, 6, 7, 8]],
      ])
    })
  })

  describe('spilled rows', () => {
    beforeEach(async () => {
      await under.close()
      await under.use(new ModelWorld(true))
      for (let i = 0; i < 120; i++) {
        under.world.put(`${i}-U`, [i, 1, 0, 0])
        under.world.put(`${i}-I`, [1, i, 0, 0])
      }
    })

    test('are read like rows in memory', async () => {
      const keys = Array.from({ length: 120 }, (_, i) => `${i}-U`)
      const answers = await under.reader.rows('ALS_MODEL', keys)
      expect(answers.map((answer) => unwrap(answer)[0])).toEqual(keys.map((_, i) => i))
      expect(under.world.asked.length).toBeGreaterThan(0)
    })

    test('are multiplied like rows in memory, and unknown ones stay unknown', async () => {
      const scores = await Promise.all(
        Array.from({ length: 120 }, (_, i) => under.reader.predict('ALS_MODEL', `${i}-U`, '7-I')),
      )
      expect(scores.map(({ score }) => score)).toEqual(scores.map((_, i) => i + 7))
      await expect(under.reader.predict('ALS_MODEL', '500-U', '7-I')).rejects.toMatchObject({
        code: 'UNKNOWN_KEY',
      })
      const cold = await under.reader.predict('ALS_MODEL', '500-U', '7-I', { coldLeft: 'MEAN-U' })
      expect(cold).toEqual({ score: 59.5 + 7, leftCold: true, rightCold: false })
    })

    test('are read at the last checkpoint', async () => {
      under.world.completeCheckpoint()
      for (let i = 0; i < 120; i++) under.world.put(`${i}-U`, [-1, 0, 0, 0])
      const keys = Array.from({ length: 120 }, (_, i) => `${i}-U`)
      const consistency = { level: 'checkpoint' } as const
      const answers = await under.reader.rows('ALS_MODEL', keys, { consistency })
      expect(answers.map((answer) => unwrap(answer)[0])).toEqual(keys.map((_, i) => i))
    })

    test('take part in top-k', async () => {
      const query = Float32Array.from([0, 1, 0, 0])
      const found = unwrap(await under.reader.topK('ALS_MODEL', query, { k: 3, suffix: '-I' }))
      expect(found.map(({ key }) => key)).toEqual(['119-I', '118-I', '117-I'])
    })
  })
}
