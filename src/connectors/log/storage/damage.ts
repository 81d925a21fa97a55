import { isWeirError, messageOf, WeirError } from '../../../core/errors.ts'

/** Place of a damage in a log. */
export interface DamagePlace {
  /** Path of the file. */
  readonly file: string
  /** First byte that cannot be read. */
  readonly position: number
  /** First offset that cannot be read. */
  readonly offset: number
}

const REMEDY =
  '"weir log check" shows what is whole; restore the file from a copy, or give up what is damaged with "weir log repair"'

/**
 * The error of a damaged file of a log: MALFORMED_DATA, or the code of `cause` (CHECKSUM_MISMATCH,
 * UNSUPPORTED_VERSION).
 */
export function damagedLog(place: DamagePlace, why: string, cause?: unknown): WeirError {
  const { file, position, offset } = place
  const code = isWeirError(cause) ? cause.code : 'MALFORMED_DATA'
  const message = `${file} is damaged at byte ${position}, offset ${offset}: ${why}. ${REMEDY}`
  return new WeirError(code, message, { cause, details: { file, position, offset } })
}

/** The error of a file that a later build wrote: nothing in it is damaged, and nothing may change it. */
export function newerFile(file: string, version: unknown, known: number): WeirError {
  const message = `${file} has the version ${String(version)}; this build reads up to ${known}: use the build that wrote it`
  return new WeirError('UNSUPPORTED_VERSION', message, { details: { file } })
}

/** Why a batch is not intact, from the error of its check. */
export function reasonOf(cause: unknown): string {
  return messageOf(cause).replace(/^the batch at \d+/, 'the batch')
}

/** Whether an error is one of `damagedLog`. */
export function isDamage(error: unknown): error is WeirError {
  return isWeirError(error) && error.details['file'] !== undefined
}
