import { expect, test } from 'vitest'
import { AnswerText } from '../../../src/gateway/hot/answer-text.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

test('the head that is written before a body is that of a text with the same body', () => {
  const text = new AnswerText(new ManualClock(0), 5000)
  const { headRoom } = text
  for (const body of ['', '{}', 'x'.repeat(1234)]) {
    const bytes = Buffer.alloc(headRoom + body.length)
    bytes.write(body, headRoom)
    const answer = text.okAround(bytes, headRoom, bytes.length)
    expect(Buffer.from(answer).toString('latin1')).toBe(text.ok(body))
  }
})
