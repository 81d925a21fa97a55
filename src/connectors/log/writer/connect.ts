import { setTimeout as sleep } from 'node:timers/promises'
import {
  isMainThread,
  MessageChannel,
  type MessagePort,
  postMessageToThread,
  threadId,
} from 'node:worker_threads'
import { isWeirError, WeirError } from '../../../core/errors.ts'
import { type LockResult, releaseLock, takeLock } from './directory-lock.ts'
import { FollowingLogWriter } from './following-log-writer.ts'
import { LocalLogWriter } from './local-log-writer.ts'
import { type LogOptions, resolveLogOptions } from './log-options.ts'
import { LogSession } from './log-session.ts'
import type { LogWriter } from './log-writer.ts'
import { answerCalls, failureReply, LogWriterServer } from './log-writer-server.ts'
import { RemoteLogWriter } from './remote-log-writer.ts'
import { connectSocket } from './socket-port.ts'

/** A log that this thread owns. */
interface OwnedLog {
  readonly writer: Promise<LocalLogWriter>
  /** Undefined where the directory cannot hold a socket. */
  readonly server: Promise<LogWriterServer | undefined>
  /** Uses of the writer by threads of this process. The last one to end closes the log. */
  users: number
}

/** Asks a thread to serve the log at the directory `weirLog` on `port`. */
interface ThreadRequest {
  readonly weirLog: string
  readonly options: PortableOptions
  readonly port: MessagePort
}

/** The options that can be sent to another thread. */
type PortableOptions = Omit<LogOptions, 'clock' | 'files' | 'warn' | 'newId'>

const owned = new Map<string, OwnedLog>()
/** Logs whose last use has ended and that are still being closed. */
const closing = new Map<string, Promise<void>>()
let isServing = false
const MAIN_THREAD = 0
const HANDOVER_TIMEOUT_MS = 10_000
const FIRST_REACH_MS = 20
const LONGEST_REACH_MS = 500
/** A wait for the owner that takes longer is reported, ms. */
const REPORTED_WAIT_MS = 5_000
/** Attempts at a socket where nothing listens, before its owner counts as ended. */
const REFUSED_ATTEMPTS = 3

/**
 * Lets this thread own logs on behalf of other threads of the process. Repeated calls have no effect.
 * The main thread owns a process's logs if it called this, as a `LogSink` does.
 */
export function serveLogsToThreads(): void {
  if (isServing) return
  isServing = true
  process.on('workerMessage', (message: unknown) => {
    if (isThreadRequest(message)) void serveThread(message)
  })
}

function isThreadRequest(message: unknown): message is ThreadRequest {
  return typeof message === 'object' && message !== null && 'weirLog' in message
}

/**
 * Connects to the writer of a log's directory, which must be a real path. Each call counts as one use;
 * `close` of the returned writer ends it. Throws LOG_LOCKED.
 *
 * One thread of one process owns a directory and holds its lock. Other threads of the process reach it
 * by a message port, which `postMessageToThread` hands over, and transfer their batches. Because there
 * is one owner, offsets, transactions and fencing are plain single-threaded code, its event loop gives
 * group commit, and a slot thread that is killed during an append leaves nothing half done.
 *
 * Other processes of the machine reach the owner by a socket in the directory, so that a command can
 * write beside a job. The log closes when the last use inside its own process ends: calls of other
 * processes are answered first, and those that come later go to the next owner (`FollowingLogWriter`).
 */
export async function connectLogWriter(directory: string, options: LogOptions): Promise<LogWriter> {
  serveLogsToThreads()
  await closing.get(directory)
  const log = owned.get(directory)
  if (log !== undefined) return await shareWriter(directory, log)
  if (!isMainThread) {
    const remote = await askThread(MAIN_THREAD, directory, options)
    if (remote !== undefined) return remote
  }
  return await ownOrFollow(directory, options)
}

async function ownOrFollow(directory: string, options: LogOptions): Promise<LogWriter> {
  const writer = await ownOrReach(directory, options)
  if (!(writer instanceof RemoteLogWriter)) return writer
  return new FollowingLogWriter(writer, () => ownOrReach(directory, options))
}

async function ownOrReach(directory: string, options: LogOptions): Promise<LogWriter> {
  const sinceMs = performance.now()
  const { ownerWaitMs: limitMs, warn } = resolveLogOptions(options)
  let isReported = false
  for (let attempt = 1; ; attempt++) {
    await closing.get(directory)
    const waitedMs = performance.now() - sinceMs
    if (!isReported && waitedMs >= REPORTED_WAIT_MS) {
      isReported = true
      warn(
        `waiting for the process that owns ${directory}, which lives but does not answer: it opens or closes the log, or gets no processor time; given up after ${limitMs / 1000} s`,
      )
    }
    const lock = await lockOrReach(directory, { attempt, waitedMs, limitMs })
    if (lock === undefined) continue
    if (lock instanceof RemoteLogWriter) return lock
    if (lock.kind === 'taken') return await shareWriter(directory, openOwned(directory, options))
    if (lock.threadId !== threadId) {
      const remote = await askThread(lock.threadId, directory, options)
      if (remote !== undefined) return remote
    }
    const log = owned.get(directory)
    if (log !== undefined) return await shareWriter(directory, log)
    // The thread that held the lock has ended.
    releaseLock(directory, lock.threadId)
  }
}

/**
 * Takes the lock, or connects to the process that holds it. Undefined: try again. Throws LOG_LOCKED
 * when that process does not answer.
 */
