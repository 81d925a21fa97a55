import type { ErrorCode, ErrorDetails } from '../../core/errors.ts'
import { WeirError } from '../../core/errors.ts'

/** The server at which a request failed. */
export type FailedParty = 'name-node' | 'data-node'

/** A failed attempt, as the client observed it. */
export type WebHdfsFailure =
  /** No answer: no server listens, the connection broke, or the server was silent for too long. */
  | {
      readonly kind: 'no-answer'
      readonly party: FailedParty
      /** Whether the request may have been executed nevertheless. */
      readonly sent: boolean
      readonly reason: string
      /** `host:port` of the server. */
      readonly peer: string
      /** Numeric address of the server, if it was resolved. */
      readonly address: string | undefined
    }
  /** An answer with an error. */
  | {
      readonly kind: 'refused'
      readonly party: FailedParty
      readonly status: number
      /** Simple name of the Java exception; empty when the body has none. */
      readonly exception: string
      readonly reason: string
    }

/** Error of a single attempt, with its failure. */
export class WebHdfsAttemptError extends Error {
  readonly failure: WebHdfsFailure

  constructor(failure: WebHdfsFailure) {
    super(failure.reason)
    this.failure = failure
  }
}

/** What to do after a failed attempt. */
export type RetryDecision =
  /** Another attempt would fail too. */
  | 'give-up'
  /** Send the request to the same NameNode again, later. */
  | 'ask-again'
  /** Send the request to the other NameNode. */
  | 'ask-other'

/** Temporary exceptions: safe mode, a NameNode that starts, too many requests. */
const TEMPORARY = new Set(['RetriableException', 'SafeModeException', 'ServerTooBusyException'])

/** Messages of a plain IOException that mean a temporary problem of the cluster. */
const TEMPORARY_REASONS =
  /Failed to find datanode|could only be (written|replicated) to|Connection (refused|reset)|End of File Exception|ConnectException|Not enough replicas|not replicated yet|Namenode is in startup mode|NameNode still not started|Could not obtain block|Failed on local exception|Bad connect ack/i

/** The answer to a writer whose file another writer has created again. */
const LOST_LEASE = /does not have any open files|No lease on|Lease mismatch/i

/** Decides from the observed failure. An unknown exception is permanent. */
export function decideRetry(failure: WebHdfsFailure): RetryDecision {
  if (failure.kind === 'no-answer') {
    return failure.party === 'name-node' ? 'ask-other' : 'ask-again'
  }
  if (failure.exception === 'StandbyException') return 'ask-other'
  if (/in state standby/.test(failure.reason)) return 'ask-other'
  if (TEMPORARY.has(failure.exception) || TEMPORARY_REASONS.test(failure.reason)) {
    return 'ask-again'
  }
  // An earlier attempt, abandoned here but still running at its DataNode, took over the name or the
  // lease of the file. The next attempt has both for itself.
  if (failure.party === 'data-node' && LOST_LEASE.test(failure.reason)) return 'ask-again'
  if (failure.status >= 500 && failure.exception === '') return 'ask-again'
  return failure.status === 429 || failure.status === 503 ? 'ask-again' : 'give-up'
}

/** An answer with an error. */
interface RefusedAnswer {
  readonly peer: string
  readonly status: number
  readonly body: Uint8Array
}

/** The failure in an answer with an error. */
export function refusalOf(
  party: FailedParty,
  { peer, status, body }: RefusedAnswer,
): WebHdfsFailure {
  const text = new TextDecoder().decode(body)
  const { exception, message } = remoteExceptionOf(text)
  // The lines after the first are the Java stack.
  const firstLine = (message ?? text).trim().split('\n')[0]!.trim().slice(0, 500)
  const reason = firstLine || `${peer} answered HTTP ${status}`
  return { kind: 'refused', party, status, exception: exception ?? '', reason }
}

function remoteExceptionOf(text: string): { exception?: string; message?: string } {
  try {
    const parsed = JSON.parse(text) as {
      RemoteException?: { exception?: string; message?: string }
    }
    return parsed?.RemoteException ?? {}
  } catch {
    return {}
  }
}

/** The error code of a failure. */
export function codeOfFailure(failure: WebHdfsFailure): ErrorCode {
  if (failure.kind === 'no-answer') return 'CONNECTOR_FAILED'
  if (failure.status === 401) return 'UNAUTHENTICATED'
  switch (failure.exception) {
    case 'FileNotFoundException':
      return 'FILE_NOT_FOUND'
    case 'FileAlreadyExistsException':
      return 'FILE_EXISTS'
    case 'AccessControlException':
      return 'PERMISSION_DENIED'
    case 'InvalidToken':
    case 'SecurityException':
      return 'UNAUTHENTICATED'
    default:
      return 'CONNECTOR_FAILED'
  }
}

/** A request that failed finally. */
export interface FailedRequest {
  /** The request in words, for messages. */
  readonly what: string
  readonly place: string
  readonly attempts: number
}

/** The error of a request, from the failure of its last attempt. */
export function errorOfFailure(
  failure: WebHdfsFailure,
  { what, place, attempts }: FailedRequest,
): WeirError {
  const details: Record<string, string | number> = { place, attempts }
  if (failure.kind === 'refused') {
    details['status'] = failure.status
    if (failure.exception !== '') details['exception'] = failure.exception
  }
  const tries = attempts > 1 ? ` after ${attempts} attempts` : ''
  const message = `HDFS could not ${what}${tries}: ${adviceOf(failure)}`
  return new WeirError(codeOfFailure(failure), message, { details: details as ErrorDetails })
}

/** A failure in words, with what to do about it where the client knows it. */
export function adviceOf(failure: WebHdfsFailure): string {
  if (/HTTP request to a Hadoop IPC port/.test(failure.reason)) {
    return 'this port is the NameNode\'s RPC port; use the port of its web interface ("dfs.namenode.http-address", 9870 by default)'
  }
  if (failure.kind === 'no-answer') {
    const who = failure.party === 'name-node' ? 'the NameNode' : 'the DataNode'
    return `${who} ${failure.peer} did not answer (${failure.reason})`
  }
  switch (codeOfFailure(failure)) {
    case 'PERMISSION_DENIED':
      return `${failure.reason}; set user.name in the URL, or change the folder's owner`
    case 'UNAUTHENTICATED':
      return `${failure.reason}; the cluster needs a valid delegation token: set token-file in the URL`
    default:
      return failure.reason
  }
}
