import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { nodeFileSystem } from '../../../../src/files/node-file-system.ts'
import { LocalGateway } from '../../../../src/gateway/local.ts'
import { openInferenceEngine } from '../../../../src/inference/engine/engine.ts'
import { changeAlias } from '../../../../src/inference/repository/aliases.ts'
import { pushModel } from '../../../../src/inference/repository/push.ts'
import type { ModelEvent } from '../../../../src/jobs/models/events.ts'
import { ModelsProcess } from '../../../../src/jobs/models/process.ts'
import { until } from '../../../run/until.ts'

let folder: string
let root: string
let models: ModelsProcess | undefined
let gateway: LocalGateway | undefined
const events: ModelEvent[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-states-'))
  root = join(folder, 'models')
  events.length = 0
})

afterEach(async () => {
  await gateway?.[Symbol.asyncDispose]()
  await models?.[Symbol.asyncDispose]()
  gateway = undefined
  models = undefined
  await rm(folder, { recursive: true })
})

/** A model that answers its input; `body` runs before, `top` when the module is loaded. */
const echo = (body = '', top = ''): string => `
import { appendFileSync } from 'node:fs'
${top}
const spec = { datatype: 'FP32', shape: [-1, 1] }
export default {
  signature: { inputs: [{ name: 'x', ...spec }], outputs: [{ name: 'y', ...spec }] },
  run([x]) { ${body}; return [{ ...x, name: 'y', data: x.data.slice() }] },
}
`

async function push(name: string, module: string): Promise<void> {
  const file = join(folder, 'module.mjs')
  await writeFile(file, module)
  await pushModel(nodeFileSystem, { root, name, file })
}

async function serve(): Promise<void> {
  models = await ModelsProcess.open({
    repository: root,
    port: 0,
    engine: openInferenceEngine(),
    scanMs: 50,
    onEvent: (event) => events.push(event),
  })
  gateway = await LocalGateway.start({
    state: models.state,
    host: '127.0.0.1',
    port: 0,
    repository: root,
    access: models.access,
    modelControl: { isAllowed: true, takesModules: false, hosts: undefined as never },
    version: '1.0.0',
  })
}

const request = (value: number): string =>
  JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [value] }] })

async function ask(path: string, body?: string) {
  const options = body === undefined ? {} : { method: 'POST', body }
  const answer = await fetch(`http://127.0.0.1:${gateway!.port}/v2${path}`, options)
  const json = (await answer.json()) as {
    readonly error?: string
    readonly problems?: readonly string[]
    readonly outputs?: readonly { readonly data: readonly number[] }[]
  }
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), ...json }
}

const problemsOf = (name: string): readonly string[] =>
  models!.list().find(({ info }) => info.name === name)?.info.problems ?? []

const reported = (): string[] =>
  events.flatMap((event) => (event.event === 'problem' ? [event.error.message] : []))

describe('a server whose models are loading, failed or unloaded (readiness while loading: Triton#2842)', () => {
  it('opens its ports at once, and a model that hangs while it is loaded blocks no other', async () => {
    await push('hangs', echo('', 'await new Promise((done) => setTimeout(done, 3_600_000))'))
    await push('good', echo())
    await serve()
    expect(await ask('/health/live')).toMatchObject({ status: 200 })
    await until('the other model answers', async () => {
      return (await ask('/models/good/infer', request(7))).outputs?.[0]?.data[0] === 7
    })
    expect(await ask('/models/good/ready')).toMatchObject({ status: 200 })
    for (const path of ['/models/hangs/ready', '/models/hangs/infer']) {
      expect(await ask(path, path.endsWith('infer') ? request(1) : undefined)).toMatchObject({
        status: 503,
        retryAfter: '1',
        error: 'model "hangs" is not loaded: it is being loaded; try again',
      })
    }
    expect(await ask('/health/ready')).toMatchObject({
      status: 503,
      error: '1 of 2 models answer; /v2/models/NAME/ready says why one does not',
    })
    expect(await ask('/models/no/infer', request(1))).toMatchObject({ status: 404 })
    expect(await ask('/models/good/versions/9/infer', request(1))).toMatchObject({ status: 404 })
  })

  it('is ready when each model that was there at the start answers, whatever comes later; an unloaded model is not (triton#7588)', async () => {
    await push('good', echo())
    await serve()
    await models!.loaded
    expect(await ask('/health/ready')).toMatchObject({ status: 200 })
    await push('broken', 'throw new Error("no weights")')
    await until('the new model has failed', () => events.some(({ event }) => event === 'failed'))
    expect(await ask('/models/broken/ready')).toMatchObject({
      status: 503,
      error: expect.stringMatching(/^model "broken" is not loaded: .*no weights/),
    })
    expect(await ask('/health/ready')).toMatchObject({ status: 200 })
    await ask('/repository/models/good/unload', '{}')
    expect(await ask('/models/good/ready')).toMatchObject({
      status: 503,
      error: 'model "good" is not loaded: unloaded',
    })
    expect(await ask('/models/good/infer', request(1))).toMatchObject({ status: 503 })
    await ask('/repository/models/good/load', '{}')
    expect(await ask('/models/good/ready')).toMatchObject({ status: 200 })
  })

  it('is not ready while a model that was there at the start has failed', async () => {
    await push('broken', 'throw new Error("no weights")')
    await push('good', echo())
    await serve()
    await models!.loaded
    expect(await ask('/health/ready')).toMatchObject({
      status: 503,
      error: '1 of 2 models answer; /v2/models/NAME/ready says why one does not',
    })
  })
})

