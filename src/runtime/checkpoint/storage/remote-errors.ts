import { type ErrorCode, isWeirError, messageOf, WeirError } from '../../../core/errors.ts'

/** Codes of what does not pass without a change: rights, and an address that is wrong. */
const PERMANENT: ReadonlySet<ErrorCode> = new Set([
  'INVALID_ARGUMENT',
  'PERMISSION_DENIED',
  'UNAUTHENTICATED',
])

/** Runs `action` of a storage on a server, and throws the errors of the port. `what` is for messages. */
export async function onStorage<T>(
  what: string,
  path: string,
  action: () => Promise<T>,
): Promise<T> {
  try {
    return await action()
  } catch (cause) {
    if (isWeirError(cause, 'FILE_NOT_FOUND')) throw missing(path, cause)
    if (isWeirError(cause, 'ILLEGAL_STATE') || isWeirError(cause, 'UNSUPPORTED')) throw cause
    const message = `could not ${what} in checkpoint storage: ${messageOf(cause)}`
    const code = isWeirError(cause) && PERMANENT.has(cause.code) ? cause.code : 'STORAGE_FAILED'
    throw new WeirError(code, message, { cause, details: { path } })
  }
}

/** The error of a file that is not there. */
export function missing(path: string, cause?: unknown): WeirError {
  return new WeirError('CHECKPOINT_NOT_FOUND', `${path} is not in checkpoint storage`, { cause })
}
