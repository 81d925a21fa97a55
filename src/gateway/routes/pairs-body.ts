import type { FastifyInstance } from 'fastify'
import { jsonTextOf } from '../../http/json-body.ts'
import { alsKey } from '../../models/als/row-key.ts'
import type { EncodedPairs } from '../../wire/encoded-pairs.ts'
import { FrameWriter } from '../../wire/frame-writer.ts'
import { DEFAULT_STATE } from '../http/schemas.ts'
import { scanPairs } from './pairs-scanner.ts'

/** Body of a batch of predictions. */
export interface PairsBody {
  readonly state: string
  readonly version?: number
  readonly pairs: readonly (readonly [user: string, item: string])[]
}

/** Some pairs that the schema accepts. */
const VALID: PairsBody['pairs'] = [['user', 'item']]

/**
 * A body whose pairs were read as keys. The scanner accepts only what the schema of the route accepts, so
 * the schema, which cannot see the keys, is given other pairs.
 */
class ScannedBody implements PairsBody {
  readonly state = DEFAULT_STATE
  readonly pairs = VALID
  readonly #keys: EncodedPairs

  constructor(keys: EncodedPairs) {
    this.#keys = keys
  }

  get keys(): EncodedPairs {
    return this.#keys
  }
}

/** Parses bodies of JSON: pairs in their usual form as keys, everything else within the limits of JSON. */
export function addPairsParser(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    (request, body, done) => {
      const keys = scanPairs(body)
      if (keys !== undefined) {
        done(null, new ScannedBody(keys))
        return
      }
      let text: string
      try {
        text = jsonTextOf(body)
      } catch (error) {
        done(error as Error)
        return
      }
      void parseJson(request, text, done)
    },
  )
}

/** The keys of the pairs of a body. */
export function encodedPairsOf(body: PairsBody): EncodedPairs {
  if (body instanceof ScannedBody) return body.keys
  const writer = new FrameWriter(32 * body.pairs.length)
  for (const [user, item] of body.pairs) {
    writer.key(alsKey(user, 'U'))
    writer.key(alsKey(item, 'I'))
  }
  return { count: body.pairs.length, bytes: writer.written() }
}
