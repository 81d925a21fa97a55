import { WeirError } from '../../core/errors.ts'
import { nearestWord } from '../../core/text/nearest-word.ts'
import { cascade } from './cascade.ts'
import { ensemble } from './ensemble.ts'
import { exp3, exp3Ix } from './exp3.ts'
import { exp4 } from './exp4.ts'
import { linUcb } from './linucb.ts'
import type { Selector } from './selector.ts'
import { split } from './split.ts'
import { thompson } from './thompson.ts'

/** Parameters of a selector as a file has them: each selector checks its own. */
type Parameters = Readonly<Record<string, unknown>>

/**
 * Selectors by the name that a file of settings gives them. Their own checks refuse what has another type: the compiler
 * cannot, since the file is read as it runs.
 */
const SELECTORS: Readonly<Record<string, (parameters: never) => Selector>> = {
  split,
  exp3,
  'exp3-ix': exp3Ix,
  exp4,
  thompson,
  linucb: linUcb,
  cascade,
  ensemble,
}

/** Names of all selectors, the default one first. */
export const SELECTOR_NAMES: readonly string[] = [
  'exp3-ix',
  ...Object.keys(SELECTORS).filter((name) => name !== 'exp3-ix'),
]

/**
 * The selector of a name and its parameters. Throws INVALID_ARGUMENT for a name, a parameter or a value that there is
 * not.
 */
export function selectorOf(name: string, parameters: Parameters = {}): Selector {
  const make = Object.hasOwn(SELECTORS, name) ? SELECTORS[name] : undefined
  if (make !== undefined) return make(parameters as never)
  const nearest = nearestWord(name, SELECTOR_NAMES)
  const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`
  throw new WeirError(
    'INVALID_ARGUMENT',
    `there is no selector "${name}": there are ${SELECTOR_NAMES.join(', ')}${hint}`,
  )
}
