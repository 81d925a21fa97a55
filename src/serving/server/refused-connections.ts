import { BlockList, type Socket } from 'node:net'
import type { WeirError } from '../../core/errors.ts'
import { writeErrorFrame } from '../../wire/answer.ts'
import { KIND } from '../../wire/frame.ts'
import { FrameWriter } from '../../wire/frame-writer.ts'

/** Refused connections that may be open to read why, at a time. */
const KEPT = 128
/** Refused connections of a second that are sent the reason; the others are closed without. */
const ANSWERED_PER_SECOND = 100
/** Time that a peer has to read the reason before the socket is destroyed. */
const LINGER_MS = 2_000

/** Decides whether a connection from an address is refused now. */
export type IsRefused = (address: string) => boolean

/**
 * Connections that the server does not serve. Each is sent an error frame and closed. A peer that connects
 * again and again must not take the thread's time from the clients that are served: above some refusals a
 * second, connections are closed without an answer, and before there is a socket object for them.
 */
export class RefusedConnections {
  /** Closes connections before they become sockets; an option of the server. */
  readonly blockList: BlockList
  /** Open sockets, and when they were refused. */
  private readonly sockets = new Map<Socket, number>()
  private answered = 0

  /** `isRefused` is asked for each new connection once the refusals of this second are answered. */
  constructor(isRefused: IsRefused) {
    this.blockList = new RefusedPeers((address) => !this.mayAnswer && isRefused(address))
  }

  private get mayAnswer(): boolean {
    return this.sockets.size < KEPT && this.answered < ANSWERED_PER_SECOND
  }

  /** Sends the reason and closes the socket. */
  refuse(socket: Socket, reason: WeirError, now: number): void {
    socket.on('error', () => {})
    if (!this.mayAnswer) {
      socket.destroy()
      return
    }
    this.answered += 1
    this.sockets.set(socket, now)
    socket.on('close', () => this.sockets.delete(socket))
    const writer = new FrameWriter(256)
    writeErrorFrame(writer, KIND.error, 0, reason)
    socket.end(writer.written())
    // Unread input would reset the connection before the peer reads the reason.
    socket.resume()
  }

  /** Ends what has lingered too long. Call it about once a second. */
  sweep(now: number): void {
    this.answered = 0
    for (const [socket, refusedAt] of this.sockets) {
      if (now - refusedAt > LINGER_MS) socket.destroy()
    }
  }

  /** Closes all at once. */
  destroy(): void {
    for (const socket of this.sockets.keys()) socket.destroy()
  }
}

/** A block list whose addresses are decided when they connect. */
class RefusedPeers extends BlockList {
  private readonly isRefused: IsRefused

  constructor(isRefused: IsRefused) {
    super()
    this.isRefused = isRefused
  }

  override check(address: unknown): boolean {
    return this.isRefused(address as string)
  }
}
