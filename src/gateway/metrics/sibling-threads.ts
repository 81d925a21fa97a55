import { BroadcastChannel } from 'node:worker_threads'
import { WeirError } from '../../core/errors.ts'

/** The threads that listen on one port together. Plain data. */
export interface SiblingGroup {
  /** Name of their channel, unique in the process. */
  readonly channel: string
  /** Number of threads. */
  readonly threads: number
  /** Number of this thread, from 0. */
  readonly thread: number
  /** Milliseconds in which every thread must answer. @default 5,000 */
  readonly timeoutMs?: number
}

type Message<T> =
  | { readonly kind: 'ask'; readonly from: number; readonly id: number }
  | { readonly kind: 'answer'; readonly to: number; readonly id: number; readonly value: T }

interface Waiting<T> {
  readonly values: T[]
  readonly done: (values: T[]) => void
}

const DEFAULT_TIMEOUT_MS = 5_000

/**
 * Collects a value of every thread of a gateway. A client reaches one thread, whichever the system
 * chooses, so each thread can ask the others.
 */
export class SiblingThreads<T> implements Disposable {
  private readonly group: SiblingGroup
  private readonly own: () => T
  private readonly channel: BroadcastChannel
  private readonly waiting = new Map<number, Waiting<T>>()
  private lastId = 0

  /** `own`: the value of this thread, which can be sent to another one. */
  constructor(group: SiblingGroup, own: () => T) {
    this.group = group
    this.own = own
    this.channel = new BroadcastChannel(group.channel)
    this.channel.unref()
    this.channel.onmessage = (event): void => {
      this.onMessage((event as { readonly data: Message<T> }).data)
    }
  }

  /**
   * The values of all threads, that of this one first. Rejects with UNAVAILABLE when a thread does not
   * answer: a sum without it would look as if counters had started again.
   */
  async collect(): Promise<T[]> {
    const { threads, thread, timeoutMs = DEFAULT_TIMEOUT_MS } = this.group
    if (threads === 1) return [this.own()]
    this.lastId += 1
    const id = this.lastId
    try {
      return await new Promise<T[]>((done, fail) => {
        const timer = setTimeout(() => fail(this.silence(id)), timeoutMs)
        this.waiting.set(id, {
          values: [this.own()],
          done: (values) => {
            clearTimeout(timer)
            done(values)
          },
        })
        this.channel.postMessage({ kind: 'ask', from: thread, id } satisfies Message<T>)
      })
    } finally {
      this.waiting.delete(id)
    }
  }

  [Symbol.dispose](): void {
    this.channel.close()
  }

  private onMessage(message: Message<T>): void {
    if (message.kind === 'ask') {
      const { from: to, id } = message
      const answer: Message<T> = { kind: 'answer', to, id, value: this.own() }
      this.channel.postMessage(answer)
      return
    }
    const waiting = this.waiting.get(message.id)
    if (message.to !== this.group.thread || waiting === undefined) return
    waiting.values.push(message.value)
    if (waiting.values.length === this.group.threads) waiting.done(waiting.values)
  }

  private silence(id: number): WeirError {
    const answered = this.waiting.get(id)?.values.length ?? 0
    return new WeirError(
      'UNAVAILABLE',
      `${answered} of ${this.group.threads} threads of the gateway answered within ${this.group.timeoutMs ?? DEFAULT_TIMEOUT_MS} ms; try again`,
    )
  }
}
