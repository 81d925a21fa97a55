import { describe, expect, it } from 'vitest'
import { kafkaError, kafkaErrorOf } from '../../../../src/connectors/kafka/client/errors.ts'

describe('errors of the protocol', () => {
  it.each([
    [6, 'CONNECTOR_FAILED', true],
    [47, 'TRANSACTION_FENCED', false],
    [90, 'TRANSACTION_FENCED', false],
    [29, 'ACCESS_DENIED', false],
    [10, 'FRAME_TOO_LARGE', false],
    [1, 'OFFSET_OUT_OF_RANGE', false],
    [9999, 'UNSUPPORTED', false],
  ])('%i is %s', (number, code, retryable) => {
    const error = kafkaError(number, 'x')
    expect({ code: error.code, retryable: error.retryable }).toEqual({ code, retryable })
    expect(kafkaErrorOf(error)).toBe(number)
  })
})
