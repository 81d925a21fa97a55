import type { OutgoingHttpHeaders } from 'node:http2'
import { asWeirError, type WeirError } from '../../core/errors.ts'
import { statusOf } from '../http/problem.ts'
import { Refused } from './caller.ts'

/** Statuses of gRPC (https://grpc.io/docs/guides/status-codes/). */
const STATUS = {
  OK: 0,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const

/** Statuses of gRPC by the status that HTTP has for the same error; others are INTERNAL. */
const STATUSES: Readonly<Record<number, number>> = {
  400: STATUS.INVALID_ARGUMENT,
  401: STATUS.UNAUTHENTICATED,
  403: STATUS.PERMISSION_DENIED,
  404: STATUS.NOT_FOUND,
  409: STATUS.FAILED_PRECONDITION,
  413: STATUS.RESOURCE_EXHAUSTED,
  422: STATUS.FAILED_PRECONDITION,
  429: STATUS.RESOURCE_EXHAUSTED,
  501: STATUS.UNIMPLEMENTED,
  502: STATUS.UNAVAILABLE,
  503: STATUS.UNAVAILABLE,
  504: STATUS.DEADLINE_EXCEEDED,
  507: STATUS.RESOURCE_EXHAUSTED,
}

/** How a call ended. */
export interface CallEnd {
  readonly error: WeirError
  /** The status that HTTP has for it. */
  readonly httpStatus: number
}

/** How a call ends in which something was thrown. */
export function callEndOf(thrown: unknown): CallEnd {
  if (thrown instanceof Refused) {
    const { error, status } = thrown.decision
    return { error, httpStatus: status }
  }
  const error = asWeirError(thrown, 'ILLEGAL_STATE')
  return { error, httpStatus: statusOf(error.code) }
}

/** The trailers of a call that ended well, or with an error: `weir-code` has its code. */
export function trailersOf(end: CallEnd | undefined): OutgoingHttpHeaders {
  if (end === undefined) return { 'grpc-status': STATUS.OK }
  const { error, httpStatus } = end
  return {
    'grpc-status': STATUSES[httpStatus] ?? STATUS.INTERNAL,
    'grpc-message': encoded(error.message),
    'weir-code': error.code,
  }
}

/** A text of a trailer: what is no printable ASCII is encoded (gRPC over HTTP/2, "Percent-Encoded"). */
function encoded(text: string): string {
  return text.toWellFormed().replaceAll(/[^\x20-\x24\x26-\x7e]+/gu, encodeURIComponent)
}
