import type { RetrainOutcome } from '../../jobs/retrain/options.ts'
import type { RegisteredVersion } from '../../models/registry/version.ts'

/** Whether a retraining has done its work: a version that was refused before is still refused. */
export function hasSucceeded(outcome: RetrainOutcome): boolean {
  if (outcome.kind !== 'exists') {
    return outcome.kind !== 'refused' && outcome.kind !== 'nothing-to-train-on'
  }
  return outcome.version.checks.every(({ passed }) => passed)
}

/** The outcome of a retraining in a sentence, with what to do next. */
export function outcomeText(outcome: RetrainOutcome): string {
  switch (outcome.kind) {
    case 'nothing-to-train-on':
      return 'no observations to train on'
    case 'exists':
      return existsText(outcome.version)
    case 'candidate':
      return candidateText(outcome.version)
    case 'refused':
      return `${outcome.reason}; it stays a candidate`
    case 'promoted':
      return `version ${outcome.version.number} is live; a learning job continues with the ${outcome.gap} observations after the last replay`
  }
}

function candidateText({ number, topic }: RegisteredVersion): string {
  return `version ${number} is a candidate; check and promote it with "weir model promote ${number} --model ${topic} --golden FILE"`
}

function existsText({ number, topic, state, checks }: RegisteredVersion): string {
  const failed = checks.find(({ passed }) => !passed)
  if (state !== 'candidate' || failed === undefined) {
    return `version ${number} has the same observations and options: nothing to do`
  }
  return `version ${number} has the same observations and options, and its ${failed.check} check failed on this golden set: see "weir model show ${number} --model ${topic}"`
}
