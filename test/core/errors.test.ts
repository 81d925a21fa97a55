import { describe, expect, it } from 'vitest'
import { isWeirError, requireArgument, WeirError } from '../../src/core/errors.ts'

describe('WeirError', () => {
  it('knows from its code whether to try again', () => {
    expect(new WeirError('OVERLOADED', 'later').retryable).toBe(true)
    expect(new WeirError('UNKNOWN_KEY', 'never').retryable).toBe(false)
  })

  it('is recognised by its code', () => {
    const error: unknown = new WeirError('UNKNOWN_KEY', 'gone')
    expect(isWeirError(error, 'UNKNOWN_KEY')).toBe(true)
    expect(isWeirError(error, 'UNKNOWN_STATE')).toBe(false)
    expect(isWeirError(new Error('gone'))).toBe(false)
  })

  it('carries cause and details', () => {
    const cause = new Error('disk')
    const error = new WeirError('STORE_FAILED', 'no', { cause, details: { path: 'a' } })
    expect(error.cause).toBe(cause)
    expect(error.details).toEqual({ path: 'a' })
  })

  it('says the sentence of a broken requirement', () => {
    expect(() => requireArgument(false, 'n must be positive')).toThrow('n must be positive')
    expect(() => requireArgument(true, 'unused')).not.toThrow()
  })
})
