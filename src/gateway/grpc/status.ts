import { Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { asWeirError, type WeirError } from '../../core/errors.ts'
import { statusOf } from '../http/problem.ts'

/** Statuses of gRPC by the status that HTTP has for the same error; others are INTERNAL. */
const STATUSES: Readonly<Record<number, status>> = {
  400: status.INVALID_ARGUMENT,
  401: status.UNAUTHENTICATED,
  403: status.PERMISSION_DENIED,
  404: status.NOT_FOUND,
  409: status.FAILED_PRECONDITION,
  413: status.RESOURCE_EXHAUSTED,
  422: status.FAILED_PRECONDITION,
  429: status.RESOURCE_EXHAUSTED,
  501: status.UNIMPLEMENTED,
  502: status.UNAVAILABLE,
  503: status.UNAVAILABLE,
  504: status.DEADLINE_EXCEEDED,
  507: status.RESOURCE_EXHAUSTED,
}

/** An error as gRPC sends it: `weir-code` in the trailers has the code. */
function serviceErrorOf({ code, message }: WeirError, httpStatus = statusOf(code)) {
  const metadata = new Metadata()
  metadata.set('weir-code', code)
  return { code: STATUSES[httpStatus] ?? status.INTERNAL, details: message, metadata }
}

/** A call whose token is refused, with the status that HTTP has for it. */
export class Refused extends Error {
  readonly error: WeirError
  readonly status: number

  constructor(error: WeirError, status: number) {
    super(error.message)
    this.error = error
    this.status = status
  }
}

/** What is sent for an error, and the status that HTTP has for it. */
export function refusedOf(thrown: unknown): {
  readonly error: Pick<ServiceError, 'code' | 'details' | 'metadata'>
  readonly status: number
} {
  const isRefused = thrown instanceof Refused
  const error = isRefused ? thrown.error : asWeirError(thrown, 'ILLEGAL_STATE')
  const status = isRefused ? thrown.status : statusOf(error.code)
  return { error: serviceErrorOf(error, status), status }
}
