import { hashingOf } from '../../core/features/hashing.ts'
import { objectWith } from '../../core/options/kinds.ts'
import { trainedWith } from '../../models/linear/trained-with.ts'
import { readExamples } from '../../models/observations/examples.ts'
import { historyExamples } from '../../models/observations/history.ts'
import type { Hyperparameters } from '../../models/registry/version.ts'
import { SVM_MODEL } from '../../models/topic/linear-serving-function.ts'
import type { GoldenExamples } from '../port/golden-set.ts'
import type { ModelKind } from '../port/kind.ts'
import type { PlacedExample } from './examples-profile.ts'
import { goldenExamplesId, LinearGate } from './gate.ts'
import type { LinearRetraining, LinearTraining } from './options.ts'

/** Linear models: support vector machines and logistic regression. */
export const LINEAR: ModelKind<LinearRetraining, LinearTraining, GoldenExamples, PlacedExample> = {
  name: 'linear',
  observations: 'examples',
  state: SVM_MODEL,
  learner: 'weir learn svm',
  learnsBefore: false,
  options: { linear: objectWith('options of trainLinear') },
  // Its rows are blocks of weights, counted as items.
  includes: ({ users }) => users === 0,
  code: () => 'linear/1',
  parameters: ({ linear: { threads: _, ...parameters } }): Hyperparameters => parameters,
  dimension: ({ linear }) => linear.range,
  // The optimum does not depend on the start.
  startsFromRows: () => false,
  // Blocks of weights are as long as those that are served.
  training({ linear }, { live }) {
    const range = linear.range ?? live?.dimension
    const { labels } = trainedWith(live?.lineage.hyperparameters ?? {})
    return { linear: { ...linear, ...(range === undefined ? {} : { range }) }, labels }
  },
  async trainer(onProgress) {
    const { LinearTrainer } = await import('./trainer.ts')
    return new LinearTrainer(onProgress)
  },
  read: (topics, ranges, trained) => readExamples(topics, ranges, undefined, hashingOf(trained)),
  readHistory: (history, trained) => historyExamples(history, undefined, hashingOf(trained)),
  gate: (options) => new LinearGate(options),
  goldenId: ({ examples }, version) => goldenExamplesId(examples, version),
}
