import { isWeirError } from '../../core/errors.ts'
import { type EvaluationRatings, ratingPieces } from '../../jobs/evaluate/served.ts'
import { readObservations } from '../../jobs/observations/topic-ranges.ts'
import { presentVersion, trainedRanges } from '../../jobs/registry/trained-ranges.ts'
import { trainPopularity } from '../../kinds/popularity/train.ts'
import { feedbackOf } from '../../models/feedback.ts'
import type { Rating } from '../../models/ratings/rating.ts'
import type { DataFile } from '../../models/registry/ranges/data-range.ts'
import { areSameObservations } from '../../models/registry/ranges/observations-digest.ts'
import type { RegisteredVersion } from '../../models/registry/version.ts'
import type { AlsModel } from '../../training/als/solver/model.ts'
import { type RatingsTable, RatingsTableBuilder } from '../../training/data/ratings-table.ts'
import { ErrorAccumulator, type ErrorSummary } from '../../training/metrics/errors.ts'
import type { CommandIo, Flags } from '../command/command.ts'
import type { RatingsReading } from '../files/ratings-columns.ts'
import { ratingsOfFile } from '../files/ratings-file.ts'
import { topicsOf } from '../flags/kafka.ts'
import { registryOf } from '../flags/model-registry.ts'
import { DatasetFacts } from './dataset-facts.ts'

/** A popularity model that is measured on the ratings of an evaluation. */
export class Baseline {
  private readonly model: AlsModel
  /** Items, the best first: the list of every user. */
  private readonly best: readonly string[]
  private readonly measured = new ErrorAccumulator()

  constructor(model: AlsModel) {
    this.model = model
    const biases = model.items.map((_, index) => model.row('I', index)[1] as number)
    const order = [...model.items.keys()].sort((a, b) => biases[b]! - biases[a]!)
    this.best = order.map((index) => model.items[index] as string)
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
      for (const { user, item, rating } of piece) {
        const { score, coverage } = this.model.predict(user, item)
        this.measured.add(rating, score, coverage)
      }
      yield piece
    }
  }

  /** Errors on what was read. Throws EMPTY_DATASET. */
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
  private readonly models = new Map<number, AlsModel | undefined>()

  constructor(flags: Flags, io: CommandIo, reading: RatingsReading) {
    this.flags = flags
    this.io = io
    this.reading = reading
  }

  /** The baseline of a version; undefined with `--no-baseline`, and where its training ratings are not here. */
  async of(number: number): Promise<Baseline | undefined> {
    if (this.flags.boolean('no-baseline')) return undefined
    if (!this.models.has(number)) this.models.set(number, await this.trained(number))
    const model = this.models.get(number)
    return model === undefined ? undefined : new Baseline(model)
  }

  private async trained(number: number): Promise<AlsModel | undefined> {
    const table = await this.trainingRatings(number)
    return table === undefined || table.size === 0 ? undefined : trainPopularity(table)
  }

  /** The ratings of `--seen`, else those of the version's lineage, from its topic or its file. */
  private async trainingRatings(number: number): Promise<RatingsTable | undefined> {
    const { flags, reading } = this
    const seen = flags.optional('seen')
    if (seen !== undefined) return await ratingsOfFile(seen, reading)
    const state = await registryOf(flags).read()
    const version = state.versions.get(flags.string('topic'))?.get(number)
    if (version === undefined) return undefined
    // A mean of counts of use predicts nothing that the scores say.
    if (feedbackOf(version.lineage.hyperparameters) === 'implicit') return undefined
    return (await ratingsOfRanges(flags, version)) ?? (await this.ratingsOfFiles(version))
  }

  private async ratingsOfFiles({ lineage }: RegisteredVersion): Promise<RatingsTable | undefined> {
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
  private async sameRatings({ file, read }: DataFile): Promise<RatingsTable | undefined> {
    const facts = new DatasetFacts()
    const { columns } = this.reading
    const table = await ratingsOfFile(file, { columns, onColumns: () => {} }, { facts })
    const [found] = facts.trainedOn(file, this.io).files
    return areSameObservations(found?.read, read) === true ? table : undefined
  }
}

/** The ratings of the topic that a version was trained on; undefined where it does not have them. */
async function ratingsOfRanges(
  flags: Flags,
  version: RegisteredVersion,
): Promise<RatingsTable | undefined> {
  await using topics = await topicsOf(flags)
  const ranges = trainedRanges((await presentVersion(topics, version)).version)
  if (ranges.length === 0) return undefined
  const builder = new RatingsTableBuilder()
  for await (const piece of readObservations(topics, ranges)) {
    for (const { user, item, rating, timestamp } of piece) {
      builder.add(user, item, rating, timestamp)
    }
  }
  return builder.build()
}
