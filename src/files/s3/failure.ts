import { type ErrorCode, type ErrorDetails, messageOf, WeirError } from '../../core/errors.ts'

/** A failed attempt, as the client observed it. */
export interface S3Failure {
  /** Status of the answer; undefined where none came. */
  readonly status: number | undefined
  /** The server's code, such as `NoSuchBucket`; the name or the system's code of an error without an answer. */
  readonly code: string
  readonly reason: string
  /** Region that the answer names. */
  readonly region: string | undefined
}

/** What to do after a failed attempt. */
export type S3RetryDecision = 'give-up' | 'ask-again'

const TEMPORARY_CODES = new Set([
  'ConditionalRequestConflict',
  'InternalError',
  'OperationAborted',
  'RequestTimeout',
  'ServiceUnavailable',
  'SlowDown',
  'ThrottlingException',
  'TooManyRequestsException',
])
const TEMPORARY_STATUSES = new Set([408, 429, 500, 502, 503, 504])

/** Errors without an answer that a further attempt does not change: certificates, and a port that speaks no TLS. */
const PERMANENT_ERRORS = /CERT|SELF_SIGNED|UNABLE_TO_|EPROTO|ERR_(TLS|INVALID)/
const NO_CREDENTIALS = new Set(['CredentialsProviderError', 'TokenProviderError'])
const BAD_CREDENTIALS = new Set([
  'ExpiredToken',
  'ExpiredTokenException',
  'InvalidAccessKeyId',
  'InvalidToken',
  'SignatureDoesNotMatch',
])
const OTHER_REGION = new Set([
  'AuthorizationHeaderMalformed',
  'PermanentRedirect',
  'TemporaryRedirect',
  'IllegalLocationConstraintException',
])

/** The failure in an error of the library. */
export function failureOf(error: unknown): S3Failure {
  const shape: Readonly<Record<string, unknown>> = isObject(error) ? error : {}
  const metadata = isObject(shape['$metadata']) ? shape['$metadata'] : {}
  const response = isObject(shape['$response']) ? shape['$response'] : {}
  const headers = isObject(response['headers']) ? response['headers'] : {}
  const status = numberIn(metadata['httpStatusCode']) ?? numberIn(response['statusCode'])
  // An address that resolves to several is tried at each, and the error lists them without a message.
  const [inner] = error instanceof AggregateError ? error.errors : []
  const code = textIn(shape['code']) ?? textIn(shape['name']) ?? 'Unknown'
  return {
    status,
    code: status === undefined ? code : (textIn(shape['name']) ?? code),
    reason: (messageOf(error) || messageOf(inner ?? '') || code).split('\n')[0]!.slice(0, 500),
    region: textIn(headers['x-amz-bucket-region']) ?? textIn(shape['Region']),
  }
}

/** Decides from the observed failure. `attempts`: how many were made. An unknown answer is permanent. */
export function decideS3Retry(failure: S3Failure, attempts: number): S3RetryDecision {
  const { status, code } = failure
  // After such an answer the library signs by the server's clock.
  if (code === 'RequestTimeTooSkewed') return attempts === 1 ? 'ask-again' : 'give-up'
  if (TEMPORARY_CODES.has(code)) return 'ask-again'
  if (status !== undefined) return TEMPORARY_STATUSES.has(status) ? 'ask-again' : 'give-up'
  if (isNoRegion(failure) || NO_CREDENTIALS.has(code)) return 'give-up'
  return PERMANENT_ERRORS.test(code) ? 'give-up' : 'ask-again'
}

/** Whether the request may have been executed although the attempt failed. */
export function isDoubtful({ status, code }: S3Failure): boolean {
  if (status !== undefined) return status >= 500 || code === 'ConditionalRequestConflict'
  return code !== 'ECONNREFUSED' && code !== 'ENOTFOUND'
}

/** Whether the answer says that the object is not there; a bucket that is not there is another failure. */
export function isNoObject({ status, code }: S3Failure): boolean {
  return (
    code === 'NoSuchKey' || (status === 404 && (code === 'NotFound' || code === 'UnknownError'))
  )
}

