import { either, type OptionKind, objectWith, required, text } from '../../core/options/kinds.ts'
import { nested } from '../../core/options/shape.ts'
import type { RatingsTable } from '../../training/data/ratings-table.ts'
import type { SparseTable } from '../../training/data/sparse-table.ts'

/** Ratings to measure the versions of a model of factor rows on; no version is trained on them. */
export interface GoldenRatings {
  readonly ratings: RatingsTable
  /** Ids of users by the name of their group, such as `country=DE`: no group may become worse. @default none */
  readonly cohorts?: ReadonlyMap<string, ReadonlySet<string>>
  /** Description for the registry: file or topic, and a hash. */
  readonly subject: string
}

/** Labelled examples to measure the versions of a linear model on; no version is trained on them. */
export interface GoldenExamples {
  readonly examples: SparseTable
  /** Description for the registry: file or topic, and a hash. */
  readonly subject: string
}

/** What candidates, the live version and the best version are measured on. */
export type GoldenSet = GoldenRatings | GoldenExamples

/** The kinds of golden sets. */
export const GOLDEN_SET: OptionKind<GoldenSet> = either(
  nested<GoldenRatings>({
    ratings: required(objectWith('a table of ratings: ratingsTable(ratings)')),
    cohorts: objectWith('a Map of sets of ids of users by the name of their group'),
    subject: required(text),
  }),
  nested<GoldenExamples>({
    examples: required(objectWith('a table of examples, as readLibsvm makes it')),
    subject: required(text),
  }),
)
