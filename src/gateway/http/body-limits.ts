import { WeirError } from '../../core/errors.ts'

/** A body or a message of at most so many bytes counts as one request, and each connection may have one. */
export const UNCOUNTED_BYTES: number = 16 * 1024
/** Bytes that each larger body takes of the budget beside its own: those that wait in its connection and its streams. */
export const AROUND_BYTES: number = 128 * 1024
/** Bytes that a body or a message may have after decompression whatever it had before. */
export const FREE_BYTES: number = 1024 * 1024
/** Most bytes that a byte may become. */
export const MOST_RATIO = 100

/** The error of what has far more bytes after decompression than before it. */
export function ratioError(what: 'body' | 'message'): WeirError {
  const message = `the ${what} has more than ${MOST_RATIO} times as many bytes after decompression; send it without compression`
  return new WeirError('FRAME_TOO_LARGE', message)
}

/** The error of what finds no room in the memory for bytes that are not answered. */
export function noRoomError(what: 'body' | 'message'): WeirError {
  const more = what === 'body' ? 'bodies' : 'messages'
  const message = `the server has no room for this ${what} now; send fewer large ${more} at the same time`
  return new WeirError('OVERLOADED', message)
}
