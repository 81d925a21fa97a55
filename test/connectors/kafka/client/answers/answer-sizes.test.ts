import { describe, expect, it } from 'vitest'
import {
  AnswerSizes,
  MAX_ANSWER_BYTES,
} from '../../../../../src/connectors/kafka/client/answers/answer-sizes.ts'
import { seededRandom } from '../../../../../src/core/random.ts'

function answer(size: number): Buffer {
  const bytes = Buffer.alloc(4 + size, 0xff)
  bytes.writeInt32BE(size)
  return bytes
}

describe('the sizes of answers', () => {
  it('are read wherever the bytes are cut', () => {
    const bytes = Buffer.concat([4, 5, 4000, 17, 70_000, 4].map(answer))
    for (let seed = 0; seed < 200; seed++) {
      const random = seededRandom(seed)
      const sizes = new AnswerSizes()
      for (let at = 0; at < bytes.length; ) {
        const end = at + 1 + random.below(random.below(2) === 0 ? 3 : 60_000)
        expect(sizes.take(bytes.subarray(at, end))).toBeUndefined()
        at = end
      }
      expect(sizes.take(Buffer.from('HTTP'))).toBe(0x48545450)
    }
  })

  it.each([
    ['the largest', MAX_ANSWER_BYTES, undefined],
    ['one more', MAX_ANSWER_BYTES + 1, MAX_ANSWER_BYTES + 1],
    ['one without its number', 3, 3],
    ['a negative one', -1, -1],
  ])('are read or refused: %s', (_, size, refused) => {
    const head = Buffer.alloc(4)
    head.writeInt32BE(size)
    expect(new AnswerSizes().take(head)).toBe(refused)
  })
})
