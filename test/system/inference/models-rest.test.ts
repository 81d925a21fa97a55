import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { weir } from '../cli/command-process.ts'

const MODEL = `
const spec = (name) => ({ name, datatype: 'FP32', shape: [-1] })
export default {
  signature: { inputs: [spec('x')], outputs: [spec('y')] },
  run: ([x]) => [{ ...x, name: 'y' }],
}
`
const REST = /REST interface on (http:\/\/[^\s;]+)/

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-models-rest-'))
  const version = join(folder, 'models', 'echo', '1')
  mkdirSync(version, { recursive: true })
  writeFileSync(join(version, 'model.mjs'), MODEL)
  writeFileSync(join(folder, 'models', 'echo', 'deployment.yaml'), 'slo-ms: 60000\n')
  writeFileSync(join(folder, 'x.json'), JSON.stringify({ x: [1, 2] }))
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

async function read<T>(url: string): Promise<T> {
  const answer = await fetch(url)
  expect(answer.status, url).toBe(200)
  return (await answer.json()) as T
}

const modelsOf = async (url: string, job: string): Promise<readonly object[]> =>
  (await read<{ models: object[] }>(`${url}/weir/jobs/${job}/served-models`)).models

const stateOf = async (url: string, job: string): Promise<string> =>
  (await read<{ state: string }>(`${url}/jobs/${job}`)).state

async function cancel(url: string, job: string): Promise<void> {
  const answer = await fetch(`${url}/jobs/${job}`, { method: 'PATCH' })
  expect(answer.status).toBe(202)
}

it('a process that serves models has a REST interface: its models, and its end', async () => {
  await using server = weir(['run', 'models', '--port', '0', '-D', 'rest.port=0'], { cwd: folder })
  const [, port] = await server.printed(/serving queries on 127\.0\.0\.1:(\d+)/)
  const [, url] = await server.printed(REST)
  await server.printed(/1 of 1 models answer/)
  const asked = weir(['infer', 'echo', '--input', 'x.json', '--port', port!], { cwd: folder })
  expect((await asked.ended).code).toBe(0)
  const { jobs } = await read<{ jobs: { jid: string; name: string }[] }>(`${url}/jobs/overview`)
  expect(jobs.map(({ name }) => name)).toEqual(['models'])
  const job = jobs[0]!.jid
  expect(await stateOf(url!, job)).toBe('RUNNING')
  expect(await modelsOf(url!, job)).toMatchObject([
    { name: 'echo', state: 'READY', settings: { sloMs: 60_000 }, statistics: { answered: 1 } },
  ])
  expect(await read(`${url}/weir/jobs/${job}/live`)).toMatchObject({ vertices: [] })
  await cancel(url!, job)
  expect((await server.ended).code).toBe(0)
})

it('speaks the Open Inference Protocol itself with --http, and checks the same tokens', async () => {
  writeFileSync(join(folder, 'token'), 'abc')
  const words = ['run', 'models', '--port', '0', '--http', '127.0.0.1:0', '--token-file', 'token']
  await using server = weir(words, { cwd: folder })
  const [, url] = await server.printed(/Open Inference Protocol on (http:[^\s;]+)\/v2/)
  await server.printed(/1 of 1 models answer/)
  const post = (path: string, headers: Record<string, string>, body: string) =>
    fetch(`${url}/v2/models/echo${path}`, { method: 'POST', headers, body })
  const inputs = [{ name: 'x', datatype: 'FP32', shape: [2], data: [1, 2] }]
  const bearer = { authorization: 'Bearer abc' }
  const answer = await post('/infer', bearer, JSON.stringify({ inputs }))
  expect(await answer.json()).toEqual({
    model_name: 'echo',
    model_version: '1',
    outputs: [{ name: 'y', datatype: 'FP32', shape: [2], data: [1, 2] }],
  })
  expect((await post('/infer', {}, JSON.stringify({ inputs }))).status).toBe(401)
  const wrong = JSON.stringify({ inputs: [{ ...inputs[0], shape: [1, 2] }] })
  expect((await post('/infer', bearer, wrong)).status).toBe(400)
})

it('refuses --http for a job', async () => {
  const words = ['run', 'als-serving', '--http', '127.0.0.1:0']
  const { code, stderr } = await weir(words, { cwd: folder }).ended
  expect(code).toBe(2)
  expect(stderr).toContain('weir gateway')
})

it('runs in the foreground only: a JobManager would run the modules of any folder', async () => {
  const { code, stderr } = await weir(['run', 'models', '-d'], { cwd: folder }).ended
  expect(code).toBe(2)
  expect(stderr).toContain('leave out --detached')
})