async function lockOrReach(
  directory: string,
  reach: Omit<FailedReach, 'isRefused'>,
): Promise<LockResult | RemoteLogWriter | undefined> {
  const lock = tryLock(directory)
  if (!(lock instanceof WeirError)) return lock
  const remote = await reachProcess(directory)
  if (remote instanceof RemoteLogWriter) return remote
  let decision = decideReach({ isRefused: remote === 'refused', ...reach })
  if (decision === 'owner-has-ended') {
    const ended = tryLock(directory, true)
    if (!(ended instanceof WeirError)) return ended
    // A new owner lives, and has not yet removed the socket of the one before.
    decision = decideReach({ isRefused: false, ...reach })
  }
  if (typeof decision === 'string') throw lock
  await sleep(decision.waitMs)
  return undefined
}

/** The lock, or LOG_LOCKED as a value. */
function tryLock(directory: string, isRefused = false): LockResult | WeirError {
  try {
    return takeLock(directory, threadId, isRefused)
  } catch (error) {
    if (isWeirError(error, 'LOG_LOCKED')) return error
    throw error
  }
}

/** An attempt to reach the process that holds the lock, which failed. */
export interface FailedReach {
  /** Whether a socket exists where nothing listens. */
  readonly isRefused: boolean
  /** Number of the attempt, from 1. */
  readonly attempt: number
  readonly waitedMs: number
  /** See `LogOptions.ownerWaitMs`. */
  readonly limitMs: number
}

/**
 * What follows a failed attempt. A living owner without a socket opens or closes the log, which takes long on
 * a slow machine: a job that waits for it saves a restart.
 */
export function decideReach({
  isRefused,
  attempt,
  waitedMs,
  limitMs,
}: FailedReach): 'owner-has-ended' | 'give-up' | { readonly waitMs: number } {
  // Not at once: a new owner removes the socket of the one before just after it has taken the lock.
  if (isRefused && attempt >= REFUSED_ATTEMPTS) return 'owner-has-ended'
  if (waitedMs >= limitMs) return 'give-up'
  return { waitMs: Math.min(LONGEST_REACH_MS, FIRST_REACH_MS * 2 ** (attempt - 1)) }
}

async function reachProcess(directory: string): Promise<RemoteLogWriter | 'refused' | undefined> {
  const port = await connectSocket(directory)
  if (port === undefined || port === 'refused') return port
  const message = `the process that owned ${directory} has ended or closed it; try again`
  const remote = new RemoteLogWriter(port, () => new WeirError('LOG_LOCKED', message))
  try {
    await remote.opened()
    return remote
  } catch (error) {
    if (isWeirError(error) && error.message === message) return undefined
    throw error
  }
}

/** Opens a directory whose lock this thread holds, and serves it to other processes. */
function openOwned(directory: string, options: LogOptions): OwnedLog {
  LogWriterServer.removeSocket(directory)
  const writer = LocalLogWriter.open(directory, options)
  const server = writer.then(
    (opened) => LogWriterServer.listen(directory, opened),
    () => undefined,
  )
  const log: OwnedLog = { writer, server, users: 0 }
  owned.set(directory, log)
  writer.catch(() => {
    owned.delete(directory)
    releaseLock(directory, threadId)
  })
  return log
}

/** One use of a log that this thread owns: `close` ends the use. */
async function shareWriter(directory: string, log: OwnedLog): Promise<LogWriter> {
  log.users += 1
  const writer = await log.writer
  let closed = false
  return await LogSession.open(writer, {
    onClose: async () => {
      if (closed) return
      closed = true
      await endUse(directory, log)
    },
  })
}

async function endUse(directory: string, log: OwnedLog): Promise<void> {
  log.users -= 1
  if (log.users > 0) return
  owned.delete(directory)
  const done = closeOwned(log).finally(() => {
    closing.delete(directory)
    releaseLock(directory, threadId)
  })
  closing.set(
    directory,
    done.catch(() => undefined),
  )
  await done
}

async function closeOwned({ server, writer }: OwnedLog): Promise<void> {
  const listening = await server
  await listening?.stop()
  const closing = await writer
  let isClosed = false
  try {
    await closing.close()
    isClosed = true
  } finally {
    // After a failure, only this owner knows which acknowledged records may be lost.
    listening?.close(isClosed && closing.failures === 0)
  }
}

/** Asks a thread to serve a log; undefined when it has ended or does not serve logs. */
async function askThread(
  thread: number,
  directory: string,
  { clock: _clock, files: _files, warn: _warn, newId: _newId, ...options }: LogOptions,
): Promise<LogWriter | undefined> {
  const { port1, port2 } = new MessageChannel()
  const remote = new RemoteLogWriter(
    port1,
    () => new WeirError('CONNECTOR_FAILED', 'the thread that owns the log ended or closed it'),
  )
  const request: ThreadRequest = { weirLog: directory, options, port: port2 }
  try {
    await postMessageToThread(thread, request, [port2], HANDOVER_TIMEOUT_MS)
  } catch {
    port1.close()
    return undefined
  }
  await remote.opened()
  return remote
}

/** Serves a log to another thread until its port closes. */
async function serveThread({ weirLog, options, port }: ThreadRequest): Promise<void> {
  let writer: LogWriter
  try {
    const log = owned.get(weirLog)
    writer = await (log === undefined ? ownOrFollow(weirLog, options) : shareWriter(weirLog, log))
  } catch (error) {
    port.postMessage(failureReply(0, error))
    port.close()
    return
  }
  port.on('close', () => {
    writer.close().catch(() => undefined)
  })
  answerCalls(writer, port, { returnBuffers: true })
  port.unref()
}
