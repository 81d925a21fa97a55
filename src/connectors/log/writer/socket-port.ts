import { createConnection, type Socket } from 'node:net'
import { join } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { WeirError } from '../../../core/errors.ts'
import { systemCodeOf } from '../../../files/file-system.ts'
import type { RemotePort } from './remote-protocol.ts'

/** Name of the socket in a log's directory. */
const SOCKET = '.owner.sock'
/** Longest path that every system accepts for a socket, bytes. */
const MAX_PATH_BYTES = 100
/** Longest message, bytes: a batch and its request. */
const MAX_MESSAGE_BYTES = 2 ** 30
const HEADER = 4

/**
 * One end of a socket between two processes, as a port. Each message is its length (u32,
 * little-endian) and its structured clone. Both processes must run the same release; the first message
 * carries the revision.
 */
export class SocketPort implements RemotePort {
  private readonly socket: Socket
  private readonly listeners: ((message: unknown) => void)[] = []
  /** Received bytes of messages that are not complete. */
  private received: Buffer[] = []
  private receivedBytes = 0
  /** Bytes that `received` must reach before the next message is complete. */
  private wanted = HEADER

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => this.take(chunk))
    // Every error is followed by `close`, which listeners get.
    socket.on('error', () => undefined)
  }

  on(event: string, listener: (message: unknown) => void): void {
    if (event === 'message') this.listeners.push(listener)
    else this.socket.on('close', () => listener(undefined))
  }

  postMessage(message: unknown): void {
    if (this.socket.destroyed) return
    const body = serialize(message)
    const header = Buffer.alloc(HEADER)
    header.writeUInt32LE(body.length)
    this.socket.cork()
    this.socket.write(header)
    this.socket.write(body)
    this.socket.uncork()
  }

  ref(): void {
    this.socket.ref()
  }

  unref(): void {
    this.socket.unref()
  }

  close(): void {
    this.socket.end()
  }

  private take(chunk: Buffer): void {
    if (this.socket.destroyed) return
    this.received.push(chunk)
    this.receivedBytes += chunk.length
    if (this.receivedBytes < this.wanted) return
    const bytes =
      this.received.length === 1 ? chunk : Buffer.concat(this.received, this.receivedBytes)
    try {
      this.keep(bytes.subarray(this.deliver(bytes)))
    } catch {
      // What is no message ends the connection: nothing that follows it can be understood.
      this.socket.destroy()
    }
  }

  /** Delivers all whole messages and returns the position after the last one. */
  private deliver(bytes: Buffer): number {
    let at = 0
    for (;;) {
      this.wanted = HEADER
      if (bytes.length - at < HEADER) return at
      const length = bytes.readUInt32LE(at)
      if (length > MAX_MESSAGE_BYTES) throw new WeirError('FRAME_TOO_LARGE', `${length} bytes`)
      this.wanted += length
      if (bytes.length - at < this.wanted) return at
      const message: unknown = deserialize(bytes.subarray(at + HEADER, at + this.wanted))
      at += this.wanted
      for (const listener of this.listeners) listener(message)
    }
  }

  private keep(rest: Buffer): void {
    this.received = rest.length === 0 ? [] : [rest]
    this.receivedBytes = rest.length
  }
}

/**
 * Path of the socket of a log's directory; undefined where the path is too long for a socket. Then
 * other processes cannot write to the log.
 */
export function socketPath(directory: string): string | undefined {
  const path = join(directory, SOCKET)
  return Buffer.byteLength(path) > MAX_PATH_BYTES ? undefined : path
}

/**
 * A port to the process that owns a log's directory; `refused` when nothing listens there, undefined
 * when there is no socket.
 */
export async function connectSocket(
  directory: string,
): Promise<SocketPort | 'refused' | undefined> {
  const path = socketPath(directory)
  if (path === undefined) return undefined
  const socket = createConnection(path)
  const failure = await new Promise<Error | undefined>((resolve) => {
    socket.once('connect', () => resolve(undefined))
    socket.once('error', resolve)
  })
  if (failure === undefined) return new SocketPort(socket)
  return systemCodeOf(failure) === 'ECONNREFUSED' ? 'refused' : undefined
}
