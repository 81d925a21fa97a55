import { type ErrorCode, isWeirError, WeirError } from '../../core/errors.ts'
import { isOtherKey, readableKey } from '../../core/formats/key-text.ts'
import type { Answer } from '../../wire/model-reader.ts'
import { listedKey } from '../../wire/state/formatted-key.ts'

const SENTENCE: Partial<Record<ErrorCode, string>> = {
  UNKNOWN_KEY: 'does not exist',
  NOT_OWNER: 'belongs to another process; route by the routing table',
  RESTORING: 'may not be there yet, because the job starts or restores; ask again',
  NOT_UP_TO_BOUND: 'cannot be read at the last checkpoint; ask again',
  UNKNOWN_STATE: 'belongs to a state that its slot does not know',
}

/** The error of a key that could not be read, in a state whose keys have this format. */
export function failureOf(code: ErrorCode, key: Uint8Array, format?: string): WeirError {
  const text = listedKey(key, format)
  const shown = isOtherKey(text) ? readableKey(text) : `"${text}"`
  return new WeirError(code, `key ${shown} ${SENTENCE[code] ?? 'cannot be read'}`)
}

/** Turns a thrown WeirError into a failed answer. */
export async function answered<T>(work: () => Promise<Answer<T>>): Promise<Answer<T>> {
  try {
    return await work()
  } catch (error) {
    if (isWeirError(error)) return { ok: false, error }
    throw error
  }
}
