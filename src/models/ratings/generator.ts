import { listOf, numberIn, oneOf, required, wholeNumber } from '../../core/options/kinds.ts'
import { checkOptions, nested, type OptionShape, withDefaults } from '../../core/options/shape.ts'
import { type Random, seededRandom } from '../../core/random.ts'
import { AliasTable } from './alias-table.ts'
import { clipRating, type Rating } from './rating.ts'

/** A sudden change of all users' tastes. */
export interface TasteTurn {
  /** Number of the first rating after it. */
  readonly from: number
  /** Angle of the turn in right angles, 0 to 4. */
  readonly angle: number
}

/** Shape of generated ratings. */
export interface GeneratedRatingsOptions {
  readonly users: number
  readonly items: number
  readonly ratings: number
  /** @default 1 */
  readonly seed?: number
  /** Rank of the planted model. @default 8 */
  readonly factors?: number
  /** Standard deviation of the noise, which no model can learn. @default 0.6 */
  readonly noise?: number
  /** Sigma of the users' log-normal activity; 0 makes all users equally active. @default 1 */
  readonly activitySigma?: number
  /** Exponent of the items' Zipf popularity; 0 makes all items equally popular. @default 0.9 */
  readonly popularityExponent?: number
  /** Distance of two rating values: 1 for whole stars, 0.5 for half stars. @default 1 */
  readonly step?: 0.5 | 1
  /**
   * Turn of the users' tastes over the whole stream, in right angles: 0 for none; with 1 the tastes at
   * the end are independent of those at the start. @default 0
   */
  readonly drift?: number
  /**
   * Sudden turns of all tastes, in ascending order, in addition to `drift`: from rating `from` (0 is the
   * first) on, tastes are `angle` right angles from the start. @default none
   */
  readonly turns?: readonly TasteTurn[]
  /** Time of the first rating, milliseconds since 1970. @default 1 January 2020, UTC */
  readonly startMs?: number
  /** Mean time between ratings, milliseconds. @default 1000 */
  readonly meanGapMs?: number
}

const AMOUNT = wholeNumber({ min: 1, max: 2 ** 31 - 1 })
const RIGHT_ANGLES = numberIn({ min: 0, max: 4 })
const GENERATED: OptionShape<GeneratedRatingsOptions> = {
  users: required(AMOUNT),
  items: required(AMOUNT),
  ratings: required(wholeNumber({ min: 0 })),
  seed: numberIn(),
  factors: AMOUNT,
  noise: numberIn({ min: 0 }),
  activitySigma: numberIn({ min: 0 }),
  popularityExponent: numberIn({ min: 0 }),
  step: oneOf(0.5, 1),
  drift: RIGHT_ANGLES,
  turns: listOf(
    nested<TasteTurn>({ from: required(wholeNumber({ min: 0 })), angle: required(RIGHT_ANGLES) }),
  ),
  startMs: numberIn(),
  meanGapMs: numberIn({ min: 0 }),
}

type Settings = Required<GeneratedRatingsOptions>

const DEFAULTS = {
  seed: 1,
  factors: 8,
  noise: 0.6,
  activitySigma: 1,
  popularityExponent: 0.9,
  step: 1,
  drift: 0,
  turns: [],
  startMs: Date.UTC(2020, 0, 1),
  meanGapMs: 1000,
} as const

/** Mean rating and the spread of biases and inner product, close to those of MovieLens. */
const GLOBAL_MEAN = 3.5
const USER_BIAS_SIGMA = 0.4
const ITEM_BIAS_SIGMA = 0.5
const TASTE_SIGMA = 0.6

/** Makes the seed of turned tastes different from the others. */
const TURNED_SEED = 0x7475726e

/**
 * Ratings from a planted low-rank model with biases,
 *
 *   r = 3.5 + b_u + b_i + p_u(t) . q_i + noise, rounded to `step`, clipped to 1 (or 0.5) .. 5
 *
 * with log-normal user activity and Zipf item popularity, in ascending order of time. A user may rate an
 * item more than once. Ids are whole numbers from 1 as text; item 1 is the most popular. Only the planted
 * model is in memory. The same options give the same ratings on every machine. Throws INVALID_ARGUMENT.
 */
