import type { WeirError } from '../../core/errors.ts'
import type { ServedModel } from './served-model.ts'

/** What was reported of the files of each model, so that each problem is reported once and not at each look. */
export class ReportedProblems {
  /** Messages by model. */
  private readonly reported = new WeakMap<ServedModel, readonly string[]>()

  /**
   * The problems of a model that were not reported yet, which counts as reporting them; undefined when nothing has
   * changed. A load that failed has been reported.
   */
  changed(model: ServedModel): readonly WeirError[] | undefined {
    const problems = model.problems.filter((error) => !model.hasFailedWith(error))
    const known = this.reported.get(model) ?? []
    const messages = problems.map(({ message }) => message)
    if (known.join('\n') === messages.join('\n')) return undefined
    this.reported.set(model, messages)
    return problems.filter(({ message }) => !known.includes(message))
  }
}
