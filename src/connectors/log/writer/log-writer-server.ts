import { chmodSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { asWeirError, requireArgument, WeirError } from '../../../core/errors.ts'
import type { LocalLogWriter } from './local-log-writer.ts'
import { LogSession } from './log-session.ts'
import type { LogWriter } from './log-writer.ts'
import {
  HANDED_OVER,
  REMOTE_REVISION,
  type RemotePort,
  type RemoteReply,
  type RemoteRequest,
} from './remote-protocol.ts'
import { SocketPort, socketPath } from './socket-port.ts'

/** Serves the log writer of this process to other processes, through a socket in the directory. */
export class LogWriterServer {
  private readonly server: Server
  private readonly path: string
  private readonly ports = new Set<SocketPort>()
  private readonly calls = new CallsInProgress()

  private constructor(path: string, writer: LocalLogWriter) {
    this.path = path
    this.server = createServer((socket) => {
      const port = new SocketPort(socket)
      // A connection of another process does not keep this process alive.
      port.unref()
      this.ports.add(port)
      const session = LogSession.open(writer, { checkBatches: true })
      port.on('close', () => {
        this.ports.delete(port)
        this.endSession(session)
      })
      answerCalls(session, port, { calls: this.calls })
    })
  }

  /** Ends the session of a process that has ended. After `stop` its transactions are the next owner's. */
  private endSession(session: Promise<LogSession>): void {
    if (this.calls.areRefused) return
    const ending = session
      .then((opened) => opened.close())
      .catch(() => undefined)
      .then(() => {
        this.calls.answering.delete(ending)
      })
    this.calls.answering.add(ending)
  }

  /** Listens; undefined where the directory cannot hold a socket. The caller holds its lock. */
  static async listen(
    directory: string,
    writer: LocalLogWriter,
  ): Promise<LogWriterServer | undefined> {
    const path = socketPath(directory)
    if (path === undefined) return undefined
    LogWriterServer.removeSocket(directory)
    const listening = new LogWriterServer(path, writer)
    const { server } = listening
    const isListening = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(path, () => resolve(true))
    })
    if (!isListening) return undefined
    server.unref()
    chmodSync(path, 0o600)
    return listening
  }

  /** Removes the socket of an owner that was killed. The caller holds the directory's lock. */
  static removeSocket(directory: string): void {
    const path = socketPath(directory)
    if (path !== undefined) rmSync(path, { force: true })
  }

  /** Answers the calls in progress, and executes no more. */
  async stop(): Promise<void> {
    this.server.close()
    rmSync(this.path, { force: true })
    this.calls.areRefused = true
    await Promise.allSettled(this.calls.answering)
  }

  /**
   * Ends all connections after `stop`. `isHandedOver`: everything that was acknowledged is in the files, so
   * that another process can continue.
   */
  close(isHandedOver: boolean): void {
    for (const port of this.ports) {
      if (isHandedOver) port.postMessage({ id: HANDED_OVER } satisfies RemoteReply)
      port.close()
    }
  }
}

/** Calls of one owner's callers that have no answer yet. */
class CallsInProgress {
  readonly answering = new Set<Promise<void>>()
  /** Whether calls that come now are not executed, and get no answer. */
  areRefused = false
}

/** How calls are answered. */
interface AnswerOptions {
  /** @default calls that no one else follows */
  readonly calls?: CallsInProgress
  /**
   * Whether the buffer of an appended batch is transferred back: a thread that keeps receiving new buffers
   * marks its whole heap for every few megabytes of them. Only a port between threads can. @default false
   */
  readonly returnBuffers?: boolean
}

/** The buffer of a batch that was appended. A write that failed may still read its batch. */
function appendedBuffer(request: RemoteRequest, reply: RemoteReply): ArrayBuffer | undefined {
  if (request.method !== 'append' || reply.failure !== undefined) return undefined
  return request.args[2].buffer
}

/**
 * Sends the revision to a port and answers every call that arrives there. A message that is no call ends the
 * connection.
 */
export function answerCalls(
  writer: LogWriter | Promise<LogWriter>,
  port: RemotePort,
  { calls = new CallsInProgress(), returnBuffers = false }: AnswerOptions = {},
): void {
  port.on('message', (message) => {
    if (!isRequest(message)) {
      port.close()
      return
    }
    if (calls.areRefused) return
    const answering = answer(writer, message).then((reply) => {
      const buffer = returnBuffers ? appendedBuffer(message, reply) : undefined
      if (buffer === undefined) port.postMessage(reply)
      else port.postMessage({ ...reply, buffer }, [buffer])
      calls.answering.delete(answering)
    })
    calls.answering.add(answering)
  })
  port.postMessage({ id: 0, value: REMOTE_REVISION } satisfies RemoteReply)
}

function isRequest(message: unknown): message is RemoteRequest {
  return (
    typeof message === 'object' &&
    message !== null &&
    'id' in message &&
    typeof message.id === 'number' &&
    'method' in message &&
    typeof message.method === 'string' &&
    'args' in message &&
    Array.isArray(message.args)
  )
}

async function answer(
  writer: LogWriter | Promise<LogWriter>,
  request: RemoteRequest,
): Promise<RemoteReply> {
  try {
    return { id: request.id, value: await callMethod(await writer, request) }
  } catch (error) {
    return failureReply(request.id, error)
  }
}

/** The reply of a call that failed. */
export function failureReply(id: number, error: unknown): RemoteReply {
  const { code, message, details } = asWeirError(error, 'CONNECTOR_FAILED')
  return { id, failure: { code, message, details } }
}

function callMethod(writer: LogWriter, request: RemoteRequest): Promise<unknown> {
  switch (request.method) {
    case 'createTopic':
      requireArgument(isConfig(request.args[1]), 'the configuration of a topic is an object')
      return writer.createTopic(...request.args)
    case 'setPartitions':
      return writer.setPartitions(...request.args)
    case 'deleteTopic':
      return writer.deleteTopic(...request.args)
    case 'deleteRecords':
      requireArgument(Number.isSafeInteger(request.args[2]), 'an offset is a whole number')
      return writer.deleteRecords(...request.args)
    case 'eraseRecords':
      requireArgument(Array.isArray(request.args[2]), 'offsets are a list')
      return writer.eraseRecords(...request.args)
    case 'append':
      requireBatch(request.args)
      return writer.append(...request.args)
    case 'sync':
      return writer.sync(...request.args)
    case 'initProducer':
      requireArgument(typeof request.args[0] === 'string', 'a transactional id is a text')
      return writer.initProducer(...request.args)
    case 'endTransaction':
      requireArgument(isConfig(request.args[0]), 'a transaction is named by an object')
      return writer.endTransaction(...request.args)
    case 'listTransactions':
      requireArgument(typeof request.args[0] === 'string', 'a prefix is a text')
      return writer.listTransactions(...request.args)
    case 'clean':
      return writer.clean(...request.args)
    default:
      throw new WeirError('UNSUPPORTED', 'the owner of the log has no such call')
  }
}

function isConfig(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

/** Refuses what would fail the partition for all its users. */
function requireBatch(args: readonly unknown[]): void {
  const [topic, partition, batch, id] = args
  const isWhole =
    typeof topic === 'string' &&
    typeof partition === 'number' &&
    batch instanceof Uint8Array &&
    (id === undefined || typeof id === 'string')
  requireArgument(isWhole, 'an append names a topic, a partition and one batch')
}
