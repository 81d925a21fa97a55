import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CommandHere } from '../../cli/command-here.ts'
import { needs } from '../../run/needs.ts'
import { hasOpenssl, writeCertificates } from '../../services/certificates.ts'
import { freePorts } from '../../services/free-port.ts'
import { type CommandResult, weir } from '../cli/command-process.ts'

let folder: string
let address: string
let token: string
const at = (name: string): string => join(folder, name)

const trusting = (): string[] => ['--jobmanager-tls-ca', at('ca.crt')]
const asClient = (): string[] => [
  ...trusting(),
  ...['--jobmanager-tls-cert', at('client.crt'), '--jobmanager-tls-key', at('client.key')],
]

/** Runs a command with the token, in this process; one that starts a JobManager is a process of its own. */
async function run(...words: readonly string[]): Promise<CommandResult> {
  const env: Record<string, string> = token === undefined ? {} : { WEIR_TOKEN: token }
  const isStart = words[1] === 'start'
  return await (isStart ? weir(words, { env }) : new CommandHere(words, { env })).ended
}

const local = (...words: readonly string[]) => run(...words, '--data-dir', at('data'))
const ask = (...words: readonly string[]) => run(...words, '-m', address)

/** The query port of the only job asks for the same certificate and token as the port of the JobManager. */
async function expectInherited(): Promise<void> {
  const info = await ask('info', 'als-serving', '--json', ...asClient())
  const port = String((JSON.parse(info.stdout) as { 'query-port': number })['query-port'])
  const query = asClient().map((word) => word.replace('--jobmanager', '--query'))
  const predict = ['predict', '1', '5', '--port', port, '--timeout', '60000']
  const answered = await run(...predict, ...query)
  expect([answered.code, answered.stderr]).toEqual([0, ''])
  const plain = await run(...predict.slice(0, -1), '500')
  expect([plain.code, plain.stdout]).toEqual([1, ''])
  const noToken = await weir([...predict, ...query]).ended
  expect([noToken.code, noToken.stderr]).toEqual([1, expect.stringContaining('UNAUTHENTICATED')])
}

describe(
  'a JobManager that demands client certificates',
  needs(await hasOpenssl(), 'openssl makes no certificates here'),
  () => {
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'weir-jobmanager-tls-'))
      address = `127.0.0.1:${(await freePorts(1))[0]}`
      await writeCertificates(folder)
      const tokens = ['--file', at('tokens.json')]
      token = (await run('token', 'create', '--role', 'admin', ...tokens)).stdout.trim()
      const model = await local('generate', 'als-model', '--users', '100', '--items', '50')
      expect(model.code, model.stderr).toBe(0)
      const started = await local(
        ...['cluster', 'start', '--host', '0.0.0.0', '--tokens', at('tokens.json')],
        ...['--server-tls-cert', at('server.crt'), '--server-tls-key', at('server.key')],
        ...['--server-tls-ca', at('ca.crt'), '-D', `rest.port=${address.split(':')[1]}`],
      )
      expect(started, started.stderr).toMatchObject({ code: 0, stderr: '' })
      expect(started.stdout).toContain('REST interface on https://0.0.0.0:')
    })

    afterAll(async () => {
      await local('cluster', 'stop')
      rmSync(folder, { recursive: true, force: true })
    })

    it('is driven by the command line with a certificate, given as flags or by the environment', async () => {
      const status = await local('cluster', 'status', ...asClient())
      expect([status.code, status.stdout]).toEqual([0, expect.stringContaining('Jobs: 0 running')])
      const job = ['run', 'als-serving', '-d', '--slots', '1', '--port', '0']
      const submitted = await ask(...job, ...asClient())
      expect(submitted, submitted.stderr).toMatchObject({ code: 0 })
      const [, id] = /^Job has been submitted with JobID ([0-9a-f]{32})$/m.exec(submitted.stdout)!
      const env = {
        WEIR_TOKEN: token,
        WEIR_JOBMANAGER_TLS_CA: at('ca.crt'),
        WEIR_JOBMANAGER_TLS_CERT: at('client.crt'),
        WEIR_JOBMANAGER_TLS_KEY: at('client.key'),
      }
      const listed = () => new CommandHere(['list', '-m', address], { env }).ended
      await expect
        .poll(async () => (await listed()).stdout)
        .toContain(`${id} : als-serving (RUNNING)`)
      await expectInherited()
      const cancelled = await ask('cancel', id!, ...asClient())
      expect(cancelled.stdout).toContain(`Cancelled job ${id}.`)
    })

    it.each([
      ['no certificate', trusting, '--jobmanager-tls-cert'],
      ['no trust in its authority', () => ['--jobmanager-tls'], '--jobmanager-tls-ca'],
      ['no TLS', () => [], 'if it has TLS, give --jobmanager-tls, or --jobmanager-tls-ca FILE'],
    ])('refuses a client with %s, which says what to check', async (_, flags, hint) => {
      const { code, stdout, stderr } = await ask('list', ...flags())
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(/^weir: UNAVAILABLE: (?:no answer from )?https?:/m)
      expect(stderr).toContain(hint)
    })

    it('refuses a certificate without token', async () => {
      const { code, stderr } = await weir(['list', '-m', address, ...asClient()]).ended
      expect([code, stderr]).toEqual([1, expect.stringContaining('UNAUTHENTICATED')])
    })
  },
)
