import type { ErrorCode, ErrorDetails } from '../core/errors.ts'
import { WeirError } from '../core/errors.ts'

/** Who did not do what was asked. */
export type FailedParty = 'name-node' | 'data-node'

/** One attempt that failed, as it was observed. */
export type WebHdfsFailure =
  /** No answer: nobody listens, the connection broke, or nothing came for too long. */
  | {
      readonly kind: 'no-answer'
      readonly party: FailedParty
      /** Whether the request may have been executed all the same. */
      readonly sent: boolean
      readonly reason: string
      /** Numeric address of the party, if the connection got as far. */
      readonly address: string | undefined
    }
  /** An answer that says no. */
  | {
      readonly kind: 'refused'
      readonly party: FailedParty
      readonly status: number
      /** Simple name of the Java exception; empty when the body told none. */
      readonly exception: string
      readonly reason: string
    }

/** Carries a failure through the code that attempts. */
export class WebHdfsAttemptError extends Error {
  readonly failure: WebHdfsFailure

  constructor(failure: WebHdfsFailure) {
    super(failure.reason)
    this.failure = failure
  }
}

/** What to do about a failed attempt. */
export type RetryDecision =
  /** It will not help to ask again. */
  | 'give-up'
  /** Ask the same NameNode again, later. */
  | 'ask-again'
  /** Ask the other NameNode. */
  | 'ask-other'

/** Exceptions that pass by themselves: safe mode, a NameNode that starts, too many requests. */
const PASSING = new Set(['RetriableException', 'SafeModeException', 'ServerTooBusyException'])

/** A plain IOException with one of these says that the cluster lacks something for now. */
const PASSING_REASONS =
  /Failed to find datanode|could only be (written|replicated) to|Connection (refused|reset)|End of File Exception|ConnectException|Not enough replicas|not replicated yet|Namenode is in startup mode|NameNode still not started|Could not obtain block|Failed on local exception|Bad connect ack/i

/** What a writer is told whose file was made anew by another one. */
const LOST_LEASE = /does not have any open files|No lease on|Lease mismatch/i

/** Decides from what was observed; an exception that is not known to pass is final. */
export function decideRetry(failure: WebHdfsFailure): RetryDecision {
  if (failure.kind === 'no-answer') {
    return failure.party === 'name-node' ? 'ask-other' : 'ask-again'
  }
  if (failure.exception === 'StandbyException') return 'ask-other'
  if (/in state standby/.test(failure.reason)) return 'ask-other'
  if (PASSING.has(failure.exception) || PASSING_REASONS.test(failure.reason)) return 'ask-again'
  // A file that is being written does not exist for two reasons: an earlier attempt, given up but
  // still under way at its DataNode, took the name over, or its lease. The next attempt has it alone.
  if (failure.party === 'data-node' && LOST_LEASE.test(failure.reason)) return 'ask-again'
  if (failure.status >= 500 && failure.exception === '') return 'ask-again'
  return failure.status === 429 || failure.status === 503 ? 'ask-again' : 'give-up'
}

/** The failure in an answer that is not the wanted one. */
export function refusalOf(party: FailedParty, status: number, body: Uint8Array): WebHdfsFailure {
  const text = new TextDecoder().decode(body)
  const { exception, message } = remoteExceptionOf(text)
  // The lines after the first are the Java stack.
  const said = (message ?? text).trim().split('\n')[0]!.trim().slice(0, 500)
  const reason = said || `it answered HTTP ${status}`
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

/** The code that stands for a failure. */
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

/** What the caller sees of the last failure of `what`. */
export function errorOfFailure(
  what: string,
  place: string,
  failure: WebHdfsFailure,
  attempts: number,
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

function adviceOf(failure: WebHdfsFailure): string {
  if (/HTTP request to a Hadoop IPC port/.test(failure.reason)) {
    return 'this port is the NameNode\'s RPC port; use the port of its web interface ("dfs.namenode.http-address", 9870 by default)'
  }
  if (failure.kind === 'no-answer') {
    const who = failure.party === 'name-node' ? 'the NameNode' : 'the DataNode'
    return `${who} did not answer (${failure.reason})`
  }
  switch (codeOfFailure(failure)) {
    case 'PERMISSION_DENIED':
      return `${failure.reason}; set user.name in the URL, or change the folder's owner`
    case 'UNAUTHENTICATED':
      return `${failure.reason}; the cluster asks for a delegation token that is valid: set token-file in the URL`
    default:
      return failure.reason
  }
}
