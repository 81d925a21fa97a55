import { describe, expect, it } from 'vitest'
import { kafkaError } from '../../../../src/connectors/kafka/client/errors.ts'
import { retryDelay } from '../../../../src/connectors/kafka/client/retry.ts'
import { seededRandom } from '../../../../src/core/random.ts'

describe('delays between attempts', () => {
  it('double up to a second with jitter, and are 2 ms while a transaction ends', () => {
    const random = seededRandom(1)
    for (let tries = 0; tries < 20; tries++) {
      const full = Math.min(1000, 20 * 2 ** tries)
      const delay = retryDelay(random, tries)
      expect(delay).toBeGreaterThanOrEqual(full / 2)
      expect(delay).toBeLessThan(full)
    }
    expect(
      retryDelay(random, 9, kafkaError(51, { doing: 'x', needs: [], principal: undefined })),
    ).toBe(2)
  })
})
