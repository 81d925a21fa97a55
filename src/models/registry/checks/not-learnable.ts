import type { Feedback } from '../../feedback.ts'

/** Why the job that learns a model would serve a version, but not learn it. */
export type NotLearnable =
  /** It takes ratings for something else. */
  | { readonly reason: 'feedback'; readonly learns: Feedback }
  /** It learns rows of the other kind of model. */
  | { readonly reason: 'rows'; readonly learns: 'factors' | 'linear' }
  /** It learns two labels, and the version has more. */
  | { readonly reason: 'classes' }
  /** It was given another positive label. */
  | { readonly reason: 'labels'; readonly learns: number; readonly positive: number }

/** The reason in a sentence. */
export function notLearnableText(given: NotLearnable): string {
  return `${reasonText(given)}: it would be served, but not learned`
}

function reasonText(given: NotLearnable): string {
  switch (given.reason) {
    case 'feedback':
      return given.learns === 'implicit'
        ? 'the job that learns the model takes values for counts of use, and this version is of ratings'
        : 'the job that learns the model takes values for ratings, and this version is of implicit feedback'
    case 'rows':
      return given.learns === 'linear'
        ? 'the job that learns the model learns weights of a linear model, and this version has factors'
        : 'the job that learns the model learns factors, and this version has weights of a linear model'
    case 'classes':
      return 'the job that learns the model learns two labels, and this version has a model for each of several classes'
    case 'labels':
      return `the job that learns the model was started with ${given.learns} as positive label, and this version was trained with ${given.positive}`
  }
}

/** What to do about it. */
export function notLearnableHint({ reason }: NotLearnable): string {
  switch (reason) {
    case 'feedback':
      return 'Stop the job, promote the version with --force REASON, and start the job again without --rule'
    case 'rows':
    case 'classes':
      return 'Publish it to a topic of its own'
    case 'labels':
      return 'Start the job again without --positive: it then learns each version with its own labels'
  }
}
