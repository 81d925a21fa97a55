import type { RatingRange } from '../../models/ratings/rating.ts'
import type { ProfileFacts } from '../../models/registry/checks/data.ts'
import { NewAgainstGolden } from '../../models/registry/checks/new-against-golden.ts'
import {
  hasReadable,
  type ObservationPosition,
  type TrainedVersions,
  type TrainingReader,
  trainedObservations,
} from '../../models/versions/trained-ranges.ts'
import { type RatingsTable, ratingsOf } from '../../training/data/ratings-table.ts'
import { count, largestCount, totalVariation } from '../port/counts.ts'

/** A rating with its position in the topic. */
export interface PlacedRating extends ObservationPosition {
  readonly user: string
  readonly item: string
  readonly rating: number
}

/** Inputs of `ratingsProfile`. */
export interface RatingsProfileOptions extends TrainingReader<PlacedRating>, TrainedVersions {
  readonly golden: RatingsTable
}

/** What a version's training data are like. */
export interface RatingsProfile {
  readonly facts: ProfileFacts
  /** 1 for each golden rating whose user has rated its item in the training, with any value. */
  readonly trained: Uint8Array
  /** Ratings in the training of each user of the golden set, in its order of users. */
  readonly activity: readonly number[]
}

/**
 * Profile of a version's training data, from one pass over them; undefined for a version whose data cannot be read
 * again. Memory: a counter for each user and item, and the golden ratings.
 */
export async function ratingsProfile(
  options: RatingsProfileOptions,
): Promise<RatingsProfile | undefined> {
  const { version, golden } = options
  if (!hasReadable(version, options)) return undefined
  const { smallestRating = 0, largestRating = 0 } = version.lineage.metrics
  const profile = new ProfileBuilder({
    golden,
    range: { min: smallestRating, max: largestRating },
  })
  for await (const [rating, isOld] of trainedObservations(options, options)) {
    profile.add(rating, isOld)
  }
  return profile.build()
}

/** Ratings are counted in this number of classes, each around a value of equal distance. */
const CLASSES = 10

interface ProfileInputs {
  readonly golden: RatingsTable
  /** Of the version's ratings. */
  readonly range: RatingRange
}

class ProfileBuilder {
  /** Of each golden rating: its user and item, and whether it was observed. */
  private readonly golden = new Map<string, { user: string; item: string; isLeaked: boolean }>()
  /** Places of the golden ratings of a pair. */
  private readonly pairs = new Map<string, number[]>()
  private readonly trained: Uint8Array
  private readonly goldenUsers: readonly string[]
  private readonly ofItems: NewAgainstGolden
  private readonly ofUsers: NewAgainstGolden
  private readonly users = new Map<string, number>()
  private readonly items = new Map<string, number>()
  private readonly usersBefore = new Map<string, number>()
  private readonly itemsBefore = new Map<string, number>()
  private readonly old = new Map<number, number>()
  private readonly fresh = new Map<number, number>()
  private observations = 0
  private newObservations = 0

  private readonly range: RatingRange

  constructor({ golden, range }: ProfileInputs) {
    this.range = range
    let place = 0
    for (const rating of ratingsOf(golden)) {
      const { user, item } = rating
      const pair = pairOf(rating)
      this.golden.set(nameOf(pair, rating.rating), { user, item, isLeaked: false })
      this.pairs.set(pair, [...(this.pairs.get(pair) ?? []), place++])
    }
    this.trained = new Uint8Array(golden.size)
    this.goldenUsers = golden.users
    const groupsOf = (of: 'user' | 'item') =>
      [...ratingsOf(golden)].map((each) => ({ group: each[of], rating: each.rating }))
    this.ofItems = new NewAgainstGolden(groupsOf('item'))
    this.ofUsers = new NewAgainstGolden(groupsOf('user'))
  }

  add(rating: PlacedRating, isOld: boolean): void {
    this.observations++
    count(this.users, rating.user)
    count(this.items, rating.item)
    const pair = pairOf(rating)
    const golden = this.golden.get(nameOf(pair, rating.rating))
    if (golden !== undefined) golden.isLeaked = true
    for (const place of this.pairs.get(pair) ?? []) this.trained[place] = 1
    if (isOld) {
      count(this.usersBefore, rating.user)
      count(this.itemsBefore, rating.item)
    } else this.newObservations++
    this.ofItems.add(rating.item, rating.rating, isOld)
    this.ofUsers.add(rating.user, rating.rating, isOld)
    count(isOld ? this.old : this.fresh, this.classOf(rating.rating))
  }

  private classOf(rating: number): number {
    const { min, max } = this.range
    return max > min ? Math.round(((rating - min) / (max - min)) * (CLASSES - 1)) : rating
  }

  build(): RatingsProfile {
    const activity = this.goldenUsers.map((user) => this.users.get(user) ?? 0)
    return { facts: this.facts(), trained: this.trained, activity }
  }

  private facts(): ProfileFacts {
    const { observations, users, items, newObservations } = this
    const before = observations - newObservations
    return {
      users: users.size,
      items: items.size,
      userShare: largestCount(users) / observations,
      itemShare: largestCount(items) / observations,
      userShareBefore: largestCount(this.usersBefore) / before,
      itemShareBefore: largestCount(this.itemsBefore) / before,
      leakedShare: this.leakedShare(),
      newObservations,
      ratingShift: totalVariation(this.old, this.fresh),
      ...this.contradicted(),
    }
  }

  /** All observations are new where no version is live, or it was trained elsewhere. Where all are equal, none differ. */
  private contradicted(): Pick<ProfileFacts, 'contradicted'> {
    const width = this.range.max - this.range.min
    if (width === 0) return {}
    return { contradicted: { item: this.ofItems.worst(width), user: this.ofUsers.worst(width) } }
  }

  /**
   * Users may honestly rate an item again. If the user's n ratings went to the item's share m / N of all,
   * the pair would be observed with probability 1 - exp(-n m / N).
   */
  private leakedShare(): number {
    let leaked = 0
    let chance = 0
    for (const { user, item, isLeaked } of this.golden.values()) {
      if (isLeaked) leaked++
      const expected = (this.users.get(user) ?? 0) * (this.items.get(item) ?? 0)
      chance += 1 - Math.exp(-expected / this.observations)
    }
    return Math.max(0, leaked - chance) / this.golden.size
  }
}

/** Name of a pair. */
function pairOf({ user, item }: Pick<PlacedRating, 'user' | 'item'>): string {
  return `${user}\0${item}`
}

/** Name of a rating: equal for equal ratings of a pair. */
function nameOf(pair: string, rating: number): string {
  return `${pair}\0${Math.fround(rating)}`
}
