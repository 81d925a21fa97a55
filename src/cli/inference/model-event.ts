import { printable } from '../../core/text/printable.ts'
import type { ModelEvent, SequenceEvent } from '../../jobs/models/events.ts'
import { durationText } from '../../runtime/configuration/value-types.ts'
import { counted } from '../text/counted.ts'

/** A change of a model as `--json` prints it. */
export function eventJson(event: ModelEvent | SequenceEvent) {
  if (!('error' in event)) return event
  const { code, message } = event.error
  return { ...event, error: { code, message } }
}

/** A change of a model as a line of the log. */
export function eventText(event: ModelEvent | SequenceEvent): string {
  switch (event.event) {
    case 'loaded':
      return `models: loaded version ${event.version} of ${event.model} in ${Math.round(event.ms)} ms`
    case 'live':
      return `models: version ${event.version} of ${event.model} is live`
    case 'unloaded':
      return `models: unloaded version ${event.version} of ${event.model}`
    case 'failed':
      return `models: version ${event.version} of ${event.model} cannot be served: ${event.error.code}: ${printable(event.error.message)}`
    case 'problem':
      return `models: ${event.model}: ${event.error.code}: ${printable(event.error.message)}`
    case 'remote':
    case 'repository':
      return `models: ${printable(event.error.message)}`
    case 'decisions':
      return `models: decisions for the topic ${event.topic} are lost until it works again, and answers go on: ${event.error.code}: ${printable(event.error.message)}`
    case 'sequences':
      return `models: states of sequences are kept in checkpoints in ${event.directory}, every ${durationText(event.intervalMs)}; ${restoredText(event)}`
    case 'sequences-problem':
      return `models: a checkpoint of sequences: ${event.error.code}: ${printable(event.error.message)}`
    case 'sequences-off':
      return `models: states of sequences are in memory only, and a restart ends all sequences: ${event.error.code}: ${printable(event.error.message)}`
    case 'last-checkpoint':
      return lastText(event.last)
  }
}

function restoredText({ restored }: Extract<SequenceEvent, { event: 'sequences' }>): string {
  if (restored === undefined) return 'there was none to restore'
  const { checkpointId, triggeredAtMs, sequences, whole } = restored
  const time = new Date(triggeredAtMs).toISOString()
  const from = `checkpoint ${checkpointId} of ${time} has ${counted(sequences, 'sequence')}`
  if (whole === sequences) return from
  return `${from}, of which ${sequences - whole} may lack their last answers: their next request must name the answer that it follows`
}

function lastText(last: Extract<SequenceEvent, { event: 'last-checkpoint' }>['last']): string {
  if (last.kind === 'taken') return `models: checkpoint ${last.checkpointId} is the last one`
  const why = last.kind === 'failed' ? last.why : 'none is taken'
  return `models: no last checkpoint: ${printable(why)}; the next start continues from the checkpoint before`
}
