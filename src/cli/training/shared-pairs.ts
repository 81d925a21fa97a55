import type { Rating } from '../../models/ratings/rating.ts'
import {
  areSameObservations,
  type ObservationsDigest,
  ObservationsDigester,
} from '../../models/registry/ranges/observations-digest.ts'
import type { CommandIo } from '../command/command.ts'
import { counted } from '../text/counted.ts'

/** Warns that held-out ratings are of pairs that a training has too. */
export function warnOfShared(shared: number, size: number, io: Pick<CommandIo, 'err'>): void {
  if (shared === 0) return
  const percent = (100 * shared) / size
  const share = percent < 0.1 ? 'below 0.1' : percent.toFixed(1)
  io.err(
    `warning: ${shared} of the ${counted(size, 'held-out rating')} (${share} %) are of pairs that the training has, too: the errors are not those of new pairs`,
  )
}

/** The training that a version may share ratings with, as far as it is known. */
export interface KnownTraining {
  /** Items by user, of `--seen`. */
  readonly seen: ReadonlyMap<string, ReadonlySet<string>> | undefined
  /** What the files of the training hold. */
  readonly read: readonly (ObservationsDigest | undefined)[]
}

/** Counts, of ratings that pass, those that the training of a version has, too. */
export class SharedPairs {
  private readonly training: KnownTraining
  private readonly digester = new ObservationsDigester()
  private fromSeen = 0

  constructor(training: KnownTraining) {
    this.training = training
  }

  async *counted(ratings: AsyncIterable<readonly Rating[]>): AsyncGenerator<readonly Rating[]> {
    const { seen } = this.training
    for await (const piece of ratings) {
      for (const { user, item, rating } of piece) {
        this.digester.addRating(user, item, rating)
        if (seen?.get(user)?.has(item) === true) this.fromSeen++
      }
      yield piece
    }
  }

  /** Ratings so far. */
  get size(): number {
    return this.digester.count
  }

  /** Those of them that the training has: all, where they are the very ratings of its files. */
  get shared(): number {
    const { digest } = this.digester
    const isSame = this.training.read.some((read) => areSameObservations(digest, read) === true)
    return isSame ? digest.count : this.fromSeen
  }
}
