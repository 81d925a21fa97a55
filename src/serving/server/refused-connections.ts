import { BlockList, type Socket } from 'node:net'
import type { Cancel, Clock } from '../../core/clock.ts'
import type { WeirError } from '../../core/errors.ts'
import { writeErrorFrame } from '../../wire/answer.ts'
import { KIND } from '../../wire/frame.ts'
import { FrameWriter } from '../../wire/frame-writer.ts'

/** Answered connections that may be open to read why, at a time. */
const KEPT = 128
/** Refused connections of a second that are sent the reason at once; the others wait for their turn. */
const AT_ONCE_PER_SECOND = 100
/** Connections that are answered in a turn, and the time between two turns: 200 a second. */
const ANSWERED_A_TURN = 4
const TURN_MS = 20
/** Time that a peer has to read the reason before the socket is destroyed. */
const LINGER_MS = 2_000

/** Decides whether a connection from an address is refused now. */
export type IsRefused = (address: string) => boolean

/** Options of refused connections. */
export interface RefusedConnectionsOptions {
  /** Connections that may wait for their answer at a time. */
  readonly mostWaiting: number
  /** Asked for each new connection while as many wait. */
  readonly isRefused: IsRefused
  readonly clock: Clock
}

/**
 * Connections that the server does not serve. Each is sent an error frame and closed. A peer that connects
 * again as soon as it is refused must not take the thread's time from the clients that are served: above some
 * refusals a second, connections wait, unread, and are answered a few at a time; what a peer has waiting it
 * cannot open again. When too many wait, connections are closed before there is a socket object for them.
 */
export class RefusedConnections {
  /** Closes connections before they become sockets; an option of the server. */
  readonly blockList: BlockList
  private readonly options: RefusedConnectionsOptions
  /** Sockets that wait for their answer, the oldest first. */
  private readonly waiting = new Map<Socket, WeirError>()
  /** Sockets that were answered, and when. */
  private readonly answered = new Map<Socket, number>()
  private answeredAtOnce = 0
  private cancelTurn: Cancel | undefined

  constructor(options: RefusedConnectionsOptions) {
    this.options = options
    this.blockList = new RefusedPeers((address) => !this.hasRoom && options.isRefused(address))
  }

  /** Sends the reason and closes the socket, now or in its turn; closes it at once when too many wait. */
  refuse(socket: Socket, reason: WeirError): void {
    socket.on('error', () => {})
    if (!this.hasRoom) {
      socket.destroy()
      return
    }
    socket.on('close', () => {
      this.waiting.delete(socket)
      this.answered.delete(socket)
    })
    if (this.mayAnswer) {
      this.answeredAtOnce += 1
      this.answer(socket, reason)
      return
    }
    socket.pause()
    this.waiting.set(socket, reason)
    this.schedule()
  }

  private get hasRoom(): boolean {
    return this.mayAnswer || this.waiting.size < this.options.mostWaiting
  }

  private get mayAnswer(): boolean {
    return this.answered.size < KEPT && this.answeredAtOnce < AT_ONCE_PER_SECOND
  }

  private answer(socket: Socket, reason: WeirError): void {
    this.answered.set(socket, this.options.clock.monotonicMs())
    const writer = new FrameWriter(256)
    writeErrorFrame(writer, KIND.error, 0, reason)
    socket.end(writer.written())
    // Unread input would reset the connection before the peer reads the reason.
    socket.resume()
  }

  private schedule(): void {
    this.cancelTurn ??= this.options.clock.after(TURN_MS, this.turn)
  }

  /** Answers those that have waited longest; one that cannot be kept to read the reason is closed. */
  private readonly turn = (): void => {
    this.cancelTurn = undefined
    let left = ANSWERED_A_TURN
    for (const [socket, reason] of this.waiting) {
      if (left-- === 0) break
      this.waiting.delete(socket)
      if (this.answered.size < KEPT) this.answer(socket, reason)
      else socket.destroy()
    }
    if (this.waiting.size > 0) this.schedule()
  }

  /** Ends what has lingered too long. Call it about once a second. */
  sweep(now: number): void {
    this.answeredAtOnce = 0
    for (const [socket, answeredAt] of this.answered) {
      if (now - answeredAt > LINGER_MS) socket.destroy()
    }
  }

  /** Closes those that wait: no further one is answered. */
  close(): void {
    this.cancelTurn?.()
    for (const socket of this.waiting.keys()) socket.destroy()
  }

  /** Closes all at once. */
  destroy(): void {
    this.close()
    for (const socket of this.answered.keys()) socket.destroy()
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
