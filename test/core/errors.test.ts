import { describe, expect, it } from 'vitest'
import {
  asWeirError,
  ERROR_CODES,
  type ErrorCode,
  isWeirError,
  mayPassAfterRestart,
  requireArgument,
  WeirError,
} from '../../src/core/errors.ts'

/** Codes of errors that may pass if the same call is made again. */
const RETRYABLE: ReadonlySet<string> = new Set<ErrorCode>([
  'STORE_FAILED',
  'LOG_LOCKED',
  'CONNECTOR_FAILED',
  'DISK_FULL',
  'CHECKPOINT_EXPIRED',
  'CHECKPOINT_DECLINED',
  'STORAGE_FAILED',
  'SLOT_LOST',
  'SLOT_BUSY',
  'JOB_PROCESS_LOST',
  'OPERATOR_FAILED',
  'NOT_OWNER',
  'RESTORING',
  'NOT_UP_TO_BOUND',
  'OVERLOADED',
  'DEADLINE_EXCEEDED',
  'UNAVAILABLE',
  'MODEL_NOT_LOADED',
  'REMOTE_MODEL_FAILED',
  'WORKER_LOST',
])
/** Codes of errors that may pass after a restart of the job only. */
const AFTER_RESTART: ReadonlySet<string> = new Set<ErrorCode>([
  'TRANSACTION_FENCED',
  'TRANSACTION_ABORTED',
  'ILLEGAL_STATE',
])

describe('ERROR_CODES', () => {
  it.each(Object.keys(ERROR_CODES))('says of %s whether it may pass', (code) => {
    expect(ERROR_CODES[code as ErrorCode].retryable).toBe(RETRYABLE.has(code))
    const passes = RETRYABLE.has(code) || AFTER_RESTART.has(code)
    expect(mayPassAfterRestart(code as ErrorCode)).toBe(passes)
  })
})

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

  it('has the sentence of a broken requirement as its message', () => {
    expect(() => requireArgument(false, 'n must be positive')).toThrow('n must be positive')
    expect(() => requireArgument(true, 'unused')).not.toThrow()
  })
})

describe('errors of another copy of Weir in the process', () => {
  it('are recognised by their code, with what follows from it', async () => {
    // As a project's own copy is loaded beside a global one.
    const other = (await import(
      `${new URL('../../src/core/errors.ts', import.meta.url)}?copy`
    )) as {
      WeirError: typeof WeirError
    }
    const error = new other.WeirError('UNKNOWN_TOPIC', 'no topic', { details: { topic: 'a' } })
    expect(error).not.toBeInstanceOf(WeirError)
    expect(isWeirError(error, 'UNKNOWN_TOPIC')).toBe(true)
    expect(isWeirError(error, 'DISK_FULL')).toBe(false)
    expect(asWeirError(error, 'OPERATOR_FAILED')).toBe(error)
    // A name alone makes no error of Weir.
    const foreign = Object.assign(new Error('x'), { name: 'WeirError', code: 'NOPE', details: {} })
    expect(isWeirError(foreign)).toBe(false)
  })
})
