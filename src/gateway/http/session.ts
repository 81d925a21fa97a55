import type { FastifyRequest } from 'fastify'
import type { Clock } from '../../core/clock.ts'
import { isWeirError, requireArgument, type WeirError } from '../../core/errors.ts'
import { isPlace } from '../../core/position.ts'
import type { PairPredictions } from '../../wire/encoded-pairs.ts'
import type { Consistency, QueryOptions, ReadPosition } from '../../wire/model-reader.ts'
import type { RoutingTable, SourceInfo } from '../../wire/routing-table.ts'
import type { ServedState, StoredPosition } from '../port/services.ts'

/*
 * Sessions: reads that include what the same client wrote before. A session is a text in the header Weir-Session,
 * which the answer to an observation has, and which the client sends again as it is. It names a position of each
 * partition that was written, `SOURCE:PARTITION:OFFSET`, separated by commas, so that every thread and every
 * process of a gateway can read it.
 */

/** Header of a session, in requests and answers. */
export const SESSION_HEADER = 'weir-session'

/** Most partitions of a session: each costs a read more. */
const MOST_POSITIONS = 16

/** Schema of the header. */
export const SESSION_SCHEMA = {
  type: 'string',
  maxLength: 600,
  pattern: '^([0-9]{1,15}:[0-9]{1,15}:[0-9]{1,15},?)*$',
  description:
    'The Weir-Session of an answer before, sent back as it is: the read includes the observations of that session.',
} as const

/** The uid of the source from which a job learns. */
export const OBSERVATIONS_SOURCE = 'observations'

/** The consistency of a session: that of its last position, after reads that wait for the others. */
export type SessionConsistency = Consistency & { readonly also?: readonly Consistency[] }

/** The positions of a session. Throws INVALID_ARGUMENT. */
export function positionsOfSession(text: string): readonly Required<ReadPosition>[] {
  const positions = text
    .split(',')
    .filter((part) => part !== '')
    .map((part) => {
      const [source = -1, partition = -1, offset = -1, ...more] = part.split(':').map(Number)
      return { source, partition, offset: more.length === 0 ? offset : -1 }
    })
  requireArgument(
    positions.length <= MOST_POSITIONS &&
      positions.every(
        ({ source, partition, offset }) =>
          isPlace(source, partition) && Number.isSafeInteger(offset) && offset >= 0,
      ),
    `the header ${SESSION_HEADER} must be that of an answer, not "${text.slice(0, 40)}"`,
  )
  return positions
}

/** The consistency of reads of a session; undefined for an empty one. */
export function consistencyOfSession(text: string): SessionConsistency | undefined {
  const bounds = positionsOfSession(text).map(
    (position) => ({ level: 'at-least', ...position }) as const,
  )
  const last = bounds.at(-1)
  if (last === undefined || bounds.length === 1) return last
  return { ...last, also: bounds.slice(0, -1) }
}

/** What an answer to observations says of their places. */
export interface WrittenPlaces {
  /** The `Weir-Consistency` with which a read includes them; undefined where no single one does. */
  readonly consistency: string | undefined
  /** The session with them; undefined where the job does not read their topic, or for too many partitions. */
  readonly session: string | undefined
}

/**
 * The source through which a job reads a topic of observations; undefined where it reads none of that name. A job of an
 * earlier build does not say what it reads.
 */
export function sourceOfTopic(
  { sources }: Pick<RoutingTable, 'sources'>,
  topic: string,
): SourceInfo | undefined {
  return sources.find(
    (source) =>
      source.uid === OBSERVATIONS_SOURCE && source.tracked && (source.topic ?? topic) === topic,
  )
}

/** Observations that were stored in a topic. */
export interface StoredObservations {
  readonly topic: string
  readonly positions: readonly StoredPosition[]
}

/** The places of stored observations, in a job with this routing, and in the session of the request. */
export function writtenPlaces(
  { topic, positions: stored }: StoredObservations,
  routing: Pick<RoutingTable, 'sources'>,
  session: string,
): WrittenPlaces {
  const learned = sourceOfTopic(routing, topic)
  if (learned === undefined || stored.length === 0) {
    return { consistency: undefined, session: undefined }
  }
  const source = learned.number
  const merged = new Map<string, Required<ReadPosition>>()
  for (const position of [
    ...positionsOfSession(session),
    ...stored.map((one) => ({ source, ...one })),
  ]) {
    const place = `${position.source}:${position.partition}`
    const known = merged.get(place)
    if (known === undefined || known.offset < position.offset) merged.set(place, position)
  }
  const [only, ...others] = stored
  return {
    consistency:
      others.length > 0 ? undefined : `at-least:${source}:${only!.partition}:${only!.offset}`,
    session: merged.size > MOST_POSITIONS ? undefined : [...merged.values()].map(textOf).join(','),
  }
}

