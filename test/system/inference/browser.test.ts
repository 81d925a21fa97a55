import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeFileSystem } from '../../../src/files/node-file-system.ts'
import { pushModel } from '../../../src/inference/repository/push.ts'
import { needs } from '../../run/needs.ts'
import { CHROMIUM } from '../../services/chromium.ts'
import { sharedBrowser } from '../../services/lending/browser.ts'
import { type CommandProcess, weir } from '../cli/command-process.ts'
import { linearModel } from './models.ts'
import { wordsModule } from './parts/words-model.ts'

/* What a page of another origin does with `fetch`, in Chromium: the browser asks and refuses by itself. */

/** Time for everything to happen on a loaded machine, ms. */
const PATIENT = 120_000
const TOKEN = 'secret-of-the-test'

/** A model that notes each of its runs in a file. */
const NOTING = (file: string): string => `
import { appendFileSync } from 'node:fs'
const spec = (name) => ({ name, datatype: 'FP32', shape: [-1, 1] })
export default {
  signature: { inputs: [spec('x')], outputs: [spec('y')] },
  run([x]) {
    appendFileSync(${JSON.stringify(file)}, 'run\\n')
    return [{ ...x, name: 'y' }]
  },
}
`

/** What a request of a page gave it. */
interface Seen {
  readonly status?: number
  readonly body?: unknown
  /** Why the browser gives the page nothing. */
  readonly refused?: string
}

