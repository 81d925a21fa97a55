import { classesOf, type LinearClasses } from '../../core/features/classes.ts'
import { type FeatureHashing, hashingOf } from '../../core/features/hashing.ts'
import { objectWith } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'

/** What a linear version was trained with and learning must go on with, as far as the version says it. */
export interface TrainedWith {
  readonly loss?: 'hinge' | 'logistic'
  /** The labels of its examples; an example with another one cannot be learned. */
  readonly labels?: { readonly positive: number; readonly negative: number }
  /** How the names of its features are hashed. */
  readonly hashing?: FeatureHashing
  /** The classes of a model of several ones. */
  readonly classes?: LinearClasses
}

/** What the hyperparameters of a version say; the squared hinge is learned as a hinge. */
export function trainedWith(
  hyperparameters: Readonly<Record<string, number | string | boolean>>,
): TrainedWith {
  const given = objectWith<object>('the hyperparameters of a version')
  checkArgument('trainedWith', 'hyperparameters', given, hyperparameters)
  const { loss, positiveLabel: positive, negativeLabel: negative } = hyperparameters
  const hashing = hashingOf(hyperparameters)
  const classes = classesOf(hyperparameters)
  const areKnown = typeof positive === 'number' && typeof negative === 'number'
  return {
    ...(typeof loss === 'string' ? { loss: loss === 'logistic' ? loss : 'hinge' } : {}),
    ...(areKnown ? { labels: { positive, negative } } : {}),
    ...(hashing === undefined ? {} : { hashing }),
    ...(classes === undefined ? {} : { classes }),
  }
}
