import { printable } from '../../core/text/printable.ts'
import type { ModelEvent } from '../../jobs/models/events.ts'

/** A change of a model as `--json` prints it. */
export function eventJson(event: ModelEvent) {
  if (!('error' in event)) return event
  const { code, message } = event.error
  return { ...event, error: { code, message } }
}

/** A change of a model as a line of the log. */
export function eventText(event: ModelEvent): string {
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
  }
}