/** A request that failed finally. */
export interface FailedS3Request {
  /** The request in words, for messages. */
  readonly what: string
  readonly bucket: string
  /** The server, for messages. */
  readonly server: string
  readonly key: string
  readonly attempts: number
}

/** The error of a request, from the failure of its last attempt. */
export function errorOfS3Failure(failure: S3Failure, request: FailedS3Request): WeirError {
  const { what, bucket, server, key, attempts } = request
  const tries = attempts > 1 ? ` after ${attempts} attempts` : ''
  const message = `S3 (${server}) could not ${what}${tries}: ${adviceOf(failure, bucket)}`
  const details: ErrorDetails = {
    bucket,
    key,
    attempts,
    reason: failure.code,
    ...(failure.status === undefined ? {} : { status: failure.status }),
  }
  return new WeirError(errorCodeOf(failure), message, { details })
}

/** The error code of a failure. */
function errorCodeOf(failure: S3Failure): ErrorCode {
  const { status, code } = failure
  if (isNoObject(failure)) return 'FILE_NOT_FOUND'
  if (NO_CREDENTIALS.has(code) || BAD_CREDENTIALS.has(code)) return 'UNAUTHENTICATED'
  // What is wrong in the URL does not pass by itself.
  if (isOtherRegion(failure) || isNoRegion(failure)) return 'INVALID_ARGUMENT'
  if (code === 'NoSuchBucket') return 'INVALID_ARGUMENT'
  if (code === 'RequestTimeTooSkewed') return 'CONNECTOR_FAILED'
  return status === 403 || status === 401 ? 'PERMISSION_DENIED' : 'CONNECTOR_FAILED'
}

/** A failure in words, with what to do about it where the client knows it. */
export function adviceOf(failure: S3Failure, bucket: string): string {
  const { status, code, reason, region } = failure
  if (isNoRegion(failure)) {
    return 'no region is set; add ?region=NAME to the s3:// URL, or set AWS_REGION'
  }
  if (NO_CREDENTIALS.has(code)) {
    return `no credentials were found (${reason}); set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the machine a role`
  }
  if (code === 'ExpiredToken' || code === 'ExpiredTokenException') {
    return `the temporary credentials have expired (${reason}); set new ones, or use a profile or a role that renews them`
  }
  if (BAD_CREDENTIALS.has(code)) {
    return `the server does not accept the credentials (${code}: ${reason}); check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_PROFILE`
  }
  if (code === 'RequestTimeTooSkewed') {
    return `the clock of this machine differs too much from the server's (${reason}); set it, for example with NTP`
  }
  if (isOtherRegion(failure)) {
    const where = region === undefined ? 'another region' : `the region ${region}`
    const name = region ?? 'NAME'
    return `the bucket ${bucket} is in ${where} (${code}); add ?region=${name} to the s3:// URL, or set AWS_REGION=${name}`
  }
  if (code === 'NoSuchBucket') {
    return `there is no bucket ${bucket}; make it, or correct the s3:// URL and its endpoint`
  }
  if (status === 403 || status === 401) {
    return `access is denied (${code}: ${reason}); allow s3:GetObject, s3:PutObject, s3:DeleteObject, s3:ListBucket, s3:ListBucketMultipartUploads and s3:AbortMultipartUpload in ${bucket}`
  }
  if (status === undefined && PERMANENT_ERRORS.test(code)) {
    return `no secure connection (${code}: ${reason}); check http or https in the endpoint, or name its authority in NODE_EXTRA_CA_CERTS`
  }
  if (status === undefined) return `the server did not answer (${reason})`
  return `HTTP ${status}, ${code}: ${reason}`
}

function isOtherRegion({ status, code }: S3Failure): boolean {
  return OTHER_REGION.has(code) || status === 301
}

function isNoRegion({ status, reason }: S3Failure): boolean {
  return status === undefined && /Region is missing/i.test(reason)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