export function* generateRatings(options: GeneratedRatingsOptions): Generator<Rating> {
  checkOptions('generateRatings', GENERATED, options)
  const settings: Settings = withDefaults<GeneratedRatingsOptions>(DEFAULTS, options)
  const random = seededRandom(settings.seed)
  const planted = new PlantedModel(settings, random)
  const range = { min: settings.step, max: 5 }
  const userIds = decimalIds(settings.users)
  const itemIds = decimalIds(settings.items)
  let timestamp = settings.startMs
  for (let n = 0; n < settings.ratings; n++) {
    const user = planted.activity.draw(random)
    const item = planted.popularity.draw(random)
    const taste = planted.score(user, item, angleAt(settings, n))
    const raw = taste + settings.noise * random.normal()
    const rating = clipRating(Math.round(raw / settings.step) * settings.step, range)
    yield { user: userIds[user] as string, item: itemIds[item] as string, rating, timestamp }
    timestamp += Math.round(-settings.meanGapMs * Math.log(1 - random.next()))
  }
}

/** Turn of the tastes at rating `n`, in right angles. */
function angleAt({ drift, turns, ratings }: Settings, n: number): number {
  return drift * (n / ratings) + (turns.findLast(({ from }) => n >= from)?.angle ?? 0)
}

function decimalIds(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => String(index + 1))
}

/** The truth behind generated ratings. */
class PlantedModel {
  readonly activity: AliasTable
  readonly popularity: AliasTable
  private readonly factors: number
  private readonly userFactors: Float32Array
  /** The tastes one right angle on; empty without drift. */
  private readonly turnedFactors: Float32Array
  private readonly itemFactors: Float32Array
  private readonly userBiases: Float32Array
  private readonly itemBiases: Float32Array

  constructor(settings: Settings, random: Random) {
    const { users, items, factors, seed } = settings
    const { drift, turns } = settings
    this.factors = factors
    const normals = (count: number, sigma: number, from = random): Float32Array =>
      Float32Array.from({ length: count }, () => sigma * from.normal())
    // Spread of one factor, so that the inner product has the standard deviation TASTE_SIGMA.
    const sigma = Math.sqrt(TASTE_SIGMA) / factors ** 0.25
    this.userFactors = normals(users * factors, sigma)
    // Sudden turns take separate random numbers: ratings before the first turn are those without turns.
    const turned = drift > 0 ? random : seededRandom(seed + TURNED_SEED)
    const isTurning = drift > 0 || turns.length > 0
    this.turnedFactors = normals(isTurning ? users * factors : 0, sigma, turned)
    this.itemFactors = normals(items * factors, sigma)
    this.userBiases = normals(users, USER_BIAS_SIGMA)
    this.itemBiases = normals(items, ITEM_BIAS_SIGMA)
    this.activity = new AliasTable(
      Float64Array.from({ length: users }, () =>
        Math.exp(settings.activitySigma * random.normal()),
      ),
    )
    this.popularity = new AliasTable(
      Float64Array.from({ length: items }, (_, i) => (i + 1) ** -settings.popularityExponent),
    )
  }

  /** The rating without noise after a turn of `angle` right angles. */
  score(user: number, item: number, angle: number): number {
    const { factors, userFactors, itemFactors } = this
    const userStart = user * factors
    const itemStart = item * factors
    let taste = dotAt(userFactors, userStart, itemFactors, itemStart, factors)
    if (angle > 0) {
      const radians = (Math.PI / 2) * angle
      const turned = dotAt(this.turnedFactors, userStart, itemFactors, itemStart, factors)
      taste = taste * Math.cos(radians) + turned * Math.sin(radians)
    }
    const biases = (this.userBiases[user] as number) + (this.itemBiases[item] as number)
    return GLOBAL_MEAN + biases + taste
  }
}

function dotAt(a: Float32Array, atA: number, b: Float32Array, atB: number, length: number): number {
  let sum = 0
  for (let i = 0; i < length; i++) sum += (a[atA + i] as number) * (b[atB + i] as number)
  return sum
}
