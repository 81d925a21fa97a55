import { RunningMean } from '../../quality/intervals.ts'
import {
  type GroupEvidence,
  MIN_GOLDEN_RATINGS,
  varianceOf,
  varianceWithin,
  type WorstGroup,
  worstGroup,
} from './worst-group.ts'

/** Fewest new ratings of an item, or user, that are compared with its golden ratings. */
const MIN_NEW_RATINGS = 5

/** The ratings of a group. */
interface GroupRatings {
  readonly golden: RunningMean
  /** Observations that the live version was trained on, and newer ones. */
  readonly old: RunningMean
  readonly fresh: RunningMean
}

/**
 * The new ratings of each item, or of each user, beside its golden ratings. A few bad ratings by many accounts change no
 * share and hardly the error, and a model follows them only in part; beside the golden ratings of the item they stand out.
 * Old ratings are many more than golden ones, so they count, too, where golden ratings are nearer to them than to the new
 * ones: after an honest change they are not. Memory: three means for each item, or user, with enough golden ratings.
 */
export class NewAgainstGolden {
  private readonly groups: ReadonlyMap<string, GroupRatings>

  /** `golden`: group and value of each golden rating. */
  constructor(golden: Iterable<{ readonly group: string; readonly rating: number }>) {
    const groups = new Map<string, GroupRatings>()
    for (const { group, rating } of golden) {
      const known = groups.get(group) ?? emptyGroup()
      groups.set(group, known)
      known.golden.add(rating)
    }
    const isEnough = ({ size }: RunningMean): boolean => size >= MIN_GOLDEN_RATINGS
    this.groups = new Map([...groups].filter((entry) => isEnough(entry[1].golden)))
  }

  /** Adds an observation; `isOld`: the live version was trained on it. */
  add(group: string, rating: number, isOld: boolean): void {
    const known = this.groups.get(group)
    if (known !== undefined) (isOld ? known.old : known.fresh).add(rating)
  }

  /**
   * The group whose new ratings differ most from the others, for certain and in their mean; undefined of none.
   * `width`: of the range of ratings, above 0.
   */
  worst(width: number): WorstGroup | undefined {
    const within = varianceWithin([...this.groups.values()].map(({ golden }) => golden))
    const compared = [...this.groups].filter(([, { fresh }]) => fresh.size >= MIN_NEW_RATINGS)
    const evidence = compared.flatMap(([group, ratings]) => evidenceOf(group, ratings, within))
    return worstGroup(evidence, width)
  }
}

function emptyGroup(): GroupRatings {
  return { golden: new RunningMean(), old: new RunningMean(), fresh: new RunningMean() }
}

/** Both directions count, so a group is two comparisons. */
function evidenceOf(
  group: string,
  { golden, old, fresh }: GroupRatings,
  within: number,
): readonly GroupEvidence[] {
  const distance = Math.abs(fresh.value - golden.value)
  const counts = old.size > 0 && Math.abs(old.value - golden.value) <= distance
  const size = golden.size + (counts ? old.size : 0)
  const mean = golden.value + (counts ? ((old.value - golden.value) * old.size) / size : 0)
  const standardError = Math.sqrt(varianceOf(golden, within) * (1 / size + 1 / fresh.size))
  const difference = fresh.value - mean
  return [difference, -difference].map((off) => ({ group, off, standardError }))
}
