import { connect, type Socket } from 'node:net'
import type { Cancel, Clock } from '../../../core/clock.ts'
import { systemCodeOf } from '../../../files/file-system.ts'
import { socketPathOf } from './peer-address.ts'

/** Longest member id that is taken. */
const MOST_ID_BYTES = 255
const ID = /^[\x21-\x7e]+$/

/** A link that lasted less than this is opened again after as long, ms. */
const SHORT_MS = 1_000

/** Called with the member id of a process that is gone: its socket is there, and no process listens to it. */
export type PeerGone = (memberId: string) => void

/**
 * Connections to the sockets of the other processes of this machine. One that is closed is opened again at once; if
 * that is refused, the process has ended, whatever its session says.
 */
export class PeerLinks {
  private readonly clock: Clock
  private readonly gone: PeerGone
  private readonly links = new Map<string, PeerLink>()

  constructor(clock: Clock, gone: PeerGone) {
    this.clock = clock
    this.gone = gone
  }

  /** Looks at the processes with these addresses, and at no others. */
  follow(addresses: readonly string[]): void {
    const wanted = new Set(addresses.flatMap((address) => socketPathOf(address) ?? []))
    for (const [path, link] of this.links) {
      if (wanted.has(path)) continue
      link.close()
      this.links.delete(path)
    }
    for (const path of wanted) {
      if (!this.links.has(path)) this.links.set(path, new PeerLink(path, this.clock, this.gone))
    }
  }

  close(): void {
    this.follow([])
  }
}

class PeerLink {
  private readonly path: string
  private readonly clock: Clock
  private readonly gone: PeerGone
  private socket: Socket | undefined
  private memberId: string | undefined
  private openedMs = 0
  private cancelOpen: Cancel | undefined
  private isClosed = false

  constructor(path: string, clock: Clock, gone: PeerGone) {
    this.path = path
    this.clock = clock
    this.gone = gone
    this.open()
  }

  close(): void {
    this.isClosed = true
    this.cancelOpen?.()
    this.socket?.destroy()
  }

  private open(): void {
    this.openedMs = this.clock.monotonicMs()
    const socket = connect(this.path)
    this.socket = socket
    socket.unref()
    let text = ''
    socket.setEncoding('latin1')
    socket.on('data', (more: string) => {
      text = this.read(text + more)
      if (text.length > MOST_ID_BYTES) socket.destroy()
    })
    let isOpen = false
    let refusal: string | undefined
    socket.on('connect', () => {
      isOpen = true
    })
    socket.on('error', (error) => {
      refusal = systemCodeOf(error)
    })
    // The end of a process may be an error of the connection, too.
    socket.on('close', () => this.closed(isOpen ? undefined : refusal))
  }

  /** Takes the lines that are whole; returns the rest. */
  private read(text: string): string {
    const lines = text.split('\n')
    const rest = lines.pop()!
    const id = lines.at(-1)
    if (id !== undefined && id.length <= MOST_ID_BYTES && ID.test(id)) this.memberId = id
    return rest
  }

  /** `refusal`: why no connection came about; undefined for one that has ended. */
  private closed(refusal: string | undefined): void {
    if (this.isClosed) return
    if (refusal === 'ECONNREFUSED') {
      const { memberId } = this
      this.isClosed = true
      if (memberId !== undefined) this.gone(memberId)
    } else if (refusal === undefined) this.openAgain()
    // Another failure says nothing of the process: its session does.
  }

  /** At once, so that an end is noticed; later where each link is closed as soon as it is open. */
  private openAgain(): void {
    if (this.clock.monotonicMs() - this.openedMs >= SHORT_MS) this.open()
    else this.cancelOpen = this.clock.after(SHORT_MS, () => this.open())
  }
}
