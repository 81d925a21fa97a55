import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { isWeirError } from '../../src/core/errors.ts'
import type { Answer, ScanEntry } from '../../src/wire/model-reader.ts'
import { codeOf, type ReaderUnderTest, unwrap } from './reader-under-test.ts'

/** The code of an answer or of its failure. */
async function code(answer: Promise<Answer<unknown> | readonly ScanEntry[]>): Promise<string> {
  try {
    const given = await answer
    return 'ok' in given ? codeOf(given) : 'ok'
  } catch (error) {
    return isWeirError(error) ? error.code : String(error)
  }
}

/** Contract of consistency levels, also during a restore. */
export function consistencyContract(under: ReaderUnderTest): void {
  describe('consistency', () => {
    test('checkpoint reads the last completed one, without later writes', async () => {
      under.world.put('1-U', [1, 0, 0, 0])
      under.world.put('2-U', [2, 0, 0, 0])
      under.world.completeCheckpoint()
      under.world.put('1-U', [9, 9, 9, 9])
      under.world.remove('2-U')
      under.world.put('3-U', [3, 0, 0, 0])
      const options = { consistency: { level: 'checkpoint' } } as const
      const answers = await under.reader.rows('ALS_MODEL', ['1-U', '2-U', '3-U'], options)
      expect([...unwrap(answers[0]!)]).toEqual([1, 0, 0, 0])
      expect([...unwrap(answers[1]!)]).toEqual([2, 0, 0, 0])
      expect(codeOf(answers[2]!)).toBe('UNKNOWN_KEY')
      under.world.completeCheckpoint()
      const later = await under.reader.rows('ALS_MODEL', ['1-U', '2-U', '3-U'], options)
      expect([...unwrap(later[0]!)]).toEqual([9, 9, 9, 9])
      expect(codeOf(later[1]!)).toBe('UNKNOWN_KEY')
      expect([...unwrap(later[2]!)]).toEqual([3, 0, 0, 0])
    })

    test('checkpoint applies to predictions and means', async () => {
      under.world.put('1-U', [1, 0, 0, 0])
      under.world.put('1-I', [2, 0, 0, 0])
      under.world.completeCheckpoint()
      under.world.put('1-U', [10, 0, 0, 0])
      under.world.put('1-I', [20, 0, 0, 0])
      const options = { consistency: { level: 'checkpoint' } } as const
      expect(await under.reader.predict('ALS_MODEL', '1-U', '1-I', options)).toMatchObject({
        score: 2,
      })
      expect(await under.reader.predict('ALS_MODEL', 'MEAN-U', '1-I', options)).toMatchObject({
        score: 2,
      })
    })

    test('checkpoint before the first one is NOT_UP_TO_BOUND', async () => {
      under.world.put('1-U', [1, 0, 0, 0])
      const options = { consistency: { level: 'checkpoint' }, deadlineMs: 5000 } as const
      await expect(under.reader.rows('ALS_MODEL', ['1-U'], options)).rejects.toMatchObject({
        code: 'NOT_UP_TO_BOUND',
      })
    })

    test('at-least waits until the owner has applied the position', async () => {
      under.world.put('1-U', [1, 0, 0, 0])
      const consistency = { level: 'at-least', partition: 0, offset: 5 } as const
      const asked = under.reader.rows('ALS_MODEL', ['1-U'], { consistency, deadlineMs: 10_000 })
      under.world.put('1-U', [2, 0, 0, 0])
      under.world.progress(6, systemClock.nowMs())
      const [answer] = await asked
      expect([...unwrap(answer!)]).toEqual([2, 0, 0, 0])
    })

    test('at-least fails with NOT_UP_TO_BOUND when the position does not come', async () => {
      under.world.put('1-U', [1, 0, 0, 0])
      under.world.progress(5, systemClock.nowMs())
      const consistency = { level: 'at-least', partition: 0, offset: 5 } as const
      // On a busy machine the client's deadline may come before the answer that it was not reached.
      await expect
        .poll(async () => {
          const options = { consistency, deadlineMs: 30 }
          const [answer] = await under.reader.rows('ALS_MODEL', ['1-U'], options)
          return codeOf(answer!)
        })
        .toBe('NOT_UP_TO_BOUND')
    })

    test('bounded answers from an owner that is fresh enough', async () => {
      under.world.put('1-U', [1, 0, 0, 0])
      under.world.progress(1, systemClock.nowMs())
      const consistency = { level: 'bounded', maxAgeMs: 60_000 } as const
      const [answer] = await under.reader.rows('ALS_MODEL', ['1-U'], { consistency })
      expect([...unwrap(answer!)]).toEqual([1, 0, 0, 0])
    })

    test('bounded fails with NOT_UP_TO_BOUND when the owner is too far behind', async () => {
      under.world.put('1-U', [1, 0, 0, 0])
      under.world.progress(1, systemClock.nowMs() - 120_000)
      const consistency = { level: 'bounded', maxAgeMs: 60_000 } as const
      // On a busy machine the client's deadline may come before the answer that it was not reached.
      await expect
        .poll(async () => {
          const options = { consistency, deadlineMs: 30 }
          const [answer] = await under.reader.rows('ALS_MODEL', ['1-U'], options)
          return codeOf(answer!)
        })
        .toBe('NOT_UP_TO_BOUND')
    })
  })

  describe('restore', () => {
    test('a row that is not restored yet is RESTORING; restored rows are answered', async () => {
      under.world.put('1-U', [1, 0, 0, 0])
      under.world.beginRestore()
      // On a busy machine the client's deadline may come before the answer that the row is not restored.
      await expect
        .poll(async () => {
          const options = { deadlineMs: 50 }
          const during = await under.reader.rows('ALS_MODEL', ['1-U', '2-U'], options)
          expect([...unwrap(during[0]!)]).toEqual([1, 0, 0, 0])
          return codeOf(during[1]!)
        })
        .toBe('RESTORING')
      under.world.endRestore()
      const after = await under.reader.rows('ALS_MODEL', ['2-U'])
      expect(codeOf(after[0]!)).toBe('UNKNOWN_KEY')
    })

    test('while the rows of the live version are read again, what is not found is RESTORING', async () => {
      const { world, reader } = under
      world.put('1-U', [1, 0, 0, 0])
      world.put('1-I', [2, 0, 0, 0])
      world.put('0', [1, 0, 0, 0, 0, 0, 0, 0])
      const options = { deadlineMs: 50 }
      const means = { ...options, coldLeft: 'MEAN-U', coldRight: 'MEAN-I' }
      const feature = (id: number) => {
        const features = { ids: Uint32Array.of(id), values: Float32Array.of(1) }
        return reader.sparseDot('WEIGHTS', features, options)
      }
      const reads = (): Promise<string>[] => [
        code(reader.rows('ALS_MODEL', ['1-U'], options).then(([row]) => row!)),
        code(reader.predictWithEnvelope('ALS_MODEL', '1-U', '1-I', means)),
        code(feature(0)),
        code(reader.rows('ALS_MODEL', ['2-U'], options).then(([row]) => row!)),
        code(reader.rows('ALS_MODEL', ['2-U'], { ...options, version: 1 }).then(([row]) => row!)),
        code(reader.predictWithEnvelope('ALS_MODEL', '2-U', '1-I', means)),
        code(feature(8)),
        code(reader.topK('ALS_MODEL', '1-U', { ...options, k: 3, suffix: '-I' })),
        code(reader.scan('ALS_MODEL', { from: '', to: 'z', limit: 10 }, options)),
      ]
      for (const model of [0, 1]) world.board.setLiveIncomplete(model, true)
      // On a busy machine the client's deadline may come before the answer.
      await expect
        .poll(() => Promise.all(reads()))
        .toEqual([...Array(3).fill('ok'), ...Array(6).fill('RESTORING')])
      for (const model of [0, 1]) world.board.setLiveIncomplete(model, false)
      await expect
        .poll(() => Promise.all(reads()))
        .toEqual([...['ok', 'ok', 'ok', 'UNKNOWN_KEY', 'UNKNOWN_KEY'], ...Array(4).fill('ok')])
    })
  })
}