/** The session of a request, empty for none. */
export function sessionOf({ headers }: Pick<FastifyRequest, 'headers'>): string {
  return headers[SESSION_HEADER]?.toString() ?? ''
}

/** Headers of an answer to observations, for its document. */
export const WRITTEN_HEADERS = {
  'weir-consistency': {
    description: 'The Weir-Consistency with which a read includes them, if one position does.',
    schema: { type: 'string' },
  },
  'weir-session': {
    description: 'The session with them: send it with reads, and with the next observations.',
    schema: { type: 'string' },
  },
} as const

/** Header fields with what an answer to observations says of their places. */
export function writtenFields({
  consistency,
  session,
}: WrittenPlaces): Readonly<Record<string, string>> {
  return {
    ...(consistency === undefined ? {} : { 'weir-consistency': consistency }),
    ...(session === undefined ? {} : { [SESSION_HEADER]: session }),
  }
}

function textOf({ source, partition, offset }: Required<ReadPosition>): string {
  return `${source}:${partition}:${offset}`
}

/**
 * State whose reads wait for all positions of a session: a request to the job names one position, so that a read for
 * each of the others comes before the last one. A position that one of them does not reach is the answer's error.
 */
export function withSessions(state: ServedState, clock: Clock): ServedState {
  const methods = new Map<PropertyKey, unknown>()
  // Members of the state itself may be read-only, and a proxy must return those as they are.
  return new Proxy({} as ServedState, {
    has: (_, name) => name in state,
    get(_, name) {
      const known = methods.get(name)
      if (known !== undefined) return known
      const member: unknown = Reflect.get(state, name)
      if (typeof member !== 'function') return member
      const call = (given: readonly unknown[]): unknown => member.apply(state, given)
      const method = (...args: readonly unknown[]): unknown => {
        const also = alsoOf(args.at(-1))
        return also.length === 0 ? call(args) : callAfter(call, args, also, clock)
      }
      methods.set(name, method)
      return method
    },
  })
}

/** One call after the others, with the errors of all: a position that was not reached is missing in the answer. */
async function callAfter(
  call: (args: readonly unknown[]) => unknown,
  args: readonly unknown[],
  also: readonly Consistency[],
  clock: Clock,
): Promise<unknown> {
  const before = args.slice(0, -1)
  const options = args.at(-1) as QueryOptions
  const { also: _, ...last } = options.consistency as SessionConsistency
  const beganMs = clock.monotonicMs()
  const waits = also.map((consistency) => call([...before, { ...options, consistency }]))
  const earlier = await Promise.all(waits)
  const failed = earlier.find(isFailed)
  if (failed !== undefined) return failed
  const restMs = Math.max(1, (options.deadlineMs ?? 0) - (clock.monotonicMs() - beganMs))
  const deadline = options.deadlineMs === undefined ? {} : { deadlineMs: Math.ceil(restMs) }
  const answer = await call([...before, { ...options, ...deadline, consistency: last }])
  return earlier.reduce(withErrorsOf, answer)
}

/** An answer with the errors of an earlier one to the same rows or pairs. */
function withErrorsOf(answer: unknown, earlier: unknown): unknown {
  if (Array.isArray(answer) && Array.isArray(earlier)) {
    return answer.map((one: unknown, n) => (isFailed(earlier[n]) ? earlier[n] : one))
  }
  if (!isPairs(answer) || !isPairs(earlier)) return answer
  const { scores, flags, versions } = answer
  const missing = [...earlier.errors].filter(([, error]) => isMissing(error))
  return { scores, flags, versions, errors: new Map([...answer.errors, ...missing]) }
}

function isPairs(answer: unknown): answer is PairPredictions {
  return typeof answer === 'object' && answer !== null && 'errors' in answer && 'scores' in answer
}

function isFailed(answer: unknown): answer is { readonly ok: false; readonly error: WeirError } {
  if (typeof answer !== 'object' || answer === null || !('ok' in answer)) return false
  return answer.ok === false && 'error' in answer && isMissing(answer.error)
}

/** A row that one position does not have may come with the next one: the last read decides. */
function isMissing(error: unknown): boolean {
  return !isWeirError(error, 'UNKNOWN_KEY')
}

function alsoOf(options: unknown): readonly Consistency[] {
  if (typeof options !== 'object' || options === null || !('consistency' in options)) return []
  return (options.consistency as SessionConsistency | undefined)?.also ?? []
}
