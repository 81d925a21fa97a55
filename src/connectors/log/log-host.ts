import { setTimeout as sleep } from 'node:timers/promises'
import {
  isMainThread,
  MessageChannel,
  type MessagePort,
  postMessageToThread,
  threadId,
} from 'node:worker_threads'
import { isWeirError, messageOf, WeirError } from '../../core/errors.ts'
import { type LockResult, releaseLock, takeLock } from './directory-lock.ts'
import type { LogBackend } from './log-backend.ts'
import { type LogOptions, LogOwner } from './log-owner.ts'
import { connectSocket, LogSocketServer } from './log-socket.ts'
import {
  callBackend,
  REMOTE_REVISION,
  RemoteLog,
  type RemotePort,
  type RemoteReply,
  type RemoteRequest,
} from './remote-log.ts'

/**
 * One thread per process owns a log directory; it is the main thread wherever that loaded this
 * module's `installLogHost` (a `LogSink` does). Every other thread reaches it by a message port,
 * handed over with `postMessageToThread`, and transfers its batches. One owner makes offsets,
 * transactions and fencing plain single-threaded code, and its event loop gives group commit; a slot
 * thread that is killed in the middle of an append can leave nothing half done.
 *
 * Other processes of the machine reach the owner by a socket in the folder, so that a command can write
 * beside a job. The owner closes when its own users have left: what other processes had under way then
 * is answered first, and their next call finds the log free.
 */
interface HostedLog {
  readonly owner: Promise<LogOwner>
  readonly socket: Promise<LogSocketServer | undefined>
  users: number
  /** Calls of other processes that have no answer yet. */
  readonly underWay: Set<Promise<unknown>>
}

/** Asks a thread to serve the log at `directory` on `port`. */
interface HostRequest {
  readonly weirLog: string
  readonly options: HostOptions
  readonly port: MessagePort
}

/** The options that can travel between threads. */
type HostOptions = Omit<LogOptions, 'clock'>

const hosted = new Map<string, HostedLog>()
/** Logs whose last user has left and that are still being closed. */
const closing = new Map<string, Promise<void>>()
let installed = false
const MAIN_THREAD = 0
const HANDOVER_TIMEOUT_MS = 10_000
/** Attempts to reach a process that holds the lock but does not serve yet, or does no more. */
const REACHES = 10
const REACH_EVERY_MS = 20

/** Lets this thread own logs on behalf of other threads. Harmless when called again. */
export function installLogHost(): void {
  if (installed) return
  installed = true
  process.on('workerMessage', (message: unknown) => {
    if (!isHostRequest(message)) return
    void serve(message)
  })
}

function isHostRequest(message: unknown): message is HostRequest {
  return typeof message === 'object' && message !== null && 'weirLog' in message
}

/**
 * The writer of `directory` (a real path): this thread's own, or a proxy of the thread or process that
 * has it.
 * Each call counts as one user; `close` of what is returned ends that use. Throws LOG_LOCKED.
 */
export async function connectLog(directory: string, options: LogOptions): Promise<LogBackend> {
  installLogHost()
  await closing.get(directory)
  const here = hosted.get(directory)
  if (here !== undefined) return await share(directory, here)
  if (!isMainThread) {
    const { clock: _clock, ...portable } = options
    const remote = await askThread(MAIN_THREAD, directory, portable)
    if (remote !== undefined) return remote
  }
  return await ownOrReach(directory, options)
}

async function ownOrReach(directory: string, options: LogOptions): Promise<LogBackend> {
  for (let attempt = 1; ; attempt++) {
    await closing.get(directory)
    const lock = await lockOrReach(directory, attempt)
    if (lock === undefined) continue
    if (lock instanceof RemoteLog) return lock
    if (lock.kind === 'taken') return await share(directory, host(directory, options))
    if (lock.threadId !== threadId) {
      const { clock: _clock, ...portable } = options
      const remote = await askThread(lock.threadId, directory, portable)
      if (remote !== undefined) return remote
    }
    const here = hosted.get(directory)
    if (here !== undefined) return await share(directory, here)
    // The thread that held the lock is gone.
    releaseLock(directory, lock.threadId)
  }
}

/** The lock, or the process that has it; undefined to try again. Throws LOG_LOCKED when nobody answers. */
async function lockOrReach(
  directory: string,
  attempt: number,
): Promise<LockResult | RemoteLog | undefined> {
  try {
    return takeLock(directory, threadId)
  } catch (error) {
    if (!isWeirError(error, 'LOG_LOCKED')) throw error
    const remote = await reachProcess(directory)
    if (remote !== undefined) return remote
    if (attempt >= REACHES) throw error
    await sleep(REACH_EVERY_MS)
    return undefined
  }
}

