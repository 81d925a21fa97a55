import { isWeirError } from '../../core/errors.ts'
import { type DampedMeans, ItemMeans } from '../../kinds/popularity/item-means.ts'
import { feedbackOf } from '../../models/feedback.ts'
import { digestOfRanges } from '../../models/observations/ranges-reading.ts'
import { readObservations } from '../../models/observations/topic-ranges.ts'
import type { Rating } from '../../models/ratings/rating.ts'
import type { DataFile } from '../../models/registry/ranges/data-range.ts'
import { areSameObservations } from '../../models/registry/ranges/observations-digest.ts'
import type { RegisteredVersion } from '../../models/registry/version.ts'
import { presentVersion, trainedRanges } from '../../models/versions/trained-ranges.ts'
import { type EvaluationRatings, ratingPieces } from '../../training/evaluate/served.ts'
import { ErrorAccumulator, type ErrorSummary } from '../../training/metrics/errors.ts'
import type { CommandIo, Flags } from '../command/command.ts'
import { addRatingsOfFile } from '../files/ratings-file.ts'
import type { RatingsReading } from '../files/ratings-reading.ts'
import { topicsOf } from '../flags/kafka.ts'
import { registryOf } from '../flags/model-registry.ts'
import { DatasetFacts } from './dataset-facts.ts'

/** The damped means of items, measured on the ratings of an evaluation. */
export class Baseline {
  private readonly means: DampedMeans
  /** Items, the best first: the list of every user. */
  private readonly best: readonly string[]
  private readonly measured = new ErrorAccumulator()

  constructor(means: DampedMeans) {
    this.means = means
    this.best = [...means.of].sort((a, b) => b[1] - a[1]).map(([item]) => item)
  }

  /** The best `k` items without those of `seen`. */
  list(k: number, seen: ReadonlySet<string> = new Set()): readonly string[] {
    const list: string[] = []
    for (const item of this.best) {
      if (list.length === k) break
      if (!seen.has(item)) list.push(item)
    }
    return list
  }

  /** The ratings, in pieces, each of which is measured when it is read. */
  async *beside(ratings: EvaluationRatings): AsyncGenerator<readonly Rating[]> {
    for await (const piece of ratingPieces(ratings, 1024)) {
      for (const rated of piece) {
        const mean = this.means.of.get(rated.item)
        const coverage = mean === undefined ? 'coldItem' : 'known'
        this.measured.add(rated, mean ?? this.means.unknown, coverage)
      }
      yield piece
    }
  }

  /** Errors on what was read; users are all alike, so none is cold. Throws EMPTY_DATASET. */
  errors(): ErrorSummary {
    return this.measured.summary()
  }
}

/** The baselines of the versions that a command evaluates, each trained once on the ratings of its version. */
export class Baselines {
  private readonly flags: Flags
  private readonly io: CommandIo
  private readonly reading: RatingsReading
  /** By number of the version; undefined where its training ratings are not here. */
  private readonly known = new Map<number, DampedMeans | undefined>()

  constructor(flags: Flags, io: CommandIo, reading: RatingsReading) {
    this.flags = flags
    this.io = io
    this.reading = reading
  }

  /** The baseline of a version; undefined with `--no-baseline`, and where its training ratings are not here. */
  async of(number: number): Promise<Baseline | undefined> {
    if (this.flags.boolean('no-baseline')) return undefined
    if (!this.known.has(number)) this.known.set(number, await this.trained(number))
    const means = this.known.get(number)
    return means === undefined ? undefined : new Baseline(means)
  }

  private async trained(number: number): Promise<DampedMeans | undefined> {
    const ratings = await this.trainingRatings(number)
    return ratings === undefined || ratings.size === 0 ? undefined : ratings.means()
  }

  /** The ratings of `--seen`, else those of the version's lineage, from its topic or its file. */
  private async trainingRatings(number: number): Promise<ItemMeans | undefined> {
    const { flags, reading } = this
    const seen = flags.optional('seen')
    if (seen !== undefined) return await meansOfFile(seen, reading)
    const state = await registryOf(flags).read()
    const version = state.versions.get(flags.string('topic'))?.get(number)
    if (version === undefined) return undefined
    // A mean of counts of use predicts nothing that the scores say.
    if (feedbackOf(version.lineage.hyperparameters) === 'implicit') return undefined
    // The topic alone is not what a version with an older history was trained on.
    if (hasHistory(version)) return undefined
    return (await ratingsOfRanges(flags, version)) ?? (await this.ratingsOfFiles(version))
  }

  private async ratingsOfFiles({ lineage }: RegisteredVersion): Promise<ItemMeans | undefined> {
    const [file, ...others] = lineage.files
    if (file === undefined || others.length > 0) return undefined
    try {
      return await this.sameRatings(file)
    } catch (error) {
      // The file is on another machine, was deleted, or is no file of ratings any more.
      if (isWeirError(error)) return undefined
      throw error
    }
  }

  /** The ratings of a file; undefined where they are not those of the training. */
  private async sameRatings({ file, read }: DataFile): Promise<ItemMeans | undefined> {
    const facts = new DatasetFacts()
    const means = await meansOfFile(file, QUIET, facts)
    const [found] = facts.trainedOn(file, this.io).files
    return areSameObservations(found?.read, read) === true ? means : undefined
  }
}

/** Whether a version was trained on files and a topic; those of `--in-topic` have the same observations. */
function hasHistory({ lineage: { files, ranges } }: RegisteredVersion): boolean {
  if (files.length === 0 || ranges.length === 0) return false
  return areSameObservations(files[0]?.read, digestOfRanges(ranges)) !== true
}

/** Reads a file of a version's training without a word; the digest says whether it was read as the training did. */
const QUIET: RatingsReading = {
  isImplicit: false,
  of: () => ({ options: {}, report() {} }),
}

/** The ratings of the topic that a version was trained on; undefined where it does not have them. */
async function ratingsOfRanges(
  flags: Flags,
  version: RegisteredVersion,
): Promise<ItemMeans | undefined> {
  await using topics = await topicsOf(flags)
  const ranges = trainedRanges((await presentVersion(topics, version)).version)
  if (ranges.length === 0) return undefined
  const means = new ItemMeans()
  for await (const piece of readObservations(topics, ranges)) {
    for (const { user, item, rating } of piece) means.add(user, item, rating)
  }
  return means
}

async function meansOfFile(
  file: string,
  reading: RatingsReading,
  facts?: DatasetFacts,
): Promise<ItemMeans | undefined> {
  const means = new ItemMeans()
  const watching = facts === undefined ? {} : { facts }
  const { hasEvents } = await addRatingsOfFile(file, means, reading, watching)
  // Events count by the sum of a pair, and are no ratings.
  return hasEvents ? undefined : means
}
