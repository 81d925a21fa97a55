import { PlainFoldIn } from './fold-in.ts'
import { PlainGram } from './gram.ts'
import { PlainPopularity } from './popularity.ts'
import type { Publication } from './publication.ts'
import type { PlainRule } from './rule.ts'
import { PlainSgd } from './sgd.ts'

/** The longest rows without biases that `gram` learns by default. */
const SHORT_ROWS = 32

/** The rule that learns a version where none is named. */
export function defaultRule(publication: Publication, isImplicit: boolean): PlainRule {
  if (publication.marker.hyperparameters?.['trainer'] === 'popularity') {
    return new PlainPopularity(publication)
  }
  if (isImplicit) return new PlainFoldIn(publication)
  const [row] = publication.rows.values()
  const factors = row!.length - (publication.marker.biased === true ? 2 : 0)
  return factors <= SHORT_ROWS ? new PlainGram(publication) : new PlainSgd(publication)
}
