import type { Cancel, Clock } from '../../../core/clock.ts'

/** Answer of the REST interface. */
export interface RestAnswer {
  readonly status: number
  /** JSON. */
  readonly body: string
}

/** A change of an answer. */
export interface AnswerEvent extends RestAnswer {
  readonly path: string
  /** Number of the change; it grows over all paths. */
  readonly sequence: number
}

/** Options of `WatchedAnswers`. */
export interface WatchedAnswersOptions {
  readonly answer: (path: string) => Promise<RestAnswer>
  readonly clock: Clock
}

/** Someone who watches paths. */
export interface Watcher {
  readonly paths: readonly string[]
  /** Changes up to this one are known to the watcher; 0 for none. */
  readonly seen: number
  readonly deliver: (event: AnswerEvent) => void
}

/** Time from the end of one round of requests to the next, ms. */
const EVERY_MS = 1000

/**
 * The answers to paths that someone watches. Each is computed once a second, however many watch it, and
 * delivered when it has changed.
 */
export class WatchedAnswers implements Disposable {
  private readonly options: WatchedAnswersOptions
  private readonly watchers = new Set<Watcher>()
  private readonly answers = new Map<string, AnswerEvent>()
  private sequence = 0
  private cancel: Cancel = () => {}
  private round: Promise<void> | undefined

  constructor(options: WatchedAnswersOptions) {
    this.options = options
  }

  get watcherCount(): number {
    return this.watchers.size
  }

  /** Delivers what the watcher has not seen, then every change until the returned function is called. */
  watch(watcher: Watcher): Cancel {
    this.watchers.add(watcher)
    for (const path of watcher.paths) {
      const known = this.answers.get(path)
      if (known === undefined) void this.update(path)
      else if (known.sequence > watcher.seen) watcher.deliver(known)
    }
    if (this.watchers.size === 1) this.schedule()
    return () => {
      this.watchers.delete(watcher)
      this.dropUnwatched()
      if (this.watchers.size === 0) this.cancel()
    }
  }

  [Symbol.dispose](): void {
    this.watchers.clear()
    this.cancel()
  }

  private schedule(): void {
    this.cancel()
    this.cancel = this.options.clock.after(EVERY_MS, () => {
      this.round ??= this.updateAll()
    })
  }

  private async updateAll(): Promise<void> {
    await Promise.all([...this.watchedPaths()].map((path) => this.update(path)))
    this.round = undefined
    if (this.watchers.size > 0) this.schedule()
  }

  private async update(path: string): Promise<void> {
    const { status, body } = await this.options.answer(path)
    const known = this.answers.get(path)
    if (known !== undefined && known.status === status && known.body === body) return
    this.sequence += 1
    const event = { path, status, body, sequence: this.sequence }
    const interested = [...this.watchers].filter(({ paths }) => paths.includes(path))
    if (interested.length === 0) return
    this.answers.set(path, event)
    for (const watcher of interested) watcher.deliver(event)
  }

  private watchedPaths(): ReadonlySet<string> {
    return new Set([...this.watchers].flatMap(({ paths }) => paths))
  }

  /** An answer that no one watches is out of date at once. */
  private dropUnwatched(): void {
    const watched = this.watchedPaths()
    for (const path of this.answers.keys()) if (!watched.has(path)) this.answers.delete(path)
  }
}
