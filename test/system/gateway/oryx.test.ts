import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inProcess } from '../../cli/command-here.ts'
import { type CommandProcess, weir } from '../cli/command-process.ts'

const run = promisify(execFile)

let folder: string
let url: string
/** Query ports of the model and of the histories. */
let ports: { readonly model: string; readonly histories: string }
const processes: CommandProcess[] = []

async function weirDone(...args: string[]): Promise<void> {
  const { code, stderr } = await inProcess([...args, '--data-dir', folder])
  expect(code, stderr).toBe(0)
}

function start(...args: string[]): CommandProcess {
  const process = weir([...args, '--data-dir', folder, '--json'])
  processes.unshift(process)
  return process
}

const PORT = /"started","port":(\d+)/

/** Ratings of 20 users: `u1` rated the items 1 to 8, and everyone rated item 1. */
function ratings(): string {
  const lines: string[] = []
  for (let user = 1; user <= 20; user++) {
    const items = user === 1 ? 8 : 1 + (user % 5)
    for (let item = 1; item <= items; item++) {
      lines.push(`u${user},i${item},${1 + ((user * item) % 5)}`)
    }
  }
  return `${lines.join('\n')}\n`
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-oryx-'))
  const file = join(folder, 'ratings.csv')
  writeFileSync(file, ratings())
  const train = ['train', 'als', '--ratings', file, '--factors', '4']
  await weirDone(...train, '--iterations', '3', '--threads', '0')
  const job = start('run', 'als-serving', '--port', '0', '-D', 'rest.enabled=false')
  const histories = start('run', 'histories', '--port', '0', '-D', 'rest.enabled=false')
  const [, port] = await job.printed(PORT)
  const [, historiesPort] = await histories.printed(PORT)
  ports = { model: port!, histories: historiesPort! }
  const gateway = start(
    ...['gateway', '--listen', '127.0.0.1:0', '--port', port!, '--observations', 'observations'],
    ...['--histories', `127.0.0.1:${historiesPort}`],
  )
  url = (await gateway.printed(/"url":"([^"]+)"/))[1]!
})

