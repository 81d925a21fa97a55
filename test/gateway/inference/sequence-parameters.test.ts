import { describe, expect, it } from 'vitest'
import { sequenceOf } from '../../../src/gateway/inference/sequence-parameters.ts'

describe('the sequence of a request', () => {
  it.each([
    [
      { sequence_id: 7, sequence_start: true },
      { id: '7', isStart: true, isEnd: false },
    ],
    [
      { sequence_id: 'a b', sequence_end: true },
      { id: 'a b', isStart: false, isEnd: true },
    ],
    [
      { sequence_id: '18446744073709551615' },
      { id: '18446744073709551615', isStart: false, isEnd: false },
    ],
    [{ sequence_id: 2n ** 63n }, { id: '9223372036854775808', isStart: false, isEnd: false }],
    [
      { sequence_id: 7, sequence_after: '5-0f9a3c52b7d1' },
      { id: '7', isStart: false, isEnd: false, after: { step: 5, beginning: '0f9a3c52b7d1' } },
    ],
    [
      { sequence_id: 7, sequence_start: true, sequence_after: '' },
      { id: '7', isStart: true, isEnd: false },
    ],
    [{ sequence_id: 0 }, undefined],
    [{ sequence_id: '', sequence_start: false }, undefined],
    [{}, undefined],
  ])('is read from %o', (parameters, terms) => {
    expect(sequenceOf(parameters)).toEqual(terms)
  })

  it.each([
    [{ sequence_id: 2 ** 53 }, 'send a larger one as a text'],
    [{ sequence_id: 1.5 }, 'a text of at most 128 characters, or a whole number'],
    [{ sequence_id: 'x'.repeat(129) }, 'a text of at most 128 characters'],
    [{ sequence_id: null }, 'a text of at most 128 characters'],
    [{ sequence_id: 1, sequence_start: 1 }, 'sequence_start is true or false'],
    [{ sequence_start: true }, 'need the sequence_id'],
    [{ sequence_id: 0, sequence_end: true }, 'need the sequence_id'],
    [{ sequence_after: '5-0f9a3c52b7d1' }, 'need the sequence_id'],
    [
      { sequence_id: 1, sequence_after: 5 },
      'the sequence_step of the answer that the request follows',
    ],
    [
      { sequence_id: 1, sequence_start: true, sequence_after: '5-0f9a3c52b7d1' },
      'the first request of a sequence follows no answer',
    ],
  ])('is refused: %o', (parameters, message) => {
    expect(() => sequenceOf(parameters)).toThrow(message)
  })
})
