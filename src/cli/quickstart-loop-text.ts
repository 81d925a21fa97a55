import type { RetrainOutcome } from '../jobs/retrain.ts'
import type { CommandIo } from './command.ts'
import type { Tell } from './quickstart-text.ts'

export const count = (n: number): string => n.toLocaleString('en-US')

/** Errors of the same ratings: of the model that learns, and of the one that does not. */
export interface ErrorPair {
  readonly learned: number
  readonly frozen: number
}

/** `RMSE 0.8123 as it learns, 0.9012 without learning` */
export function errorsInWords({ learned, frozen }: ErrorPair): string {
  return `RMSE ${learned.toFixed(4)} as it learns, ${frozen.toFixed(4)} without learning`
}

/** Shows looks at a changing figure: in one line on a terminal, else every `each`-th as a line. */
export class LiveLine {
  private readonly io: CommandIo
  private readonly tell: Tell
  private readonly label: string
  private readonly each: number
  private looks = 0
  private isTold = false

  constructor(
    label: string,
    { io, tell, each }: { readonly io: CommandIo; readonly tell: Tell; readonly each: number },
  ) {
    this.label = label
    this.io = io
    this.tell = tell
    this.each = each
  }

  look(sentence: string): void {
    if (this.io.rewriteLine !== undefined) this.io.rewriteLine(`${this.label} ${sentence}`)
    else if (this.looks++ % this.each === 0) {
      this.tell(this.isTold ? '' : this.label, sentence)
      this.isTold = true
    }
  }

  /** Ends the live line and tells what stays. */
  end(sentence: string): void {
    this.io.rewriteLine?.('')
    this.tell(this.isTold ? '' : this.label, sentence)
  }
}

/** What became of the retraining, in a sentence or two. */
export function outcomeInWords(outcome: RetrainOutcome): string {
  switch (outcome.kind) {
    case 'promoted':
    case 'refused': {
      const { version, checks } = outcome
      const passed = version.checks.filter(({ passed: isPassed }) => isPassed)
      const errors =
        checks.candidate === undefined || checks.live === undefined
          ? ''
          : `; RMSE on ratings that neither saw ${checks.candidate.rmse.toFixed(4)}, of live ${checks.live.rmse.toFixed(4)}`
      return `${passed.length} of ${version.checks.length} checks passed (${version.checks.map(({ check }) => check).join(', ')})${errors}`
    }
    case 'exists':
      return `version ${outcome.version.number} came from the same observations before`
    case 'candidate':
      return `version ${outcome.version.number} was not checked`
    case 'nothing-to-train-on':
      return 'there was nothing to train on'
  }
}