describe(
  'a page of another origin',
  needs(existsSync(CHROMIUM), `no browser at ${CHROMIUM}`),
  () => {
    let folder: string
    let browser: Browser
    const sites: Server[] = []
    const processes: CommandProcess[] = []
    /** Pages of an origin that is allowed, and of one that is not. */
    const pages: Record<string, Page> = {}
    /** Servers with `--allow-origin`, with it and tokens, and without. */
    const urls: Record<string, string> = {}

    /** The origin of a site with an empty page. */
    async function openSite(): Promise<string> {
      const site = createServer((_, answer) => {
        answer.writeHead(200, { 'content-type': 'text/html' }).end('<title>app</title>')
      })
      sites.push(site)
      await new Promise<void>((done) => site.listen(0, '127.0.0.1', done))
      return `http://127.0.0.1:${(site.address() as AddressInfo).port}`
    }

    async function start(
      name: string,
      words: readonly string[] = [],
      env: Record<string, string> = {},
    ): Promise<void> {
      const repository = ['--repository', join(folder, 'models')]
      const ports = ['--port', '0', '--http', '127.0.0.1:0']
      const server = weir(['run', 'models', '--json', ...repository, ...ports, ...words], { env })
      processes.push(server)
      urls[name] = (await server.printed(/"event":"http","port":\d+,"url":"([^"]+)"/))[1]!
      await server.printed(/"event":"ready"/)
    }

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'weir-browser-'))
      const root = join(folder, 'models')
      const linear = linearModel(folder, { inputs: 2, outputs: 3, factor: 2 })
      const files = { linear: linear.kind === 'onnx' ? linear.file : '' } as Record<string, string>
      const ended = join(folder, 'ended.txt')
      for (const [name, code] of Object.entries({
        words: wordsModule(ended),
        noting: NOTING(join(folder, 'runs.txt')),
      })) {
        files[name] = join(folder, `${name}.mjs`)
        await writeFile(files[name], code)
      }
      for (const [name, file] of Object.entries(files)) {
        await pushModel(nodeFileSystem, { root, name, file })
        await writeFile(join(root, name, 'deployment.yaml'), 'slo-ms: 60000\n')
      }
      await writeFile(join(folder, 'runs.txt'), '')
      await writeFile(join(folder, 'runs.txt'), '')
      const [app, other] = [await openSite(), await openSite()]
      await start('open', ['--allow-origin', `https://app.example,${app}`])
      await start('guarded', ['--allow-origin', app], { WEIR_TOKEN: TOKEN })
      await start('closed')
      browser = await sharedBrowser()
      for (const [name, origin] of Object.entries({ app, other })) {
        const page = await browser.newPage()
        page.setDefaultTimeout(PATIENT)
        await page.goto(origin)
        pages[name] = page
      }
    }, 600_000)

    afterAll(async () => {
      await browser?.close()
      for (const process of processes) await process[Symbol.asyncDispose]()
      for (const site of sites) site.close()
      await rm(folder, { recursive: true, force: true })
    })

    /** What a page gets for a request with JSON. */
    const ask = (
      page: string,
      url: string,
      init: { readonly body?: object | string; readonly headers?: Record<string, string> } = {},
    ): Promise<Seen> =>
      pages[page]!.evaluate(
        async ([to, { body, headers = {} }]) => {
          try {
            const sent =
              body === undefined
                ? { headers }
                : {
                    method: 'POST',
                    headers: { 'content-type': 'application/json', ...headers },
                    body: typeof body === 'string' ? body : JSON.stringify(body),
                  }
            const answer = await fetch(to, sent)
            return { status: answer.status, body: (await answer.json()) as unknown }
          } catch (error) {
            return { refused: String(error) }
          }
        },
        [url, init] as const,
      )

    const floats = (...data: readonly number[]) => ({
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1, data.length], data }],
    })
    const runs = async (): Promise<number> =>
      (await readFile(join(folder, 'runs.txt'), 'utf8')).split('\n').length - 1

    it('reads what the server has, and asks a model with JSON', async () => {
      const url = `${urls['open']}/v2/models/linear`
      expect(await ask('app', url)).toMatchObject({ status: 200, body: { name: 'linear' } })
      const answer = await ask('app', `${url}/infer`, { body: floats(1, 2) })
      expect(answer).toMatchObject({
        status: 200,
        body: { outputs: [{ name: 'y', datatype: 'FP32', shape: [1, 3] }] },
      })
    })

    it('sends tensors as bytes, and reads those of the answer by the field that says where they begin', async () => {
      const json = await ask('app', `${urls['open']}/v2/models/linear/infer`, {
        body: floats(1, 2),
      })
      const [{ data }] = (json.body as { readonly outputs: [{ readonly data: number[] }] }).outputs
      const bytes = await pages['app']!.evaluate(async (url) => {
        const tensor = {
          name: 'x',
          datatype: 'FP32',
          shape: [1, 2],
          parameters: { binary_data_size: 8 },
        }
        const head = JSON.stringify({ inputs: [tensor], parameters: { binary_data_output: true } })
        const answer = await fetch(`${url}/v2/models/linear/infer`, {
          method: 'POST',
          headers: { 'inference-header-content-length': String(head.length) },
          body: new Blob([head, Float32Array.of(1, 2)]),
        })
        const body = await answer.arrayBuffer()
        const length = Number(answer.headers.get('inference-header-content-length'))
        return { status: answer.status, length, floats: [...new Float32Array(body.slice(length))] }
      }, urls['open']!)
      expect(bytes).toEqual({ status: 200, length: expect.any(Number), floats: data })
      expect(bytes.length).toBeGreaterThan(0)
    })

    it('reads each part of an answer before the model makes the next one, and ends it by leaving', async () => {
      const first = await pages['app']!.evaluate(async (url) => {
        const leaves = new AbortController()
        const answer = await fetch(`${url}/v2/models/words/generate_stream`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ text_input: 'waits', count: 5 }),
          signal: leaves.signal,
        })
        const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
        let text = ''
        while (!text.includes('\n\n')) text += (await reader.read()).value ?? ''
        leaves.abort()
        return { type: answer.headers.get('content-type'), text }
      }, urls['open']!)
      expect(first.type).toBe('text/event-stream; charset=utf-8')
      expect(JSON.parse(first.text.slice('data: '.length))).toMatchObject({ index: 0 })
      await expect
        .poll(() => readFile(join(folder, 'ended.txt'), 'utf8').catch(() => ''))
        .toContain('waits ended')
    })

    it('reads why something is wrong, and shows its token', async () => {
      const unknown = await ask('app', `${urls['open']}/v2/models/lineer/infer`, {
        body: floats(1, 2),
      })
      expect(unknown).toMatchObject({ status: 404, body: { code: 'UNKNOWN_STATE' } })
      const url = `${urls['guarded']}/v2/models/linear/infer`
      const body = floats(1, 2)
      expect(await ask('app', url, { body })).toMatchObject({ status: 401 })
      const headers = { authorization: `Bearer ${TOKEN}` }
      expect(await ask('app', url, { body, headers })).toMatchObject({ status: 200 })
    })

    it.each([
      ['that is not allowed', 'other', 'open'],
      ['where none is allowed', 'app', 'closed'],
    ])('%s gets nothing, and nothing is run for it', async (_, page, server) => {
      const url = `${urls[server]}/v2/models/noting`
      const before = await runs()
      const refused = { refused: 'TypeError: Failed to fetch' }
      expect(await ask(page, url)).toEqual(refused)
      expect(await ask(page, `${url}/infer`, { body: floats(1) })).toEqual(refused)
      // A request that a browser sends without asking, as that of a form.
      const headers = { 'content-type': 'text/plain' }
      const plain = JSON.stringify(floats(1))
      expect(await ask(page, `${url}/infer`, { body: plain, headers })).toEqual(refused)
      expect(await runs()).toBe(before)
      const allowed = `${urls['open']}/v2/models/noting/infer`
      expect(await ask('app', allowed, { body: plain, headers })).toMatchObject({ status: 200 })
      expect(await runs()).toBe(before + 1)
    })
  },
)
