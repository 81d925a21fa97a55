import { expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { METHODS } from '../../../src/gateway/grpc/schema.ts'
import { AccessControl, shareAccess } from '../../../src/http/access/control.ts'
import { parseRight } from '../../../src/http/access/object-rights.ts'
import { tokenOf } from '../../http/access/tokens.ts'
import { type Needs, type Outcome, walkersOf } from '../../http/access/walk.ts'
import { INFER, methodOf, requestFrame } from './frames.ts'
import { openPort, RawClient } from './open-port.ts'

const TENSORS: Needs = { role: 'read', on: ['model:ALS_MODEL'] }
const CHANGE: Needs = { role: 'admin', on: ['model:ALS_MODEL'] }

/** Every method with what it needs. A new method needs a line. */
const NEEDS: Readonly<Record<string, Needs>> = {
  ServerLive: { role: 'public' },
  ServerReady: { role: 'public' },
  ServerMetadata: { role: 'read' },
  ModelReady: TENSORS,
  ModelMetadata: TENSORS,
  ModelInfer: TENSORS,
  ModelStreamInfer: TENSORS,
  RepositoryIndex: { role: 'read' },
  RepositoryModelLoad: CHANGE,
  RepositoryModelUnload: CHANGE,
}

const MESSAGES: Readonly<Record<string, object>> = {
  ModelReady: { name: 'ALS_MODEL' },
  ModelMetadata: { name: 'ALS_MODEL' },
  ModelInfer: INFER,
  ModelStreamInfer: INFER,
  RepositoryModelLoad: { model_name: 'ALS_MODEL' },
  RepositoryModelUnload: { model_name: 'ALS_MODEL' },
}

const [PERMISSION_DENIED, UNAUTHENTICATED] = [7, 16]

function outcomeOf(status: number): Outcome {
  if (status === UNAUTHENTICATED) return 'unauthenticated'
  return status === PERMISSION_DENIED ? 'denied' : 'answered'
}

const bearer = (token: string | undefined): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` }

it('the port of gRPC answers each call to whom may make it, by model too, and to no one else', async () => {
  expect(Object.keys(NEEDS).sort()).toEqual([...METHODS, 'ModelStreamInfer'].sort())
  const access = new AccessControl(shareAccess([]), systemClock)
  await using port = await openPort({ access, services: { modelControl: {} } })
  using client = new RawClient(port.port)
  const holes: string[] = []
  let tried = 0
  for (const [method, needs] of Object.entries(NEEDS)) {
    const request = requestFrame(method, MESSAGES[method] ?? {})
    for (const { title, token, expected } of walkersOf(needs, access, systemClock.nowMs())) {
      const { status, answers } = await client.call(method, request, bearer(token))
      tried++
      // The errors of single requests of a stream are answers.
      const [reply] = answers.map((bytes) => methodOf(method).responseDeserialize(bytes))
      const isDenied = /has not the right/.test(String(reply?.['error_message'] ?? ''))
      const outcome = isDenied ? 'denied' : outcomeOf(status)
      if (outcome !== expected) holes.push(`${method} with ${title}: ${outcome}`)
    }
  }
  expect(holes).toEqual([])
  expect(tried).toBeGreaterThan(80)
})

it('the index of models over gRPC has only those that a token may read', async () => {
  const own = tokenOf(1, { rights: [parseRight('read:model:ALS_*')] })
  const access = new AccessControl(shareAccess([own.record]), systemClock)
  await using port = await openPort({ access })
  using client = new RawClient(port.port)
  const request = requestFrame('RepositoryIndex', {})
  const { answers } = await client.call('RepositoryIndex', request, bearer(own.text))
  const { models } = methodOf('RepositoryIndex').responseDeserialize(answers[0]!)
  expect(new Set((models as { name: string }[]).map(({ name }) => name))).toEqual(
    new Set(['ALS_MODEL']),
  )
})

it('a refused call is answered before its message is read', async () => {
  const access = new AccessControl(shareAccess([]), systemClock)
  await using port = await openPort({ access })
  using client = new RawClient(port.port)
  const { stream, ended } = client.open('ModelInfer', bearer('wrong'))
  stream.write(Buffer.alloc(3))
  expect(await ended).toMatchObject({ status: UNAUTHENTICATED, code: 'UNAUTHENTICATED' })
})
