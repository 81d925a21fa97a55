import { afterEach, beforeEach, expect, it } from 'vitest'
import { AccessControl, OPEN_ACCESS, shareAccess } from '../../../src/http/access/control.ts'
import { parseRight } from '../../../src/http/access/object-rights.ts'
import { readErrorFrame } from '../../../src/wire/answer.ts'
import { ANSWER, type FrameReader, KIND } from '../../../src/wire/frame.ts'
import type { FrameWriter } from '../../../src/wire/frame-writer.ts'
import { encodeModelsRequest, type ModelsRequest } from '../../../src/wire/inference/models.ts'
import { beginRequest } from '../../../src/wire/request.ts'
import { readRouting } from '../../../src/wire/routing-table.ts'
import { tokenOf } from '../../http/access/tokens.ts'
import { type Needs, type Outcome, walkersOf } from '../../http/access/walk.ts'
import { PREAMBLE, TestedServer } from './tested-server.ts'

const STATE: Needs = { role: 'read', on: ['state:ALS_MODEL'] }

/** A request about a state or a model, in its shortest form. */
const named = (kind: number) => (writer: FrameWriter) => {
  beginRequest(writer, kind, 0, 7, PREAMBLE)
  writer.key('1-U')
  writer.end(1)
}
const ofModels = (request: ModelsRequest) => (writer: FrameWriter) => {
  beginRequest(writer, KIND.models, 0, 7, { ...PREAMBLE, state: '' })
  writer.raw(encodeModelsRequest(request))
  writer.end(1)
}
const bare = (kind: number) => (writer: FrameWriter) => {
  writer.begin(kind, 0, 7)
  writer.end(0)
}

/** Every kind of frame that a client may send after its hello, with what it needs. */
const REQUESTS: Readonly<Record<string, readonly [Needs, (writer: FrameWriter) => void]>> = {
  predict: [STATE, named(KIND.predict)],
  rows: [STATE, named(KIND.rows)],
  values: [STATE, named(KIND.values)],
  scan: [STATE, named(KIND.scan)],
  sparseDot: [STATE, named(KIND.sparseDot)],
  topK: [STATE, named(KIND.topK)],
  infer: [{ role: 'read', on: ['model:ALS_MODEL'] }, named(KIND.infer)],
  'infer of an alias': [
    { role: 'read', on: ['model:ALS_MODEL'] },
    (writer) => {
      beginRequest(writer, KIND.infer, 0, 7, { ...PREAMBLE, state: 'ALS_MODEL@stable' })
      writer.end(1)
    },
  ],
  'models: one': [
    { role: 'read', on: ['model:ALS_MODEL'] },
    ofModels({ action: 'list', model: 'ALS_MODEL' }),
  ],
  'models: all': [{ role: 'read' }, ofModels({ action: 'list', model: '' })],
  'models: load': [
    { role: 'admin', on: ['model:ALS_MODEL'] },
    ofModels({ action: 'load', model: 'ALS_MODEL' }),
  ],
  'models: unload': [
    { role: 'admin', on: ['model:ALS_MODEL'] },
    ofModels({ action: 'unload', model: 'ALS_MODEL' }),
  ],
  routing: [{ role: 'read' }, bare(KIND.routing)],
  ping: [{ role: 'read' }, bare(KIND.ping)],
}

let served: TestedServer

beforeEach(() => {
  served = new TestedServer()
})

afterEach(() => served.close())

it('a query server answers each kind of request to whom may send it, by object too, and to no one else', async () => {
  const kinds = Object.keys(REQUESTS).map((name) => name.replace(/(?: |:).*/, ''))
  const known = Object.keys(KIND).filter((kind) => !['hello', 'trace', 'error'].includes(kind))
  expect(new Set(kinds)).toEqual(new Set(known))
  await served.start({ access: shareAccess([]) })
  const holes: string[] = []
  let tried = 0
  for (const [name, [needs, request]] of Object.entries(REQUESTS)) {
    const tokens = {
      replace: (share: Parameters<AccessControl['replace']>[0]) =>
        served.server.replaceAccess(share),
    }
    const access = Object.assign(new AccessControl(OPEN_ACCESS, served.clock), tokens)
    for (const { title, token, expected } of walkersOf(needs, access, served.clock.nowMs())) {
      const client = served.open()
      const welcome = await client.hello(token)
      client.send(request)
      const outcome = refusalIn(welcome) ?? refusalIn(await client.next())
      tried++
      if ((outcome ?? 'answered') !== expected) holes.push(`${name} with ${title}: ${outcome}`)
      client.socket.destroy()
    }
  }
  expect(holes).toEqual([])
  expect(tried).toBeGreaterThan(150)
})

/** The refusal that a frame is; undefined for an answer, or an error about the request itself. */
function refusalIn(frame: FrameReader | undefined): Outcome | undefined {
  expect(frame).toBeDefined()
  if (frame!.kind !== KIND.error && frame!.kind !== KIND.error - ANSWER) return undefined
  const { code } = readErrorFrame(frame!)
  if (code === 'UNAUTHENTICATED') return 'unauthenticated'
  return code === 'ACCESS_DENIED' ? 'denied' : undefined
}

it('the routing table of a token has only the states that it may read', async () => {
  const states = async (...rights: string[]) => {
    const { text, record } = tokenOf(1, { rights: rights.map(parseRight) })
    served.server.replaceAccess(shareAccess([record]))
    const client = served.open()
    await client.hello(text)
    client.send(bare(KIND.routing))
    return readRouting((await client.next())!).states.map(({ name }) => name)
  }
  await served.start({ access: shareAccess([]) })
  const [own] = served.backend.routing().states
  expect(await states(`read:state:${own!.name}`)).toEqual([own!.name])
  expect(await states('read:state:other', `read:job:${own!.name}`)).toEqual([])
})
