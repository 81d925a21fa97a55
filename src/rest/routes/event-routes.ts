import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { bearerTokenOf } from '../../access/bearer.ts'
import type { AccessControl } from '../../access/control.ts'
import type { Cancel, Clock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { EventStream, seenSequence } from '../live/event-stream.ts'
import type { WatchedAnswers } from '../live/watched-answers.ts'
import { checkWatchedPaths } from '../live/watched-paths.ts'
import { listOfAll } from './context.ts'

/** Parts of the route of events. */
export interface EventRouteParts {
  readonly watched: WatchedAnswers
  readonly access: AccessControl
  readonly clock: Clock
}

/** Streams at a time; each open page of the dashboard has one. */
const MOST_STREAMS = 64
/** Time between two signs of life, ms. */
const HEARTBEAT_MS = 15_000

/**
 * `GET /weir/events?path=...&path=...`: the answers to these paths as server-sent events, each now and
 * again when it changes. The answer is 503 when too many streams are open.
 */
export function eventRoutes(app: FastifyInstance, { watched, access, clock }: EventRouteParts) {
  const epoch = randomBytes(8).toString('hex')
  app.get('/weir/events', async (request, reply) => {
    const paths = checkWatchedPaths(listOfAll(request, 'path'))
    if (watched.watcherCount >= MOST_STREAMS) return await tooMany(reply)
    reply.hijack()
    const stream = new EventStream(reply.raw, epoch)
    stream.open()
    const { 'last-event-id': lastEventId, authorization } = request.headers
    const stopWatching = watched.watch({
      paths,
      seen: seenSequence(String(lastEventId ?? ''), epoch),
      deliver: (event) => stream.send(event),
    })
    const stopBeating = beat(clock, () => {
      // A token that was revoked or has expired ends the stream.
      if (access.authenticate(bearerTokenOf(authorization)) === undefined) stream.end()
      else stream.heartbeat()
    })
    reply.raw.on('close', () => {
      stopWatching()
      stopBeating()
    })
    return reply
  })
}

async function tooMany(reply: FastifyReply): Promise<never> {
  reply.header('retry-after', '10')
  throw new WeirError(
    'OVERLOADED',
    `${MOST_STREAMS} streams of events are open; close pages of the dashboard, or request the paths one by one`,
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
