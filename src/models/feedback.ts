/**
 * Meaning of the ratings that a version was trained on. Explicit: how much a user likes an item. Implicit: how often a user
 * used it; scores are then preferences from 0 to 1, and only their order counts.
 */
export type Feedback = 'explicit' | 'implicit'

/** The feedback of a version, from its hyperparameters; explicit where they do not say it. */
export function feedbackOf(
  hyperparameters: Readonly<Record<string, number | string | boolean>>,
): Feedback {
  return hyperparameters['feedback'] === 'implicit' ? 'implicit' : 'explicit'
}

/** What the score of a pair should be after a rating: the rating, or the preference that it shows. */
export function targetOf(feedback: Feedback, rating: number): number {
  if (feedback === 'explicit') return rating
  return rating > 0 ? 1 : 0
}
