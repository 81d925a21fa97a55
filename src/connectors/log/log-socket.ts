import { chmodSync, rmSync } from 'node:fs'
import { createConnection, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import type { RemotePort } from './remote-log.ts'

/** Name of the socket in a log's folder. */
const SOCKET = '.owner.sock'
/** Bytes of the longest path that every system takes for a socket. */
const LONGEST_PATH = 100
/** Longest message: a batch and what stands around it. */
const LONGEST_MESSAGE = 2 ** 30
const HEADER = 4

/**
 * One end of a socket between two processes of one log, as a port: each message is its length (u32,
 * little-endian) and its structured clone. Both ends are of the same build or do not understand each
 * other, which the first message tells.
 */
export class SocketPort implements RemotePort {
  private readonly socket: Socket
  private readonly listeners: ((message: unknown) => void)[] = []
  private rest: Buffer = Buffer.alloc(0)

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => this.take(chunk))
    // What ends a socket is told by its close.
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
    this.rest = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk])
    while (this.rest.length >= HEADER) {
      const length = this.rest.readUInt32LE(0)
      if (length > LONGEST_MESSAGE) {
        this.socket.destroy()
        return
      }
      if (this.rest.length < HEADER + length) return
      const message: unknown = deserialize(this.rest.subarray(HEADER, HEADER + length))
      this.rest = this.rest.subarray(HEADER + length)
      for (const listener of this.listeners) listener(message)
    }
  }
}

/** The path of a log's socket; undefined where it is too long for one, and the log is not shared. */
function socketPath(directory: string): string | undefined {
  const path = join(directory, SOCKET)
  return Buffer.byteLength(path) > LONGEST_PATH ? undefined : path
}

/** Takes connections of other processes to the log of a folder that this process owns. */
export class LogSocketServer {
  private readonly server: Server
  private readonly path: string
  private readonly ports = new Set<SocketPort>()

  private constructor(path: string, onPort: (port: SocketPort) => void) {
    this.path = path
    this.server = createServer((socket) => {
      const port = new SocketPort(socket)
      // Whoever serves lives as long as its own work.
      port.unref()
      this.ports.add(port)
      port.on('close', () => this.ports.delete(port))
      onPort(port)
    })
  }

  /** Listens; undefined where the folder cannot hold a socket. */
  static async listen(
    directory: string,
    onPort: (port: SocketPort) => void,
  ): Promise<LogSocketServer | undefined> {
    const path = socketPath(directory)
    if (path === undefined) return undefined
    // Of an owner that was killed: this one holds the lock.
    rmSync(path, { force: true })
    const server = new LogSocketServer(path, onPort)
    const isListening = await new Promise<boolean>((resolve) => {
      server.server.once('error', () => resolve(false))
      server.server.listen(path, () => resolve(true))
    })
    if (!isListening) return undefined
    server.server.unref()
    chmodSync(path, 0o600)
    return server
  }

  /** Takes no more connections and ends those there are. */
  close(): void {
    this.server.close()
    for (const port of this.ports) port.close()
    rmSync(this.path, { force: true })
  }
}

/** A port to the process that owns the log of a folder; undefined when nobody answers there. */
export async function connectSocket(directory: string): Promise<SocketPort | undefined> {
  const path = socketPath(directory)
  if (path === undefined) return undefined
  const socket = createConnection(path)
  const isConnected = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
  })
  return isConnected ? new SocketPort(socket) : undefined
}
