import type { Selection } from '../selectors/selector.ts'

/*
 * A decision in a topic: the key is the context, the value one object of JSON, so that "weir topic consume" shows it and
 * any program reads it. The log has the checksum of each batch of records. Version 1:
 *
 *   {"v":1,                      version of this form
 *    "id":"019ad7b2...",         id of the decision
 *    "time":1764536400000,       ms since 1970
 *    "pipeline":"recommend","version":3,
 *    "context":"u17",
 *    "versions":{"ranker@1":1},  version of each model, by its reference
 *    "choices":[{"step":"answer",
 *                "arms":["stable","fresh"],
 *                "probabilities":[0.25,0.75],   at the moment of the choice
 *                "run":[1],"mirrors":[],
 *                "explored":false}],
 *    "arm":"fresh",              left out where no arm answered alone
 *    "confidence":0.5,           left out where scores are no probabilities
 *    "default":"unsure",         left out where the pipeline answered itself
 *    "ms":1.25}                  time of the whole request
 *
 * Readers leave out fields that they do not know; a change of a field's meaning is another version.
 */

/** Version of the form. */
const FORM = 1
/** Digits of probabilities and times. */
const DIGITS = 6

/** A choice of one step. */
export interface RecordedChoice {
  readonly step: string
  readonly arms: readonly string[]
  readonly selection: Selection
}

/** A decision as the log has it. */
export interface DecisionRecord {
  readonly id: string
  readonly timeMs: number
  readonly pipeline: string
  readonly version: number
  readonly context: string
  readonly versions: Readonly<Record<string, number>>
  readonly choices: readonly RecordedChoice[]
  readonly arm: string | undefined
  readonly confidence: number | undefined
  readonly isDefault: string | undefined
  /** Time of the whole request, ms. */
  readonly ms: number
}

/** Takes the decisions of one topic. It never holds up who writes. */
export interface DecisionSink {
  /** Decisions that it could not keep. */
  readonly lost: number
  write(record: DecisionRecord): void
}

/** The value of a decision in a topic. */
export function decisionText(record: DecisionRecord): string {
  const { id, timeMs, pipeline, version, context, versions, choices, arm, isDefault } = record
  return JSON.stringify({
    v: FORM,
    id,
    time: timeMs,
    pipeline,
    version,
    context,
    versions,
    choices: choices.map(({ step, arms, selection }) => ({
      step,
      arms,
      probabilities: Array.from(selection.probabilities, rounded),
      run: selection.run,
      mirrors: selection.mirrors,
      explored: selection.explored,
    })),
    arm,
    confidence: record.confidence === undefined ? undefined : rounded(record.confidence),
    default: isDefault,
    ms: rounded(record.ms),
  })
}

const rounded = (value: number): number => Number(value.toPrecision(DIGITS))
