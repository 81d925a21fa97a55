import type { FastifyReply, FastifyRequest } from 'fastify'
import { preferredType } from '../http/accept.ts'
import { sendProblem } from '../http/error-handlers.ts'
import { varyBy } from '../http/origins.ts'
import { httpProblem } from '../http/problem.ts'

/** An id with its value, as lists of the recommender routes have it. */
export interface IdValue {
  readonly id: string
  readonly value: number
}

/** An id with a count. */
export interface IdCount {
  readonly id: string
  readonly count: number
}

/** An entry of a list. */
export type ListEntry = IdValue | IdCount | number | string

/** Media types of a list, the one first that a client without a preference gets. */
const TYPES = ['text/csv', 'application/json', 'text/plain'] as const

/** Media type of a list. */
export type ListType = (typeof TYPES)[number]

/** The type of a list that a client prefers; undefined if it takes none. `accept` is its header field. */
export function listTypeOf(accept: string | undefined): ListType | undefined {
  return preferredType(accept, TYPES)
}

/** The field `Content-Type` of a list. */
export function contentTypeOf(type: ListType): string {
  return `${type}; charset=utf-8`
}

/** A list as text of a type. */
export function listText(type: ListType, list: readonly ListEntry[]): string {
  return type === 'application/json' ? JSON.stringify(list) : list.map(csvLine).join('')
}

/**
 * Sends a list as CSV, or as JSON to a client that prefers it, as Oryx does. Answers 406 to a client that
 * takes neither.
 */
export function sendList(
  request: FastifyRequest,
  reply: FastifyReply,
  list: readonly ListEntry[],
): FastifyReply {
  const type = listTypeOf(request.headers.accept)
  varyBy(reply, 'accept')
  if (type === undefined) {
    const detail = `a list is sent as ${TYPES.join(', ')}; Accept allows none of them`
    return sendProblem(reply, httpProblem(406, 'NOT_ACCEPTABLE', detail))
  }
  return reply.type(contentTypeOf(type)).send(listText(type, list))
}

function csvLine(entry: ListEntry): string {
  if (typeof entry === 'number') return `${entry}\n`
  if (typeof entry === 'string') return `${csvField(entry)}\n`
  return `${csvField(entry.id)},${'value' in entry ? entry.value : entry.count}\n`
}

/** A field of CSV (RFC 4180): quoted where it holds a comma, a quote or a line end. */
function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
