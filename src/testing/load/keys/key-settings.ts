import { requireArgument } from '../../../core/errors.ts'
import { seededRandom } from '../../../core/random.ts'
import type { KeySource } from '../port/key-source.ts'
import type { LoadShare } from '../port/load.ts'
import type { KeyPair } from '../port/target.ts'
import { idDrawer, type KeyDistribution } from './id-drawer.ts'

/** Whole numbers as ids, both ends included. */
export interface IdRange {
  readonly from: number
  readonly to: number
}

/** Where keys come from, as plain data. */
export type KeySettings =
  | {
      readonly kind: 'ranges'
      readonly users: IdRange
      readonly items: IdRange
      /** End of the keys of users, such as `-U`, where whole keys are asked for. */
      readonly userSuffix: string
      readonly distribution: KeyDistribution
      readonly seed: number
    }
  /** Pairs in their order, from the first again after the last. */
  | { readonly kind: 'list'; readonly pairs: readonly KeyPair[] }

/** Keys of requests with `batch` pairs each, of one of several threads. Throws INVALID_ARGUMENT. */
export function keySourceOf(settings: KeySettings, batch: number, share: LoadShare): KeySource {
  return settings.kind === 'list'
    ? new ListedKeys(settings.pairs, batch, share)
    : new DrawnKeys(settings, batch, share)
}

class DrawnKeys implements KeySource {
  private readonly draw: () => KeyPair
  private readonly batch: number

  constructor(
    { users, items, userSuffix, distribution, seed }: Extract<KeySettings, { kind: 'ranges' }>,
    batch: number,
    { thread }: LoadShare,
  ) {
    const random = seededRandom(seed + thread * 0x9e3779b1)
    const user = idDrawer(users.to - users.from + 1, distribution)
    const item = idDrawer(items.to - items.from + 1, distribution)
    this.draw = () => ({
      user: `${users.from + user(random)}${userSuffix}`,
      item: String(items.from + item(random)),
    })
    this.batch = batch
  }

  next(): readonly KeyPair[] {
    const pairs: KeyPair[] = []
    for (let i = 0; i < this.batch; i++) pairs.push(this.draw())
    return pairs
  }

  restart(): void {}
}

class ListedKeys implements KeySource {
  private readonly pairs: readonly KeyPair[]
  private readonly batch: number
  private readonly share: LoadShare
  private at: number

  constructor(pairs: readonly KeyPair[], batch: number, share: LoadShare) {
    requireArgument(pairs.length > 0, 'there are no keys to ask for')
    this.pairs = pairs
    this.batch = batch
    this.share = share
    this.at = share.thread * batch
  }

  next(): readonly KeyPair[] {
    const { pairs, batch, at } = this
    this.at += this.share.threads * batch
    const asked: KeyPair[] = []
    for (let i = 0; i < batch; i++) asked.push(pairs[(at + i) % pairs.length]!)
    return asked
  }

  restart(): void {
    this.at = this.share.thread * this.batch
  }
}