describe('a wrong file of a model', () => {
  it('is reported with its line and the nearest key, and the settings before it go on', async () => {
    await push('good', echo())
    const settings = join(root, 'good', 'deployment.yaml')
    await writeFile(settings, 'slo-ms: 30000\n')
    await serve()
    await models!.loaded
    await writeFile(settings, 'slo-ms: 30000\nmax-batchh: 4\n')
    const sentence = `${settings}:2: max-batchh is unknown; did you mean max-batch?`
    await until('the status has the problem', () => problemsOf('good').includes(sentence))
    expect(reported()).toEqual([sentence])
    expect(await ask('/models/good/ready')).toMatchObject({ status: 200, problems: [sentence] })
    expect(await ask('/models/good/infer', request(3))).toMatchObject({ status: 200 })
    await writeFile(settings, 'slo-ms: 20000\nmax-batch: 4\n')
    await until('the problem is gone', () => problemsOf('good').length === 0)
  })

  it('says at the start why its model is not there', async () => {
    await push('good', echo())
    const settings = join(root, 'good', 'deployment.yaml')
    await writeFile(settings, '# comment\nbatching:\n  rule: slack\n  delay-mss: 3\n')
    await serve()
    await models!.loaded
    expect(await ask('/models/good/ready')).toMatchObject({
      status: 503,
      error: `model "good" is not loaded: ${settings}:4: batching.delay-mss is unknown; did you mean batching.delay-ms?`,
    })
  })

  it('of aliases leaves those before it, and names an alias that leads nowhere', async () => {
    await push('good', echo())
    // A loaded machine may take longer than the default goal.
    await writeFile(join(root, 'good', 'deployment.yaml'), 'slo-ms: 60000\n')
    changeAlias(nodeFileSystem, { root, name: 'good', alias: 'stable', version: 1 })
    await serve()
    await models!.loaded
    expect(await ask('/models/good@stable/infer', request(5))).toMatchObject({ status: 200 })
    const aliases = join(root, 'good', 'aliases.json')
    await writeFile(aliases, '{\n  "stable": "one"\n}\n')
    const wrong = `${aliases}:2: "stable": "one" is no alias; write "NAME": VERSION, such as "stable": 3`
    await until('the status has the problem', () => problemsOf('good').includes(wrong))
    expect(await ask('/models/good@stable/infer', request(5))).toMatchObject({ status: 200 })
    await writeFile(aliases, '{\n  "stable": 1,\n  "next": 2\n}\n')
    const lost = `${aliases}:3: the alias "next" names version 2, which is not there; the versions are 1`
    await until('the status has the next problem', () => problemsOf('good').includes(lost))
    await writeFile(join(root, 'good', 'deployment.yaml'), 'version: "@stabel"\n')
    const alias = `${join(root, 'good', 'deployment.yaml')}:1: version: the model has no alias "stabel"; did you mean @stable?`
    await until('the status has the last problem', () => problemsOf('good').includes(alias))
    await writeFile(join(root, 'good', 'revisions.json'), '{"live": 1}')
    await rm(join(root, 'good', 'deployment.yaml'))
    await until('the revisions are a problem, too', () =>
      problemsOf('good').some((problem) => /revisions.json holds no revisions/.test(problem)),
    )
  })
})

describe('a client that goes away over HTTP', () => {
  /** Connections that have sent a request each. */
  async function abandoned(count: number, send: (socket: Socket) => void): Promise<Socket[]> {
    const sockets = Array.from({ length: count }, () => connect(gateway!.port, '127.0.0.1'))
    for (const socket of sockets) {
      socket.on('error', () => {})
      send(socket)
    }
    return sockets
  }
  const line = 'POST /v2/models/slow/infer HTTP/1.1\r\nhost: 127.0.0.1\r\n'

  it.each([
    ['with a whole body', (body: string) => `${line}content-length: ${body.length}\r\n\r\n${body}`],
    [
      'with a body in chunks',
      (body: string) =>
        `${line}transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    ],
  ])('takes its requests along: none that waited is run (triton#7077), %s', async (_, message) => {
    const ran = join(folder, 'ran')
    const go = join(folder, 'go')
    await mkdir(root, { recursive: true })
    await writeFile(ran, '')
    // The first run lasts until the file is there.
    const wait = `appendFileSync(${JSON.stringify(ran)}, '.')
      while (!existsSync(${JSON.stringify(go)})) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)`
    await push('slow', echo(wait, "import { existsSync } from 'node:fs'"))
    await writeFile(join(root, 'slow', 'deployment.yaml'), 'slo-ms: 60000\novertime-ms: 60000\n')
    await serve()
    await models!.loaded
    const statistics = () => models!.list()[0]!.info.statistics
    const first = ask('/models/slow/infer', request(1))
    await until('the first run goes on', async () => (await readFile(ran, 'utf8')) === '.')
    const sockets = await abandoned(20, (socket) => socket.write(message(request(2))))
    await until('the others wait', () => statistics()['waiting'] === 20)
    for (const socket of sockets) socket.end()
    await until('nobody waits', () => statistics()['waiting'] === 0)
    await writeFile(go, '')
    expect((await first).outputs?.[0]?.data).toEqual([1])
    expect(statistics()).toMatchObject({ cancelled: 20, answered: 1 })
    expect(await readFile(ran, 'utf8')).toBe('.')
  })
})
