import { WeirError } from '../../core/errors.ts'
import { nearestWord } from '../../core/text/nearest-word.ts'

/** The error UNKNOWN_MODEL for a name, with the nearest of the known ones. */
export function unknownModel(name: string, known: readonly string[]): WeirError {
  const nearest = nearestWord(name, known)
  const hint =
    nearest === undefined
      ? `the models are ${known.join(', ') || 'none'}`
      : `did you mean "${nearest}"?`
  return new WeirError('UNKNOWN_MODEL', `no model is named "${name}"; ${hint}`)
}
