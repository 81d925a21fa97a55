import {
  isMainThread,
  MessageChannel,
  type MessagePort,
  postMessageToThread,
  threadId,
} from 'node:worker_threads'
import { isWeirError, messageOf, WeirError } from '../../core/errors.ts'
import { releaseLock, takeLock } from './directory-lock.ts'
import type { LogBackend } from './log-backend.ts'
import { type LogOptions, LogOwner } from './log-owner.ts'
import { callBackend, RemoteLog, type RemoteReply, type RemoteRequest } from './remote-log.ts'

/**
 * One thread per process owns a log directory; it is the main thread wherever that loaded this
 * module's `installLogHost` (a `LogSink` does). Every other thread reaches it by a message port,
 * handed over with `postMessageToThread`, and transfers its batches. One owner makes offsets,
 * transactions and fencing plain single-threaded code, and its event loop gives group commit; a slot
 * thread that is killed in the middle of an append can leave nothing half done.
 */
interface HostedLog {
  readonly owner: Promise<LogOwner>
  users: number
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
 * The writer of `directory` (a real path): this thread's own, or a proxy of the thread that has it.
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
  for (;;) {
    await closing.get(directory)
    const lock = takeLock(directory, threadId)
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

function host(directory: string, options: LogOptions): HostedLog {
  const log: HostedLog = { owner: LogOwner.open(directory, options), users: 0 }
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
  const done = log.owner
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

/** Asks a thread to serve; undefined when it is gone or serves no logs. */
async function askThread(
  thread: number,
  directory: string,
  options: HostOptions,
): Promise<LogBackend | undefined> {
  const { port1, port2 } = new MessageChannel()
  const remote = new RemoteLog(port1)
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
  port.postMessage({ id: 0, value: undefined } satisfies RemoteReply)
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
