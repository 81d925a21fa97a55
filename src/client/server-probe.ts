import type { Cancel, Clock } from '../core/clock.ts'

/** A server that sends nothing for this long after a ping is gone. */
const SILENCE_MS = 2000

/** The connection of a probe. */
export interface ProbedConnection {
  /** Whether requests can be sent. */
  readonly isOpen: boolean
  /** Sends a ping, which the server answers. */
  ping(): void
  /** The server did not answer within `silentMs`. */
  silent(silentMs: number): void
}

/**
 * Keeps an idle connection open, and finds out whether its server is still there: a connection that a
 * firewall forgot, or whose peer vanished, looks open for hours.
 */
export class ServerProbe {
  private readonly clock: Clock
  private readonly connection: ProbedConnection
  /** Pieces that the server has sent. */
  private received = 0
  private cancelKeepAlive: Cancel | undefined
  private cancelProbe: Cancel | undefined

  constructor(clock: Clock, connection: ProbedConnection) {
    this.clock = clock
    this.connection = connection
  }

  /** The server has sent something. */
  onReceived(): void {
    this.received += 1
  }

  /** Reports the server as silent unless it sends something soon. */
  start(): void {
    if (this.cancelProbe !== undefined || !this.connection.isOpen) return
    const { received } = this
    this.connection.ping()
    this.cancelProbe = this.clock.after(SILENCE_MS, () => {
      this.cancelProbe = undefined
      if (this.received === received) this.connection.silent(SILENCE_MS)
    })
  }

  /** The server closes a connection without requests after this time: three pings per timeout keep it open. */
  keepAlive(idleTimeoutMs: number): void {
    if (idleTimeoutMs <= 0) return
    this.cancelKeepAlive = this.clock.after(idleTimeoutMs / 3, () => {
      this.connection.ping()
      this.keepAlive(idleTimeoutMs)
    })
  }

  close(): void {
    this.cancelKeepAlive?.()
    this.cancelProbe?.()
  }
}
