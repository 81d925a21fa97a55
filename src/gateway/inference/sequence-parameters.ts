import { requireArgument } from '../../core/errors.ts'
import type { SequenceTerms } from '../../inference/sequences/sequence-states.ts'
import { readStep, type SequenceStep } from '../../inference/sequences/step.ts'

/** Longest id of a sequence, characters. */
const MAX_ID = 128

/**
 * The sequence that the parameters `sequence_id`, `sequence_start` and `sequence_end` name, as Triton's extension has
 * them: an id is a text or a whole number, and 0 or an empty text is none. `sequence_after` is Weir's own: the
 * `sequence_step` of the answer that the request follows. Throws INVALID_ARGUMENT.
 */
export function sequenceOf(
  parameters: Readonly<Record<string, unknown>>,
): SequenceTerms | undefined {
  const id = idOf(parameters['sequence_id'])
  const isStart = flagOf(parameters, 'sequence_start')
  const isEnd = flagOf(parameters, 'sequence_end')
  const after = afterOf(parameters['sequence_after'])
  requireArgument(
    !isStart || after === undefined,
    'the first request of a sequence follows no answer; leave out sequence_after, or sequence_start',
  )
  if (id !== undefined) return { id, isStart, isEnd, ...(after === undefined ? {} : { after }) }
  requireArgument(
    !isStart && !isEnd && after === undefined,
    'sequence_start, sequence_end and sequence_after need the sequence_id of the sequence, which is not 0',
  )
  return undefined
}

function afterOf(value: unknown): SequenceStep | undefined {
  if (value === undefined || value === '') return undefined
  return readStep(typeof value === 'string' ? value : '')
}

function idOf(value: unknown = 0): string | undefined {
  if (value === 0 || value === '' || value === '0') return undefined
  if (typeof value === 'bigint') return String(value)
  const isText = typeof value === 'string' && value.length <= MAX_ID
  requireArgument(
    isText || Number.isSafeInteger(value),
    `the parameter sequence_id is a text of at most ${MAX_ID} characters, or a whole number that JSON has exactly; send a larger one as a text`,
  )
  return String(value)
}

/** A parameter that is true or false; false where it is not given. Throws INVALID_ARGUMENT. */
export function flagOf(parameters: Readonly<Record<string, unknown>>, name: string): boolean {
  const value = parameters[name] ?? false
  requireArgument(typeof value === 'boolean', `the parameter ${name} is true or false`)
  return value
}
