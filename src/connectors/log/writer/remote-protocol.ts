import type { ErrorCode, ErrorDetails } from '../../../core/errors.ts'
import type { LogWriter } from './log-writer.ts'

/** A call of a `LogWriter` method from another thread or process. */
export type RemoteRequest = {
  readonly id: number
} & RemoteCall

/** Method and arguments of a call. */
export type RemoteCall = {
  [Method in RemoteMethod]: {
    readonly method: Method
    readonly args: Parameters<LogWriter[Method]>
  }
}[RemoteMethod]

type RemoteMethod = Exclude<keyof LogWriter, 'close' | 'spareBuffer'>

/**
 * The answer to a request. Id 0 is the first message: its value is the revision. `HANDED_OVER` is the last
 * one: the owner has closed the log in order, and has not executed requests without an answer.
 */
export interface RemoteReply {
  readonly id: number
  readonly value?: unknown
  /** The buffer of a batch that was transferred and is appended. */
  readonly buffer?: ArrayBuffer
  readonly failure?: {
    readonly code: ErrorCode
    readonly message: string
    readonly details: ErrorDetails
  }
}

/** Id of the message of an owner that has closed the log. */
export const HANDED_OVER = -1

/**
 * Revision of requests and replies. The server sends it first, because the other process may run
 * another release.
 */
export const REMOTE_REVISION = 1

/**
 * One end of the connection between a caller and the owner of a log: a message port between threads,
 * a socket between processes.
 */
export interface RemotePort {
  /** Event `message` or `close`. */
  on(event: string, listener: (message: unknown) => void): unknown
  postMessage(message: unknown, transfer?: readonly ArrayBuffer[]): void
  ref(): void
  unref(): void
  close(): void
}
