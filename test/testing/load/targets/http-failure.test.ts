import { describe, expect, it } from 'vitest'
import {
  failureOf,
  predictionFailureOf,
} from '../../../../src/testing/load/targets/http-failure.ts'

const failure = (status: number, body: unknown) =>
  failureOf(status, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))

describe('failureOf', () => {
  it('is nothing for an answer', () => {
    expect(failure(200, { score: 3 })).toBeUndefined()
    expect(failure(302, '')).toBeUndefined()
  })

  it('has code and sentence of the gateway', () => {
    expect(failure(404, { code: 'UNKNOWN_STATE', detail: 'no "X"', status: 404 })).toMatchObject({
      code: 'UNKNOWN_STATE',
      message: 'HTTP 404: no "X"',
    })
  })

  it('is the error of a pair in a batch that was answered', () => {
    const body = { predictions: [{ score: 1 }, { error: { code: 'UNKNOWN_KEY', detail: 'no 7' } }] }
    const bytes = Buffer.from(JSON.stringify(body))
    const expected = { code: 'UNKNOWN_KEY', message: 'HTTP 200: no 7' }
    expect(predictionFailureOf(200, bytes)).toMatchObject(expected)
    expect(failureOf(200, bytes)).toBeUndefined()
    expect(predictionFailureOf(200, Buffer.from('{"predictions":[]}'))).toBeUndefined()
  })

  it('has the code of the status where the answer names none', () => {
    const codes = [401, 403, 404, 418, 429, 500, 503, 504].map(
      (status) => failure(status, 'no')!.code,
    )
    expect(codes).toEqual([
      'UNAUTHENTICATED',
      'ACCESS_DENIED',
      'NOT_FOUND',
      'INVALID_ARGUMENT',
      'OVERLOADED',
      'UNAVAILABLE',
      'OVERLOADED',
      'DEADLINE_EXCEEDED',
    ])
  })
})