afterAll(async () => {
  for (const process of processes) await process[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

/** The body and the status that curl gets; `flags` as in Oryx's documentation. */
async function curl(path: string, ...flags: string[]): Promise<[body: string, status: string]> {
  const { stdout } = await run('curl', ['-sS', '-w', '\n%{http_code}', ...flags, `${url}${path}`])
  const at = stdout.lastIndexOf('\n')
  return [stdout.slice(0, at), stdout.slice(at + 1)]
}

async function json(path: string): Promise<unknown> {
  const [body, status] = await curl(path, '-H', 'Accept: application/json')
  expect(status, body).toBe('200')
  return JSON.parse(body)
}

const idsOf = (list: unknown): readonly string[] =>
  (list as readonly { readonly id: string }[]).map(({ id }) => id)

describe('the commands of the documentation of Oryx', () => {
  it('ingest ratings, and ask about users, items and their histories', async () => {
    await expect.poll(async () => (await curl('/ready'))[1]).toBe('200')
    const file = join(folder, 'ratings.csv')
    expect(await curl('/ingest', '-X', 'POST', '--data-binary', `@${file}`)).toEqual(['', '200'])
    expect(await curl('/pref/u2/i7', '-X', 'POST', '--data', '4.5')).toEqual(['', '200'])
    await expect.poll(async () => idsOf(await json('/mostActiveUsers?howMany=1'))).toEqual(['u1'])
    await expect.poll(async () => (await curl('/knownItems/u2'))[0]).toBe('i1\ni2\ni3\ni7\n')

    await expect.poll(async () => (await curl('/knownItems/u3'))[0]).toBe('i1\ni2\ni3\ni4\n')
    await expect.poll(async () => (await curl('/mostPopularItems?howMany=1'))[0]).toBe('i1,20\n')
    const recommended = idsOf(await json('/recommend/u1?howMany=5'))
    expect(recommended).not.toContain('i1')
    expect(idsOf(await json('/recommend/u1?howMany=5&considerKnownItems=true'))).toHaveLength(5)
    expect(idsOf(await json('/recommend/u2?howMany=20'))).toEqual(
      expect.arrayContaining(['i4', 'i5', 'i6', 'i8']),
    )
    expect(idsOf(await json('/recommendToMany/u2/u3?howMany=3'))).not.toContain('i2')
    expect(idsOf(await json('/recommendToAnonymous/i1=3/i2?howMany=2'))).toHaveLength(2)
    expect(idsOf(await json('/recommendWithContext/u2/i4=5'))).not.toContain('i4')

    const similar = idsOf(await json('/similarity/i1/i2?howMany=3'))
    expect(similar).toHaveLength(3)
    expect(similar).not.toContain('i1')
    const [first] = similar
    const [body] = await curl(`/similarityToItem/i1/${first}`)
    expect(Number(body)).toBeGreaterThan(-1.0001)
    expect(await json('/estimate/u1/i1/unknown')).toEqual([expect.any(Number), 0])
    expect((await curl('/estimateForAnonymous/i3/i1=4'))[1]).toBe('200')

    expect(idsOf(await json('/because/u2/i4'))).toHaveLength(4)
    const surprising = (await json('/mostSurprising/u1')) as readonly { readonly value: number }[]
    expect(surprising.map(({ value }) => value)).toEqual(
      surprising.map(({ value }) => value).sort((a, b) => a - b),
    )
    expect((await json('/popularRepresentativeItems')) as string[]).toHaveLength(4)
    expect((await curl('/item/allIDs'))[0].trim().split('\n').sort()).toHaveLength(8)
    expect((await curl('/user/allIDs'))[0]).toContain('u20\n')

    expect((await curl('/recommend/nobody'))[1]).toBe('404')
    expect((await curl('/recommend/u1?rescorerParams=x'))[1]).toBe('501')
    expect((await curl('/pref/u2/i7', '-X', 'DELETE'))[1]).toBe('501')
  })
})

describe('weir gateway --rescorer', () => {
  const gatewayOf = (file: string): CommandProcess =>
    start('gateway', '--listen', '127.0.0.1:0', '--port', ports.model, '--rescorer', file)

  it('orders lists by the values of its module', async () => {
    const file = join(folder, 'one-first.ts')
    const source = [
      'type Item = { readonly id: string; readonly value: number }',
      'export default (items: readonly Item[], { params }: { params?: string }): Item[] =>',
      "  items.map(({ id, value }) => ({ id, value: id === (params ?? 'i7') ? 1000 : value }))",
    ]
    writeFileSync(file, source.join('\n'))
    const [, rescoring] = await gatewayOf(file).printed(/"url":"([^"]+)"/)
    const first = async (query: string): Promise<string> =>
      (await (await fetch(`${rescoring}/recommend/u3?howMany=1${query}`)).text()).trim()
    expect(await first('')).toBe('i7,1000')
    expect(await first('&rescorerParams=i2')).toBe('i2,1000')
  })

  it('does not start with a module that is no rescorer', async () => {
    const file = join(folder, 'none.mjs')
    writeFileSync(file, 'export const one = 1')
    const { code, stderr } = await gatewayOf(file).ended
    expect(code, stderr).toBe(2)
    expect(stderr).toContain('is no rescorer: end it with')
  })
})

describe('weir recommend', () => {
  const recommend = (user: string, ...flags: string[]) =>
    weir(['recommend', user, '--k', '20', '--json', '--port', ports.model, ...flags]).ended
  const itemsFor = async (user: string, ...flags: string[]): Promise<string[]> => {
    const { stdout, stderr } = await recommend(user, ...flags)
    const lines = stdout.split('\n').filter((line) => line !== '')
    if (lines.length === 0) throw new Error(stderr)
    return lines.map((line) => (JSON.parse(line) as { readonly item: string }).item).sort()
  }

  it('leaves out the items that the user rated where it knows the histories, unless they are to be considered', async () => {
    const all = ['i1', 'i2', 'i3', 'i4', 'i5', 'i6', 'i7', 'i8']
    const histories = ['--histories', `127.0.0.1:${ports.histories}`]
    const unrated = all.filter((item) => !['i1', 'i2', 'i3', 'i4'].includes(item))
    await expect.poll(() => itemsFor('u3', ...histories)).toEqual(unrated)
    expect(await itemsFor('u3', ...histories, '--exclude', 'i8')).toEqual(unrated.slice(0, -1))
    expect(await itemsFor('u3', ...histories, '--consider-known-items')).toEqual(all)
    expect(await itemsFor('u3')).toEqual(all)
    // A user without ratings gets everything, from the mean user.
    expect(await itemsFor('nobody', ...histories)).toEqual(all)
  })

  it('says where the histories come from, if none are at the port', async () => {
    const none = await recommend('u3', '--histories', '127.0.0.1:1')
    expect(none).toMatchObject({ code: 1 })
    expect(none.stderr).toMatch(/127\.0\.0\.1:1.*weir run histories/)
    const model = await recommend('u3', '--histories', `127.0.0.1:${ports.model}`)
    expect(model).toMatchObject({ code: 1 })
    expect(model.stderr).toContain('KNOWN_ITEMS')
    expect(await recommend('u3', '--histories', 'here')).toMatchObject({ code: 2 })
  })
})
