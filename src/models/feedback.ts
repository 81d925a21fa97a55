import { numberIn, objectWith, oneOf } from '../core/options/kinds.ts'
import { checkArgument } from '../core/options/shape.ts'

/**
 * Meaning of the ratings that a version was trained on. Explicit: how much a user likes an item. Implicit: how often a user
 * used it; scores are then preferences from 0 to 1, and only their order counts.
 */
export type Feedback = 'explicit' | 'implicit'

/** The kinds of feedback. */
export const FEEDBACK = oneOf<Feedback>('explicit', 'implicit')

/** The feedback of a version, from its hyperparameters; explicit where they do not say it. */
export function feedbackOf(
  hyperparameters: Readonly<Record<string, number | string | boolean>>,
): Feedback {
  checkArgument(
    'feedbackOf',
    'hyperparameters',
    objectWith('the hyperparameters of a version'),
    hyperparameters,
  )
  const { feedback = 'explicit' } = hyperparameters ?? {}
  checkArgument('feedbackOf', 'feedback', FEEDBACK, feedback)
  return feedback as Feedback
}

/** What the score of a pair should be after a rating: the rating, or the preference that it shows. */
export function targetOf(feedback: Feedback, rating: number): number {
  if (feedback === 'explicit' && Number.isFinite(rating)) return rating
  checkArgument('targetOf', 'feedback', FEEDBACK, feedback)
  checkArgument('targetOf', 'rating', numberIn(), rating)
  return rating > 0 ? 1 : 0
}
