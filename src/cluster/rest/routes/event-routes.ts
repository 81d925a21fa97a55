import { randomBytes } from 'node:crypto'
import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Cancel, Clock } from '../../../core/clock.ts'
import { WeirError } from '../../../core/errors.ts'
import { bearerTokenOf } from '../../../http/access/bearer.ts'
import type { AccessControl } from '../../../http/access/control.ts'
import type { Principal } from '../../../http/access/token-verifier.ts'
import { clientAddressOf } from '../../../http/client-address.ts'
import { EventStream, seenSequence } from '../live/event-stream.ts'
import type { AnswerEvent, WatchedAnswers } from '../live/watched-answers.ts'
import { checkWatchedPaths } from '../live/watched-paths.ts'
import { listOfAll } from './context.ts'
import { mayOnJob } from './objects.ts'

/** Parts of the route of events. */
export interface EventRouteParts {
  readonly watched: WatchedAnswers
  readonly access: AccessControl
  readonly clock: Clock
}

/** What a row of the list of jobs is known by. */
interface JobRow {
  readonly jid: string
  readonly name: string
}

/** Streams at a time; each open page of the dashboard has one. */
const MOST_STREAMS = 64
/** Streams of one token at a time; without tokens, of one address. */
const MOST_OF_CLIENT = 32
/** Time between two signs of life, ms. */
const HEARTBEAT_MS = 15_000

/**
 * `GET /weir/events?path=...&path=...`: the answers to these paths as server-sent events, each now and
 * again when it changes. The answer is 503 when too many streams are open.
 */
export function eventRoutes(app: FastifyInstance, { watched, access, clock }: EventRouteParts) {
  const epoch = randomBytes(8).toString('hex')
  const streams = new Map<string, number>()
  app.get('/weir/events', { config: { query: ['path'] } }, async (request, reply) => {
    const paths = checkWatchedPaths(listOfAll(request, 'path'))
    if (watched.watcherCount >= MOST_STREAMS) return await tooMany(reply, MOST_STREAMS)
    const client = clientOf(request, access)
    const own = streams.get(client) ?? 0
    if (own >= MOST_OF_CLIENT) return await tooMany(reply, MOST_OF_CLIENT)
    streams.set(client, own + 1)
    reply.hijack()
    const stream = new EventStream(reply.raw, epoch)
    stream.open(reply.getHeaders() as OutgoingHttpHeaders)
    const { 'last-event-id': lastEventId, authorization } = request.headers
    const stopWatching = watched.watch({
      paths,
      seen: seenSequence(String(lastEventId ?? ''), epoch),
      deliver: (event) => stream.send(readableEvent(event, request.principal)),
    })
    const stopBeating = beat(clock, () => {
      // A token that was revoked, has expired or has other rights ends the stream.
      const isHeld = request.principal === undefined || access.holds(request.principal)
      if (!isHeld || access.authenticate(bearerTokenOf(authorization)) === undefined) stream.end()
      else stream.heartbeat()
    })
    reply.raw.on('close', () => {
      const left = (streams.get(client) ?? 1) - 1
      if (left > 0) streams.set(client, left)
      else streams.delete(client)
      stopWatching()
      stopBeating()
    })
    return reply
  })
}

/** An event without the jobs that the client may not read: only the list of jobs has several. */
function readableEvent(event: AnswerEvent, principal: Principal | undefined): AnswerEvent {
  if (principal?.rights === undefined || !/^\/jobs\/overview(?:\?|$)/.test(event.path)) return event
  const { jobs = [] } = JSON.parse(event.body) as { readonly jobs?: readonly JobRow[] }
  const action = { principal, needed: 'read' } as const
  const readable = jobs.filter(({ jid, name }) => mayOnJob(action, { id: jid, name }))
  return { ...event, body: JSON.stringify({ jobs: readable }) }
}

/** Whose share a stream takes: that of its token, or of its address where no token is needed. */
function clientOf(request: FastifyRequest, access: AccessControl): string {
  return access.needsToken
    ? (bearerTokenOf(request.headers.authorization) ?? '')
    : clientAddressOf(request)
}

async function tooMany(reply: FastifyReply, most: number): Promise<never> {
  reply.header('retry-after', '10')
  throw new WeirError(
    'OVERLOADED',
    `${most} streams of events are open; close pages of the dashboard, or request the paths one by one`,
  )
}

/** Calls `sign` at regular times until the returned function is called. */
function beat(clock: Clock, sign: () => void): Cancel {
  let cancel = clock.after(HEARTBEAT_MS, function again() {
    cancel = clock.after(HEARTBEAT_MS, again)
    sign()
  })
  return () => cancel()
}