async function reachProcess(directory: string): Promise<RemoteLog | undefined> {
  const port = await connectSocket(directory)
  if (port === undefined) return undefined
  const message = `the process that owned ${directory} has ended or closed it; try again`
  const gone = (): WeirError => new WeirError('LOG_LOCKED', message)
  const remote = new RemoteLog(port, gone)
  try {
    await remote.opened()
    return remote
  } catch (error) {
    if (isWeirError(error) && error.message === message) return undefined
    throw error
  }
}

function host(directory: string, options: LogOptions): HostedLog {
  const owner = LogOwner.open(directory, options)
  const underWay = new Set<Promise<unknown>>()
  const socket = owner.then(
    (backend) => LogSocketServer.listen(directory, (port) => serveProcess(backend, port, underWay)),
    () => undefined,
  )
  const log: HostedLog = { owner, socket, users: 0, underWay }
  hosted.set(directory, log)
  log.owner.catch(() => {
    hosted.delete(directory)
    releaseLock(directory, threadId)
  })
  return log
}

/** A view on a log of this thread that gives up one use when it is closed. */
async function share(directory: string, log: HostedLog): Promise<LogBackend> {
  log.users += 1
  const owner = await log.owner
  let closed = false
  return {
    createTopic: (topic, config) => owner.createTopic(topic, config),
    setPartitions: (topic, partitions) => owner.setPartitions(topic, partitions),
    deleteTopic: (topic) => owner.deleteTopic(topic),
    append: (topic, partition, batch, id) => owner.append(topic, partition, batch, id),
    sync: (topic) => owner.sync(topic),
    initProducer: (id) => owner.initProducer(id),
    endTransaction: (producer, commit) => owner.endTransaction(producer, commit),
    listTransactions: (prefix) => owner.listTransactions(prefix),
    clean: () => owner.clean(),
    close: async () => {
      if (closed) return
      closed = true
      await leave(directory, log)
    },
  }
}

async function leave(directory: string, log: HostedLog): Promise<void> {
  log.users -= 1
  if (log.users > 0) return
  hosted.delete(directory)
  const done = stopServing(log)
    .then(() => log.owner)
    .then((owner) => owner.close())
    .finally(() => {
      closing.delete(directory)
      releaseLock(directory, threadId)
    })
  closing.set(
    directory,
    done.catch(() => undefined),
  )
  await done
}

async function stopServing({ socket, underWay }: HostedLog): Promise<void> {
  const server = await socket
  await Promise.allSettled(underWay)
  server?.close()
}

/** Serves another process until it goes or the log is closed. */
function serveProcess(
  backend: LogBackend,
  port: RemotePort,
  underWay: Set<Promise<unknown>>,
): void {
  port.on('message', (request) => {
    const answering = answer(backend, request as RemoteRequest).then((reply) => {
      port.postMessage(reply)
      underWay.delete(answering)
    })
    underWay.add(answering)
  })
  port.postMessage({ id: 0, value: REMOTE_REVISION } satisfies RemoteReply)
}

/** Asks a thread to serve; undefined when it is gone or serves no logs. */
async function askThread(
  thread: number,
  directory: string,
  options: HostOptions,
): Promise<LogBackend | undefined> {
  const { port1, port2 } = new MessageChannel()
  const remote = new RemoteLog(
    port1,
    () => new WeirError('CONNECTOR_FAILED', 'the thread that owns the log ended or closed it'),
  )
  const request: HostRequest = { weirLog: directory, options, port: port2 }
  try {
    await postMessageToThread(thread, request, [port2], HANDOVER_TIMEOUT_MS)
  } catch {
    port1.close()
    return undefined
  }
  await remote.opened()
  return remote
}

/** Serves one port until its other end closes. */
async function serve({ weirLog, options, port }: HostRequest): Promise<void> {
  let backend: LogBackend
  try {
    const here = hosted.get(weirLog)
    backend = await (here === undefined ? ownOrReach(weirLog, options) : share(weirLog, here))
  } catch (error) {
    port.postMessage(failureReply(0, error))
    port.close()
    return
  }
  port.on('message', (request: RemoteRequest) => {
    void answer(backend, request).then((reply) => port.postMessage(reply))
  })
  port.on('close', () => {
    backend.close().catch(() => undefined)
  })
  port.unref()
  port.postMessage({ id: 0, value: REMOTE_REVISION } satisfies RemoteReply)
}

async function answer(backend: LogBackend, request: RemoteRequest): Promise<RemoteReply> {
  try {
    return { id: request.id, value: await callBackend(backend, request) }
  } catch (error) {
    return failureReply(request.id, error)
  }
}

function failureReply(id: number, error: unknown): RemoteReply {
  if (isWeirError(error)) {
    return { id, failure: { code: error.code, message: error.message, details: error.details } }
  }
  const failure = new WeirError('CONNECTOR_FAILED', messageOf(error))
  return { id, failure: { code: failure.code, message: failure.message, details: {} } }
}
