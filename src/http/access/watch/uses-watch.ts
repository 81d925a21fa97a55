import type { Cancel, Clock } from '../../../core/clock.ts'
import type { AccessShare } from '../control.ts'
import { TokenUses } from '../token-uses.ts'
import { addUses, type StoredUse } from '../uses-file.ts'

/** Time between two looks at the uses. */
const LOOK_EVERY_MS = 5_000

/** Options of `UsesWatch`. */
export interface UsesWatchOptions {
  readonly file: string
  readonly clock: Clock
  /** The uses cannot be stored; called once. */
  readonly onError: (error: unknown) => void
}

/** Stores the last uses of the tokens of a port beside their file, every five seconds where there are new ones. */
export class UsesWatch {
  private readonly options: UsesWatchOptions
  private share: AccessShare
  private readonly stored = new Map<string, number>()
  private hasFailed = false
  private cancelTimer: Cancel = () => {}

  constructor(share: AccessShare, options: UsesWatchOptions) {
    this.share = share
    this.options = options
    this.schedule()
  }

  /** The port accepts other tokens from now on. */
  replace(share: AccessShare): void {
    void this.store()
    this.share = share
  }

  /** Stores what is new a last time. */
  [Symbol.dispose](): void {
    this.cancelTimer()
    void this.store()
  }

  private schedule(): void {
    this.cancelTimer = this.options.clock.after(LOOK_EVERY_MS, () => {
      void this.store()
      this.schedule()
    })
  }

  private async store(): Promise<void> {
    const fresh = this.freshUses()
    if (fresh.size === 0 || this.hasFailed) return
    for (const [id, { lastMs }] of fresh) this.stored.set(id, lastMs)
    try {
      await addUses(this.options.file, fresh)
    } catch (error) {
      this.hasFailed = true
      this.options.onError(error)
    }
  }

  private freshUses(): ReadonlyMap<string, StoredUse> {
    const { records, uses } = this.share
    const all = new TokenUses(uses).read().flatMap(({ index, lastMs, address }) => {
      const id = records[index]?.id
      return id === undefined || lastMs <= (this.stored.get(id) ?? 0)
        ? []
        : [[id, { lastMs, from: address }] as const]
    })
    return new Map(all)
  }
}
