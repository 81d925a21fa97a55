import { describe, expect, it } from 'vitest'
import { logHistory, truncatedError } from '../../../src/connectors/kafka/truncation.ts'

describe('the history of a log in front of a position', () => {
  const position = { offset: 200, epoch: 4 }

  it.each([
    ['same', 'the epoch ends at the position', 4, 200, { kind: 'same' }],
    ['same', 'the epoch goes on', 4, 900, { kind: 'same' }],
    ['truncated', 'the epoch ends earlier', 4, 100, { kind: 'truncated', offset: 100 }],
    ['truncated', 'the epoch is missing', 3, 100, { kind: 'truncated', offset: 100 }],
    [
      'truncated',
      'the epoch is missing and an earlier one goes on',
      3,
      500,
      { kind: 'truncated', offset: 199 },
    ],
    ['unknown', 'the leader knows no epoch', -1, -1, { kind: 'unknown' }],
  ] as const)('is %s when %s', (_, __, epoch, endOffset, history) => {
    expect(logHistory(position, { epoch, endOffset })).toEqual(history)
  })

  it('that ended earlier is named with topic, partition, both offsets and the policy', () => {
    const error = truncatedError({ topic: 'clicks', partition: 2 }, position, 100)
    expect(error.code).toBe('OFFSET_OUT_OF_RANGE')
    for (const part of [
      'clicks/2',
      'offset 100',
      '200',
      'epoch 4',
      'outOfRange is fail',
      'earliest-of-truncation',
    ]) {
      expect(error.message).toContain(part)
    }
    expect(error.details).toEqual({
      ...{ topic: 'clicks', partition: 2, offset: 200, truncatedAt: 100 },
      ...{ leaderEpoch: 4, outOfRange: 'fail' },
    })
  })
})
